#include "codegen/loops.h"

#include <llvm/ADT/SmallVector.h>

#include "codegen/continuations.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/deque_layout.h"
#include "cpython/imported_modules.h"
#include "cpython/integers.h"
#include "cpython/iterators.h"
#include "variables/containers/position_sort.h"
#include "variables/loops.h"

namespace armature {

Ref<> callBy(BorrowedRef<> caller, PyObject* function, llvm::ArrayRef<PyObject*> arguments) {
  llvm::SmallVector<PyObject*, 4> all;
  if (caller) all.push_back(caller);
  all.push_back(function);
  all.append(arguments.begin(), arguments.end());
  return Ref<>::steal(PyObject_Vectorcall(all[0], all.data() + 1, all.size() - 1, nullptr));
}

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
  if (!item && PyErr_ExceptionMatches(PyExc_StopIteration)) clearException();
  return item;
}

namespace {

// Fills the list that was empty while it was sorted. False if it was not, or with no memory.
bool refill(PyObject* target, PyObject* items) {
  bool wasEmpty = PyList_GET_SIZE(target) == 0;
  return PyList_SetSlice(target, 0, PY_SSIZE_T_MAX, items) == 0 && wasEmpty;
}

// The order of the keys: what the first comparisons gave, and then what they say.
class OrderOfKeys : public Order {
 public:
  OrderOfKeys(PyObject* keys, PyObject* outcomes, bool raised, BorrowedRef<> caller)
      : keys_(keys), outcomes_(outcomes), raised_(raised), caller_(caller) {}

  int lessThan(size_t left, size_t right) override {
    if (outcomes_ && done_ < PyList_GET_SIZE(outcomes_)) {
      return PyList_GET_ITEM(outcomes_, done_++) == Py_True;
    }
    if (raised_) return -1;
    Ref<> less = compareBy(caller_, key(left).get(), key(right).get(), Py_LT);
    return less ? PyObject_IsTrue(less.get()) : -1;
  }

 private:
  Ref<> key(size_t index) const {
    return Ref<>::create(PyList_GET_ITEM(keys_, static_cast<Py_ssize_t>(index)));
  }

