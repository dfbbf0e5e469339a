#include "variables/containers/sorting.h"

#include <exception>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// A sort in progress: list.sort sorts objects that stand for the keys, and asks this for the order
// of two of them.
struct Comparison {
  Translator& translator;
  const ValueVector& keys;
  // A graph break must not fly through CPython's C code: it is kept, and thrown again behind it.
  std::exception_ptr interruption;

  int lessThan(size_t left, size_t right) {
    try {
      Value result = richCompare(translator, keys[left], keys[right], Py_LT);
      return result ? isTrue(translator, std::move(result)) : -1;
    } catch (...) {
      interruption = std::current_exception();
      return -1;
    }
  }
};

struct SortKey {
  PyObject_HEAD Comparison* comparison;
  size_t index;
};

PyObject* compareSortKeys(PyObject* left, PyObject* right, int op) {
  auto* a = reinterpret_cast<SortKey*>(left);
  auto* b = reinterpret_cast<SortKey*>(right);
  if (op != Py_LT || Py_TYPE(left) != Py_TYPE(right)) Py_RETURN_NOTIMPLEMENTED;
  int less = a->comparison->lessThan(a->index, b->index);
  if (less < 0) {
    // Only stops the sort; what happened is in the translator, or kept as an interruption.
    PyErr_SetNone(PyExc_RuntimeError);
    return nullptr;
  }
  return PyBool_FromLong(less);
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

// The real list of keys: the constants themselves where all keys are constants.
Ref<> realKeys(Comparison& comparison) {
  const ValueVector& keys = comparison.keys;
  bool constant = llvm::all_of(keys, [](const Value& key) { return key.isConstant(); });
  Ref<> list = checked(PyList_New(static_cast<Py_ssize_t>(keys.size())));
  for (size_t i = 0; i < keys.size(); ++i) {
    PyObject* object;
    if (constant) {
      object = keys[i].object();
      Py_INCREF(object);
    } else {
      auto* key = PyObject_New(SortKey, sortKeyType());
      if (!key) throw PendingPythonException();
      key->comparison = &comparison;
      key->index = i;
      object = reinterpret_cast<PyObject*>(key);
    }
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), object);
  }
  return list;
}

}  // namespace

bool sortValues(Translator& translator, ValueVector& items, ValueVector keys, bool reverse) {
  for (Value& key : keys) translator.realize(key);

  // What is sorted is the positions, by the keys at these positions.
  Comparison comparison{translator, keys, nullptr};
  Ref<> list = realKeys(comparison);
  Ref<> positions = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyList_SET_ITEM(positions.get(), static_cast<Py_ssize_t>(i),
                    checked(PyLong_FromSize_t(i)).release());
  }
  Ref<> keyFunction = checked(PyObject_GetAttrString(list.get(), "__getitem__"));
  Ref<> sort = checked(PyObject_GetAttrString(positions.get(), "sort"));
  Ref<> empty = checked(PyTuple_New(0));
  Ref<> keywords = checked(
      Py_BuildValue("{sOsO}", "key", keyFunction.get(), "reverse", reverse ? Py_True : Py_False));
  Ref<> done = Ref<>::steal(PyObject_Call(sort.get(), empty.get(), keywords.get()));
  if (!done) {
    bool traced = comparison.interruption || translator.exceptionPending();
    if (traced) {
      PyErr_Clear();
    } else {
      translator.raiseFromPython();
    }
    if (comparison.interruption) std::rethrow_exception(comparison.interruption);
  }
  ValueVector sorted;
  sorted.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* position = PyList_GET_ITEM(positions.get(), static_cast<Py_ssize_t>(i));
    sorted.push_back(std::move(items[PyLong_AsSize_t(position)]));
  }
  items = std::move(sorted);
  return static_cast<bool>(done);
}

}  // namespace armature
