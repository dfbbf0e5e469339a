#include "codegen/loops.h"

#include <llvm/ADT/SmallVector.h>

#include "codegen/continuations.h"
#include "core/checked.h"
#include "cpython/integers.h"
#include "cpython/iterators.h"
#include "variables/loops.h"

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
    Ref<> module = checked(PyImport_ImportModule("functools"));
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

}  // namespace

Ref<> goOnWithItems(Ref<> result, llvm::ArrayRef<PyObject*> operands, BorrowedRef<> caller) {
  PyObject *iterator = operands[0], *argument = operands[3];
  auto step = static_cast<ItemStep>(PyLong_AsLong(operands[1]));
  Ref<> soFar = Ref<>::create(operands[2]);
  if (result.get() == endOfIteration()) result = nullptr;
  for (; result; result = nextOf(iterator, caller)) {
    int truth = 0;
    switch (step) {
      case ItemStep::Gather:
      case ItemStep::Extend:
        if (PyList_Append(soFar.get(), result.get()) < 0) return nullptr;
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
    }
  }
  if (PyErr_Occurred()) return nullptr;
  if (step == ItemStep::Gather) return passOn(std::move(soFar), argument, caller);
  if (step == ItemStep::Extend) return Ref<>::create(Py_None);
  if (step == ItemStep::Add) return soFar;
  if (step == ItemStep::Sum) return addWaiting(soFar, argument) ? soFar : Ref<>();
  return Ref<>::create(step == ItemStep::All ? Py_True : Py_False);
}

}  // namespace armature