  PyObject* keys_;
  PyObject* outcomes_;  // null: there are none
  bool raised_;
  BorrowedRef<> caller_;
  Py_ssize_t done_ = 0;
};

// The sort, or where a key or a comparison has raised, what that leaves. `positions`: sorted as far
// as it came, or null where the sort never began. An exception is set where it did not succeed.
Ref<> finishSort(llvm::ArrayRef<PyObject*> operands, const Ref<>& positions) {
  PyObject *items = operands[0], *target = operands[4];
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

// When all keys are known. `outcomes`: what the first comparisons gave, or null.
Ref<> sortItems(llvm::ArrayRef<PyObject*> operands, PyObject* outcomes, BorrowedRef<> caller) try {
  PyObject *keys = operands[1], *reverse = operands[3];
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  bool raised = type != nullptr;
  Ref<> positions = makePositions(static_cast<size_t>(PyList_GET_SIZE(keys)));
  bool done;
  if (outcomes) {
    OrderOfKeys order(keys, outcomes, raised, caller);
    done = sortPositions(positions, reverse == Py_True, order);
  } else {
    done = sortPositionsBy(positions, keys, reverse == Py_True);
  }
  if (raised) {
    if (!done) clearException();
    PyErr_Restore(type, value, traceback);
  }
  return finishSort(operands, positions);
} catch (const PendingPythonException&) {
  return nullptr;  // no memory
}

}  // namespace

Ref<> goOnWithKeys(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  PyObject *items = operands[0], *keys = operands[1];
  bool ok = result && PyList_Append(keys, result.get()) == 0;
  while (ok && PyList_GET_SIZE(keys) < PyList_GET_SIZE(items)) {
    Ref<> item = Ref<>::create(PyList_GET_ITEM(items, PyList_GET_SIZE(keys)));
    Ref<> key = callBy(caller, operands[2], {item.get()});
    ok = key && PyList_Append(keys, key.get()) == 0;
  }
  return ok ? sortItems(operands, nullptr, caller) : finishSort(operands, nullptr);
}

Ref<> goOnWithOrder(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  PyObject* outcomes = operands[5];
  if (result && PyList_Append(outcomes, result.get()) < 0) return nullptr;
  return sortItems(operands, outcomes, caller);
}

// --- Searches.

Ref<> goOnSearching(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  PyObject *sequence = operands[0], *sought = operands[1];
  auto search = static_cast<Search>(PyLong_AsLong(operands[2]));
  Py_ssize_t index = PyLong_AsSsize_t(operands[3]), stop = PyLong_AsSsize_t(operands[4]);
  Py_ssize_t found = PyLong_AsSsize_t(operands[5]);
  bool isList = PyList_Check(sequence);
  for (bool isFirst = true; index < stop; ++index, isFirst = false) {
    int equal = result.get() == Py_True;
    if (!isFirst) {
      if (index >= Py_SIZE(sequence)) break;
      Ref<> candidate = Ref<>::create(isList ? PyList_GET_ITEM(sequence, index)
                                             : PyTuple_GET_ITEM(sequence, index));
      equal = candidate.get() == sought;
      if (!equal) {
        Ref<> answer = compareBy(caller, candidate.get(), sought, Py_EQ);
        equal = answer ? PyObject_IsTrue(answer.get()) : -1;
      }
      if (equal < 0) return nullptr;
    }
    if (!equal) continue;
    switch (search) {
      case Search::Presence:
        return Ref<>::create(Py_True);
      case Search::Index:
        return Ref<>::steal(PyLong_FromSsize_t(index));
      case Search::Count:
        ++found;
        continue;
      case Search::Removal:
        if (PyList_SetSlice(sequence, index, index + 1, nullptr) < 0) return nullptr;
        return Ref<>::create(Py_None);
    }
  }
  if (search == Search::Presence) return Ref<>::create(Py_False);
  if (search == Search::Count) return Ref<>::steal(PyLong_FromSsize_t(found));
  if (search == Search::Removal) {
    PyErr_SetString(PyExc_ValueError, "list.remove(x): x not in list");
  } else if (isList) {
    PyErr_Format(PyExc_ValueError, "%R is not in list", sought);
  } else {
    PyErr_SetString(PyExc_ValueError, "tuple.index(x): x not in tuple");
  }
  return nullptr;
}

Ref<> goOnWithClasses(Ref<> result, llvm::ArrayRef<PyObject*> operands) {
  if (result.get() == Py_True) return result;
  bool asksForSubclass = operands[2] == Py_True;
  int answer = asksForSubclass ? PyObject_IsSubclass(operands[0], operands[1])
                               : PyObject_IsInstance(operands[0], operands[1]);
  return answer < 0 ? Ref<>() : Ref<>::create(answer ? Py_True : Py_False);
}

Ref<> callStarred(PyObject* list, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  llvm::SmallVector<Ref<>, 8> owned;
  llvm::SmallVector<PyObject*, 8> arguments;
  if (caller) arguments.push_back(operands[0]);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    owned.push_back(Ref<>::create(PyList_GET_ITEM(list, i)));
    arguments.push_back(owned.back().get());
  }
  PyObject* keywords = operands[1] == Py_None ? nullptr : operands[1];
  PyObject* callable = caller ? caller.get() : operands[0];
  return Ref<>::steal(
      PyObject_VectorcallDict(callable, arguments.data(), arguments.size(), keywords));
}

