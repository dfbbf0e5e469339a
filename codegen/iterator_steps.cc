#include "codegen/iterator_steps.h"

#include <llvm/ADT/SmallVector.h>

#include "codegen/continuations.h"
#include "codegen/loops.h"
#include "core/pending_python_exception.h"
#include "cpython/iterators.h"
#include "variables/containers/composed_iterators.h"

namespace armature {

namespace {

using cpython::IteratorField;

Ref<> fieldOf(PyObject* iterator, IteratorField field) {
  cpython::Loaded loaded = cpython::iteratorField(iterator, field);
  return loaded.isNew ? Ref<>::steal(loaded.object) : Ref<>::create(loaded.object);
}

Ref<> end() { return Ref<>::create(endOfIteration()); }

Ref<> numbered(PyObject* enumerate, PyObject* item) {
  Ref<> count = fieldOf(enumerate, IteratorField::Count);
  if (!count || !cpython::advance(enumerate, 1)) return nullptr;
  return Ref<>::steal(PyTuple_Pack(2, count.get(), item));
}

// zip(strict=True), where the iterator after `gathered` others is at its end.
Ref<> checkZipEnd(PyObject* iterators, Py_ssize_t gathered, BorrowedRef<> caller) {
  if (gathered) {
    PyErr_Format(PyExc_ValueError, "zip() argument %zd is shorter than argument%s%zd", gathered + 1,
                 gathered == 1 ? " " : "s 1-", gathered);
    return nullptr;
  }
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(iterators); ++i) {
    Ref<> item = nextOf(PyTuple_GET_ITEM(iterators, i), caller);
    if (item) {
      PyErr_Format(PyExc_ValueError, "zip() argument %zd is longer than argument%s%zd", i + 1,
                   i == 1 ? " " : "s 1-", i);
      return nullptr;
    }
    if (PyErr_Occurred()) return nullptr;
  }
  return end();
}

// An item of each iterator within, of which there are some already.
Ref<> gatherStep(PyObject* iterator, llvm::ArrayRef<PyObject*> before, Ref<> result,
                 BorrowedRef<> caller) {
  bool isMap = Py_TYPE(iterator) == &PyMap_Type;
  Ref<> iterators = fieldOf(iterator, IteratorField::Iterators);
  if (!iterators) return nullptr;
  llvm::SmallVector<Ref<>, 4> items;
  for (PyObject* item : before) items.push_back(Ref<>::create(item));
  Py_ssize_t count = PyTuple_GET_SIZE(iterators.get());
  bool hasEnded = result.get() == endOfIteration();
  if (!hasEnded) items.push_back(std::move(result));
  while (!hasEnded && static_cast<Py_ssize_t>(items.size()) < count) {
    Ref<> item =
        nextOf(PyTuple_GET_ITEM(iterators.get(), static_cast<Py_ssize_t>(items.size())), caller);
    if (!item && PyErr_Occurred()) return nullptr;
    hasEnded = !item;
    if (item) items.push_back(std::move(item));
  }
  if (hasEnded) {
    bool isStrict = !isMap && fieldOf(iterator, IteratorField::Strict).get() == Py_True;
    auto gathered = static_cast<Py_ssize_t>(items.size());
    return isStrict ? checkZipEnd(iterators.get(), gathered, caller) : end();
  }
  llvm::SmallVector<PyObject*, 4> borrowed;
  for (const Ref<>& item : items) borrowed.push_back(item.get());
  if (isMap) {
    Ref<> function = fieldOf(iterator, IteratorField::Function);
    return callBy(caller, function.get(), borrowed);
  }
  Ref<> tuple = Ref<>::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; tuple && i < count; ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(borrowed[i]));
  }
  return tuple;
}

// From an item on, and the verdict on it, if that is not null.
Ref<> filterStep(PyObject* filter, Ref<> item, Ref<> verdict, BorrowedRef<> caller) {
  Ref<> function = fieldOf(filter, IteratorField::Function);
  Ref<> within = fieldOf(filter, IteratorField::Iterator);
  if (!function || !within) return nullptr;
  auto* boolType = reinterpret_cast<PyObject*>(&PyBool_Type);
  bool byTruth = function.get() == Py_None || function.get() == boolType;
  for (; item; item = nextOf(within.get(), caller), verdict = nullptr) {
    if (!verdict) verdict = byTruth ? item : callBy(caller, function.get(), {item.get()});
    int taken = verdict ? PyObject_IsTrue(verdict.get()) : -1;
    if (taken < 0) return nullptr;
    if (taken) return item;
  }
  return PyErr_Occurred() ? Ref<>() : end();
}

// Of iter(function, sentinel): what the function gave.
Ref<> unlessSentinel(PyObject* iterator, Ref<> item, Ref<> isSentinel) {
  Ref<> sentinel = fieldOf(iterator, IteratorField::Sentinel);
  // The function may have brought the iterator to its end.
  if (!sentinel) return end();
  int equal = isSentinel ? isSentinel.get() == Py_True
                         : PyObject_RichCompareBool(sentinel.get(), item.get(), Py_EQ);
  if (equal < 0) return nullptr;
  if (!equal) return item;
  cpython::endIterator(iterator);
  return end();
}

}  // namespace

Ref<> goOnWithStep(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  PyObject* iterator = operands[0];
  auto phase = static_cast<StepPhase>(PyLong_AsLong(operands[1]));
  llvm::ArrayRef<PyObject*> items = operands.drop_front(2);
  PyTypeObject* type = Py_TYPE(iterator);
  if (!result) {
    if (type != &PyCallIter_Type || phase != StepPhase::Call) return result;
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return result;
    clearException();
    cpython::endIterator(iterator);
    return end();
  }
  if (type == &PyZip_Type || type == &PyMap_Type) {
    return gatherStep(iterator, items, std::move(result), caller);
  }
  if (result.get() == endOfIteration()) return result;
  if (type == &PyEnum_Type) return numbered(iterator, result.get());
  Ref<> item = items.empty() ? nullptr : Ref<>::create(items[0]);
  if (type == &PyCallIter_Type) {
    if (phase == StepPhase::Call) return unlessSentinel(iterator, std::move(result), nullptr);
    return unlessSentinel(iterator, std::move(item), std::move(result));
  }
  if (phase == StepPhase::Item) return filterStep(iterator, std::move(result), nullptr, caller);
  return filterStep(iterator, std::move(item), std::move(result), caller);
}

}  // namespace armature
