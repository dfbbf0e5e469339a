#include "variables/containers/position_sort.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"

namespace armature {

namespace {

// What stands for a key in the sort.
struct SortKey {
  PyObject_HEAD Order* order;
  size_t index;
};

PyObject* compareSortKeys(PyObject* left, PyObject* right, int op) {
  auto* a = reinterpret_cast<SortKey*>(left);
  auto* b = reinterpret_cast<SortKey*>(right);
  if (op != Py_LT || Py_TYPE(left) != Py_TYPE(right)) Py_RETURN_NOTIMPLEMENTED;
  int less = a->order->lessThan(a->index, b->index);
  if (less >= 0) return PyBool_FromLong(less);
  if (!PyErr_Occurred()) PyErr_SetNone(PyExc_RuntimeError);
  return nullptr;
}

PyTypeObject* sortKeyType() {
  static PyTypeObject* const type = [] {
    static PyType_Slot slots[] = {
        {Py_tp_richcompare, reinterpret_cast<void*>(compareSortKeys)},
        {0, nullptr},
    };
    static PyType_Spec spec = {"armature.SortKey", sizeof(SortKey), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  }();
  return type;
}

}  // namespace

Ref<> makePositions(size_t count) {
  Ref<> positions = checked(PyList_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) {
    PyList_SET_ITEM(positions.get(), static_cast<Py_ssize_t>(i),
                    checked(PyLong_FromSize_t(i)).release());
  }
  return positions;
}

bool sortPositionsBy(BorrowedRef<> positions, BorrowedRef<> keys, bool reverse) {
  Ref<> keyFunction = checked(PyObject_GetAttrString(keys.get(), "__getitem__"));
  Ref<> sort = checked(PyObject_GetAttrString(positions.get(), "sort"));
  Ref<> names = checked(Py_BuildValue("(ss)", "key", "reverse"));
  PyObject* arguments[] = {keyFunction.get(), reverse ? Py_True : Py_False};
  Ref<> done = Ref<>::steal(PyObject_Vectorcall(sort.get(), arguments, 0, names.get()));
  return static_cast<bool>(done);
}

bool sortPositions(BorrowedRef<> positions, bool reverse, Order& order) {
  Ref<> keys = checked(PyList_New(PyList_GET_SIZE(positions.get())));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
    auto* key = PyObject_New(SortKey, sortKeyType());
    if (!key) throw PendingPythonException();
    key->order = &order;
    key->index = static_cast<size_t>(i);
    PyList_SET_ITEM(keys.get(), i, reinterpret_cast<PyObject*>(key));
  }
  return sortPositionsBy(positions, keys, reverse);
}

}  // namespace armature