namespace {

// The rest of min() or max(), from an item on (null: there is none any more) and its key, or null
// where that is not known.
Ref<> searchExtreme(llvm::ArrayRef<PyObject*> operands, Ref<> item, Ref<> itemKey,
                    BorrowedRef<> caller) {
  PyObject *iterator = operands[0], *key = operands[1], *fallback = operands[3];
  int op = static_cast<int>(PyLong_AsLong(operands[2]));
  PyObject* before = operands[4];
  Ref<> best, bestKey;
  if (PyTuple_GET_SIZE(before)) {
    best = Ref<>::create(PyTuple_GET_ITEM(before, 0));
    bestKey = Ref<>::create(PyTuple_GET_ITEM(before, 1));
  }
  for (; item; item = nextOf(iterator, caller)) {
    if (!itemKey) itemKey = key == Py_None ? item : callBy(caller, key, {item.get()});
    if (!itemKey) return nullptr;
    int better = best ? PyObject_RichCompareBool(itemKey.get(), bestKey.get(), op) : 1;
    if (better < 0) return nullptr;
    if (better) best = std::move(item), bestKey = std::move(itemKey);
    itemKey = nullptr;
  }
  if (PyErr_Occurred()) return nullptr;
  if (best) return best;
  if (PyTuple_GET_SIZE(fallback)) return Ref<>::create(PyTuple_GET_ITEM(fallback, 0));
  const char* name = op == Py_LT ? "min" : "max";
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_Format(PyExc_ValueError, "%s() iterable argument is empty", name);
#else
  PyErr_Format(PyExc_ValueError, "%s() arg is an empty sequence", name);
#endif
  return nullptr;
}

}  // namespace

Ref<> goOnWithExtreme(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  bool isKey = operands.size() > 5;
  if (isKey) {
    return searchExtreme(operands, Ref<>::create(operands[5]), std::move(result), caller);
  }
  if (result.get() == endOfIteration()) result = nullptr;
  return searchExtreme(operands, std::move(result), nullptr, caller);
}

Ref<> goOnReducing(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  PyObject *iterator = operands[0], *function = operands[1], *before = operands[2];
  bool isCall = operands.size() > 3;
  Ref<> total, item;
  if (isCall) {
    total = std::move(result);
  } else {
    if (PyTuple_GET_SIZE(before)) total = Ref<>::create(PyTuple_GET_ITEM(before, 0));
    if (result.get() != endOfIteration()) item = std::move(result);
  }
  bool hasEnded = !isCall && !item;
  for (; !hasEnded; item = nullptr) {
    if (!item) item = nextOf(iterator, caller);
    if (!item) break;
    total = total ? callBy(caller, function, {total.get(), item.get()}) : std::move(item);
    if (!total) return nullptr;
  }
  if (PyErr_Occurred()) return nullptr;
  if (total) return total;
  PyErr_SetString(PyExc_TypeError, "reduce() of empty iterable with no initial value");
  return nullptr;
}

