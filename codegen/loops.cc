#include "codegen/loops.h"

#include <llvm/ADT/SmallVector.h>

#include "codegen/continuations.h"
#include "cpython/iterators.h"

namespace armature {

namespace {

Ref<> callBy(BorrowedRef<> caller, PyObject* function, llvm::ArrayRef<PyObject*> arguments) {
  llvm::SmallVector<PyObject*, 4> all;
  if (caller) all.push_back(caller);
  all.push_back(function);
  all.append(arguments.begin(), arguments.end());
  return Ref<>::steal(PyObject_Vectorcall(all[0], all.data() + 1, all.size() - 1, nullptr));
}

// PyIter_Next, in which map calls its function by `caller`. At the end, null without an exception.
Ref<> nextOf(PyObject* iterator, BorrowedRef<> caller) {
  if (Py_TYPE(iterator) != &PyMap_Type) return Ref<>::steal(PyIter_Next(iterator));
  using cpython::IteratorField;
  Ref<> function = Ref<>::create(cpython::iteratorField(iterator, IteratorField::Function).object);
  PyObject* iterators = cpython::iteratorField(iterator, IteratorField::Iterators).object;
  llvm::SmallVector<Ref<>, 2> items;
  llvm::SmallVector<PyObject*, 2> arguments;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(iterators); ++i) {
    items.push_back(nextOf(PyTuple_GET_ITEM(iterators, i), caller));
    if (!items.back()) return nullptr;
    arguments.push_back(items.back().get());
  }
  Ref<> item = callBy(caller, function.get(), arguments);
  if (!item && PyErr_ExceptionMatches(PyExc_StopIteration)) PyErr_Clear();
  return item;
}

// Fills the list that was empty while it was sorted. False if it was not, or with no memory.
bool refill(PyObject* target, PyObject* items) {
  bool wasEmpty = PyList_GET_SIZE(target) == 0;
  return PyList_SetSlice(target, 0, PY_SSIZE_T_MAX, items) == 0 && wasEmpty;
}

// The positions of the keys, sorted. Where a comparison raises, as far as list.sort came, with the
// exception set; null where there is no memory.
Ref<> sortedPositions(PyObject* keys, PyObject* reverse) {
  Ref<> positions = Ref<>::steal(PyList_New(PyList_GET_SIZE(keys)));
  if (!positions) return positions;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); ++i) {
    PyObject* position = PyLong_FromSsize_t(i);
    if (!position) return nullptr;
    PyList_SET_ITEM(positions.get(), i, position);
  }
  Ref<> keyOf = Ref<>::steal(PyObject_GetAttrString(keys, "__getitem__"));
  Ref<> sort = Ref<>::steal(PyObject_GetAttrString(positions.get(), "sort"));
  if (!keyOf || !sort) return nullptr;
  Ref<> names = Ref<>::steal(Py_BuildValue("(ss)", "key", "reverse"));
  if (!names) return nullptr;
  PyObject* arguments[] = {keyOf.get(), reverse};
  Ref<>::steal(PyObject_Vectorcall(sort.get(), arguments, 0, names.get()));
  return positions;
}

}  // namespace

Ref<> goOnWithKeys(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  PyObject *items = operands[0], *keys = operands[1], *target = operands[4];
  bool ok = result && PyList_Append(keys, result.get()) == 0;
  while (ok && PyList_GET_SIZE(keys) < PyList_GET_SIZE(items)) {
    Ref<> item = Ref<>::create(PyList_GET_ITEM(items, PyList_GET_SIZE(keys)));
    Ref<> key = callBy(caller, operands[2], {item.get()});
    ok = key && PyList_Append(keys, key.get()) == 0;
  }
  Ref<> positions = ok ? sortedPositions(keys, operands[3]) : nullptr;
  // What has been raised is kept: what follows raises nothing of the program's.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref<> sorted = Ref<>::steal(PyList_GetSlice(items, 0, PY_SSIZE_T_MAX));
  for (Py_ssize_t i = 0; sorted && positions && i < PyList_GET_SIZE(items); ++i) {
    Py_ssize_t position = PyLong_AsSsize_t(PyList_GET_ITEM(positions.get(), i));
    PyList_SetItem(sorted.get(), i, Py_NewRef(PyList_GET_ITEM(items, position)));
  }
  bool untouched = target == Py_None || (sorted && refill(target, sorted.get()));
  if (type) {
    PyErr_Restore(type, value, traceback);
    return nullptr;
  }
  if (!sorted) return nullptr;
  if (target == Py_None) return sorted;
  if (untouched) return Ref<>::create(Py_None);
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "list modified during sort");
  return nullptr;
}

Ref<> goOnWithExtreme(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  PyObject *iterator = operands[0], *key = operands[1], *fallback = operands[3];
  int op = static_cast<int>(PyLong_AsLong(operands[2]));
  PyObject* before = operands[4];
  Ref<> best, bestKey, item = Ref<>::create(operands[5]);
  if (PyTuple_GET_SIZE(before)) {
    best = Ref<>::create(PyTuple_GET_ITEM(before, 0));
    bestKey = Ref<>::create(PyTuple_GET_ITEM(before, 1));
  }
  while (result) {
    int better = best ? PyObject_RichCompareBool(result.get(), bestKey.get(), op) : 1;
    if (better < 0) return nullptr;
    if (better) best = std::move(item), bestKey = std::move(result);
    item = nextOf(iterator, caller);
    if (!item) break;
    result = callBy(caller, key, {item.get()});
  }
  if (PyErr_Occurred()) return nullptr;
  if (best) return best;
  return Ref<>::create(PyTuple_GET_ITEM(fallback, 0));
}

Ref<> goOnGathering(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  while (result && result.get() != endOfIteration()) {
    if (PyList_Append(operands[1], result.get()) < 0) return nullptr;
    result = nextOf(operands[0], caller);
  }
  return PyErr_Occurred() ? Ref<>() : Ref<>::create(operands[1]);
}

}  // namespace armature