namespace {

bool mayWait(PyObject* object) {
  return PyFloat_CheckExact(object) ||
         (PyLong_CheckExact(object) && cpython::isBelow60Bits(object));
}

// Adds the numbers that wait to the total. False with an exception set.
bool addWaiting(Ref<>& total, PyObject* waiting) {
  if (!PyList_GET_SIZE(waiting)) return true;
  static PyObject* const sum = PyDict_GetItemString(PyEval_GetBuiltins(), "sum");
  total = Ref<>::steal(PyObject_CallFunctionObjArgs(sum, waiting, total.get(), nullptr));
  return total && PyList_SetSlice(waiting, 0, PY_SSIZE_T_MAX, nullptr) == 0;
}

bool addItem(Ref<>& total, PyObject* waiting, PyObject* item) {
  if (mayWait(total.get()) && mayWait(item)) return PyList_Append(waiting, item) == 0;
  if (!addWaiting(total, waiting)) return false;
  total = Ref<>::steal(PyNumber_Add(total.get(), item));
  return static_cast<bool>(total);
}

// Functions of the program that C code calls (the key of sorted()) are called by `caller`.
Ref<> calledBy(BorrowedRef<> caller, PyObject* argument) {
  if (!caller || !PyFunction_Check(argument)) return Ref<>::create(argument);
  static PyObject* const partial = [] {
    Ref<> module = checked(cpython::importModule("functools"));
    return checked(PyObject_GetAttrString(module.get(), "partial")).release();
  }();
  return Ref<>::steal(PyObject_CallFunctionObjArgs(partial, caller.get(), argument, nullptr));
}

// Calls the function that is to have the list, if there is one: see gatherFor().
Ref<> passOn(Ref<> list, PyObject* call, BorrowedRef<> caller) {
  if (call == Py_None) return list;
  PyObject* names = PyTuple_GET_ITEM(call, 1);
  Py_ssize_t keywords = names == Py_None ? 0 : PyTuple_GET_SIZE(names);
  Py_ssize_t positional = PyTuple_GET_SIZE(call) - 2 - keywords;
  llvm::SmallVector<Ref<>, 4> owned;
  llvm::SmallVector<PyObject*, 4> arguments;
  for (Py_ssize_t i = 0; i < positional + keywords; ++i) {
    if (i == positional) arguments.push_back(list.get());
    owned.push_back(calledBy(caller, PyTuple_GET_ITEM(call, i + 2)));
    if (!owned.back()) return nullptr;
    arguments.push_back(owned.back().get());
  }
  if (!keywords) arguments.push_back(list.get());
  return Ref<>::steal(PyObject_Vectorcall(PyTuple_GET_ITEM(call, 0), arguments.data(),
                                          positional + 1, keywords ? names : nullptr));
}

// PyDict_MergeFromSeq2, of one pair. False with an exception set.
bool addPair(PyObject* dict, PyObject* pair, Py_ssize_t before) {
  Ref<> fast = Ref<>::steal(PySequence_Fast(pair, ""));
  if (!fast) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Format(PyExc_TypeError,
                   "cannot convert dictionary update sequence element #%zd to a sequence", before);
    }
    return false;
  }
  if (PySequence_Fast_GET_SIZE(fast.get()) != 2) {
    PyErr_Format(PyExc_ValueError,
                 "dictionary update sequence element #%zd has length %zd; 2 is required", before,
                 PySequence_Fast_GET_SIZE(fast.get()));
    return false;
  }
  Ref<> key = Ref<>::create(PySequence_Fast_GET_ITEM(fast.get(), 0));
  Ref<> value = Ref<>::create(PySequence_Fast_GET_ITEM(fast.get(), 1));
  return PyDict_SetItem(dict, key.get(), value.get()) == 0;
}

// The values that UNPACK_SEQUENCE leaves, as a tuple.
Ref<> unpacked(PyObject* items, Py_ssize_t count) {
  if (PyList_GET_SIZE(items) == count) return Ref<>::steal(PyList_AsTuple(items));
  PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %zd, got %zd)", count,
               PyList_GET_SIZE(items));
  return nullptr;
}

// To a list or deque, past what its class overrides. False with an exception set.
bool append(PyObject* sequence, PyObject* item) {
  if (PyList_Check(sequence)) return PyList_Append(sequence, item) == 0;
  static PyObject* const ofDeque =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(cpython::dequeType()), "append");
  return static_cast<bool>(
      Ref<>::steal(PyObject_CallFunctionObjArgs(ofDeque, sequence, item, nullptr)));
}

// The rest of what UNPACK_EX takes is list() of the iterator.
Ref<> beginRest(Ref<> iterator) {
  Ref<> rest = Ref<>::steal(PyObject_GetIter(iterator.get()));
  return rest && PyObject_LengthHint(iterator.get(), 0) >= 0 ? rest : Ref<>();
}

// Likewise of UNPACK_EX, by its argument.
Ref<> unpackedExtended(PyObject* items, Py_ssize_t argument) {
  Py_ssize_t before = argument & 0xff, after = argument >> 8, size = PyList_GET_SIZE(items);
  if (size < before + after) {
    PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected at least %zd, got %zd)",
                 before + after, size);
    return nullptr;
  }
  Ref<> middle = Ref<>::steal(PyList_GetSlice(items, before, size - after));
  Ref<> values = Ref<>::steal(PyTuple_New(before + 1 + after));
  if (!middle || !values) return nullptr;
  for (Py_ssize_t i = 0; i < before; ++i) {
    PyTuple_SET_ITEM(values.get(), i, Py_NewRef(PyList_GET_ITEM(items, i)));
  }
  PyTuple_SET_ITEM(values.get(), before, middle.release());
  for (Py_ssize_t i = 0; i < after; ++i) {
    PyObject* item = PyList_GET_ITEM(items, size - after + i);
    PyTuple_SET_ITEM(values.get(), before + 1 + i, Py_NewRef(item));
  }
  return values;
}

}  // namespace

Ref<> goOnWithItems(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  Ref<> iterator = Ref<>::create(operands[0]);
  PyObject* argument = operands[3];
  auto step = static_cast<ItemStep>(PyLong_AsLong(operands[1]));
  Ref<> soFar = Ref<>::create(operands[2]);
  Py_ssize_t pairs = step == ItemStep::Pairs ? PyLong_AsSsize_t(argument) : 0;
  if (result.get() == endOfIteration()) result = nullptr;
  for (; result; result = nextOf(iterator.get(), caller)) {
    int truth = 0;
    switch (step) {
      case ItemStep::Gather:
      case ItemStep::Extend:
        if (!append(soFar.get(), result.get())) return nullptr;
        continue;
      case ItemStep::Add:
        if (PySet_Add(soFar.get(), result.get()) < 0) return nullptr;
        continue;
      case ItemStep::Sum:
        if (!addItem(soFar, argument, result.get())) return nullptr;
        continue;
      case ItemStep::Any:
      case ItemStep::All:
        truth = PyObject_IsTrue(result.get());
        if (truth < 0) return nullptr;
        if (truth == (step == ItemStep::Any)) return Ref<>::create(truth ? Py_True : Py_False);
        continue;
      case ItemStep::Find:
        truth = PyObject_RichCompareBool(result.get(), argument, Py_EQ);
        if (truth < 0) return nullptr;
        if (truth) return Ref<>::create(Py_True);
        continue;
      case ItemStep::Unpack:
        if (PyList_GET_SIZE(soFar.get()) == PyLong_AsSsize_t(argument)) {
          PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %zd)",
                       PyList_GET_SIZE(soFar.get()));
          return nullptr;
        }
        if (PyList_Append(soFar.get(), result.get()) < 0) return nullptr;
        continue;
      case ItemStep::UnpackExtended:
        if (PyList_Append(soFar.get(), result.get()) < 0) return nullptr;
        if (PyList_GET_SIZE(soFar.get()) == (PyLong_AsSsize_t(argument) & 0xff)) {
          iterator = beginRest(std::move(iterator));
          if (!iterator) return nullptr;
        }
        continue;
      case ItemStep::Pairs:
        if (!addPair(soFar.get(), result.get(), pairs++)) return nullptr;
        continue;
    }
  }
  if (PyErr_Occurred()) return nullptr;
  if (step == ItemStep::Pairs) return soFar;
  if (step == ItemStep::Unpack) return unpacked(soFar.get(), PyLong_AsSsize_t(argument));
  if (step == ItemStep::UnpackExtended) {
    return unpackedExtended(soFar.get(), PyLong_AsSsize_t(argument));
  }
  if (step == ItemStep::Gather) return passOn(std::move(soFar), argument, caller);
  if (step == ItemStep::Extend) return Ref<>::create(Py_None);
  if (step == ItemStep::Add) return soFar;
  if (step == ItemStep::Sum) return addWaiting(soFar, argument) ? soFar : Ref<>();
  return Ref<>::create(step == ItemStep::All ? Py_True : Py_False);
}

}  // namespace armature
