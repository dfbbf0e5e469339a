#include "variables/loops.h"

#include "core/checked.h"
#include "cpython/integers.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/composed_iterators.h"
#include "variables/containers/dict_methods.h"
#include "variables/containers/sequence_slots.h"
#include "variables/containers/set.h"
#include "variables/containers/sorting.h"
#include "variables/continuation.h"
#include "variables/kind_slots.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

llvm::ArrayRef<Value> itemsOfTuple(const Value& tuple, ValueVector& storage) {
  llvm::ArrayRef<Value> items;
  itemsOf(tuple, storage, items);
  return items;
}

// Fills the list that was empty while it was sorted. False if it was not.
bool refill(Translator& translator, const Value& target, ValueVector items) {
  auto* list = requireKind<ListVariable>(target);
  bool hasChanged = list->endSort(translator);
  list->replace(translator, std::move(items));
  return !hasChanged;
}

// The operands of OnReturn::NextKey, and the one more of NextOrder.
enum KeyOperand { kItems, kKeys, kKeyFunction, kReverse, kTarget, kOutcomes };

// To begin a sort anew for each comparison takes time: comparisons in longer ones push no frames.
constexpr size_t kMostResumed = 32;

// The operands of OnReturn::NextExtreme.
enum ExtremeOperand { kIterator, kExtremeKey, kOperator, kFallback, kBest, kItem };

}  // namespace

// --- Sorting.

Value sortByKeys(Translator& translator, ValueVector items, const Value& key, bool reverse,
                 const Value& target, bool tail) {
  bool areItems = translator.realized(key).is(Py_None);
  auto* keys = translator.make<ListVariable>(areItems ? items : ValueVector());
  auto* list = translator.make<ListVariable>(std::move(items));
  Value operands[] = {list, keys, key, Value::boolean(reverse), target};
  return goOnWithKeys(translator, operands, Value(), tail);
}

void giveUpKeys(Translator& translator, llvm::ArrayRef<Value> operands) {
  if (operands[kTarget].is(Py_None)) return;
  refill(translator, operands[kTarget], requireKind<ListVariable>(operands[kItems])->items());
}

namespace {

// The sort, when all keys are known.
Value sortItems(Translator& translator, llvm::ArrayRef<Value> operands, bool raised, bool tail) {
  auto* items = requireKind<ListVariable>(operands[kItems]);
  auto* keys = requireKind<ListVariable>(operands[kKeys]);
  bool resumes = (tail && items->items().size() <= kMostResumed) || operands.size() > kOutcomes;
  ListVariable* outcomes = nullptr;
  if (operands.size() > kOutcomes) {
    outcomes = requireKind<ListVariable>(operands[kOutcomes]);
  } else if (resumes) {
    outcomes = translator.make<ListVariable>(ValueVector());
  }
  ValueVector sorted = items->items();
  bool reverse = operands[kReverse].is(Py_True);
  SortResult result =
      sortValues(translator, sorted, keys->items(), reverse, {outcomes, raised, tail});
  if (result == SortResult::FramePushed) {
    Continuation continuation{OnReturn::NextOrder,
                              {operands.begin(), operands.begin() + kOutcomes}};
    continuation.operands.push_back(outcomes);
    translator.onReturn(std::move(continuation));
    return Value::framePushed();
  }
  bool ok = result == SortResult::Sorted;
  if (operands[kTarget].is(Py_None)) {
    return ok ? Value(translator.make<ListVariable>(std::move(sorted))) : Value();
  }
  bool untouched = refill(translator, operands[kTarget], std::move(sorted));
  if (!ok || untouched) return ok ? Value::none() : Value();
  return translator.raise(PyExc_ValueError, "list modified during sort");
}

}  // namespace

Value goOnWithOrder(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                    bool tail) {
  bool raised = !result;
  if (!raised) requireKind<ListVariable>(operands[kOutcomes])->append(translator, result);
  return sortItems(translator, operands, raised, tail);
}

Value goOnWithKeys(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                   bool tail) {
  auto* items = requireKind<ListVariable>(operands[kItems]);
  auto* keys = requireKind<ListVariable>(operands[kKeys]);
  if (result) keys->append(translator, std::move(result));
  while (keys->items().size() < items->items().size()) {
    Value item = items->items()[keys->items().size()];
    Value key = call(translator, operands[kKeyFunction], {std::move(item)}, tail);
    if (key.isFramePushed()) {
      translator.onReturn({OnReturn::NextKey, {operands.begin(), operands.end()}});
      return key;
    }
    if (!key) {
      giveUpKeys(translator, operands);
      return key;
    }
    keys->append(translator, std::move(key));
  }
  return sortItems(translator, operands, false, tail);
}

// --- min and max.

namespace {

// What there is at the end of the items.
Value endOfExtreme(Translator& translator, llvm::ArrayRef<Value> operands, const Value& best) {
  ValueVector storage;
  if (best) return best;
  llvm::ArrayRef<Value> fallback = itemsOfTuple(operands[kFallback], storage);
  if (!fallback.empty()) return fallback[0];
  const char* name = operands[kOperator].is(Value::integer(Py_LT).object()) ? "min" : "max";
#if PY_VERSION_HEX >= 0x030C0000
  return translator.raise(PyExc_ValueError, "%s() iterable argument is empty", name);
#else
  return translator.raise(PyExc_ValueError, "%s() arg is an empty sequence", name);
#endif
}

// Put off until there is the key of the item, or the item.
Continuation extremeContinuation(Translator& translator, llvm::ArrayRef<Value> operands, Value best,
                                 Value bestKey, Value item) {
  ValueVector pair;
  if (best) pair = {std::move(best), std::move(bestKey)};
  Continuation continuation{OnReturn::NextExtreme,
                            {operands[kIterator], operands[kExtremeKey], operands[kOperator],
                             operands[kFallback], makeTuple(translator, std::move(pair))}};
  if (item) continuation.operands.push_back(std::move(item));
  return continuation;
}

// Goes on where the item and its key are known, or only the item, or neither.
Value searchExtreme(Translator& translator, llvm::ArrayRef<Value> operands, Value item,
                    Value itemKey, bool tail) {
  const Value& key = operands[kExtremeKey];
  int op = static_cast<int>(PyLong_AsLong(operands[kOperator].object()));
  ValueVector storage;
  llvm::ArrayRef<Value> before = itemsOfTuple(operands[kBest], storage);
  Value best, bestKey;
  if (!before.empty()) best = before[0], bestKey = before[1];
  for (bool isFirst = true;; isFirst = false) {
    if (!isFirst || !item) {
      item = iteratorNext(translator, operands[kIterator], tail);
      if (item.isFramePushed()) {
        translator.onReturn(extremeContinuation(translator, operands, best, bestKey, Value()));
        return item;
      }
    }
    if (!item) break;
    if (!itemKey) itemKey = key.is(Py_None) ? item : call(translator, key, {item}, tail);
    if (!itemKey) return itemKey;
    if (itemKey.isFramePushed()) {
      translator.onReturn(extremeContinuation(translator, operands, best, bestKey, item));
      return itemKey;
    }
    bool isBetter = true;
    if (best) {
      Value better = richCompare(translator, itemKey, bestKey, op);
      int truth = better ? isTrue(translator, std::move(better)) : -1;
      if (truth < 0) return Value();
      isBetter = truth;
    }
    if (isBetter) best = item, bestKey = itemKey;
    itemKey = Value();
  }
  return translator.exceptionPending() ? Value() : endOfExtreme(translator, operands, best);
}

}  // namespace

Value extremeByKeys(Translator& translator, const Value& iterator, const Value& key, int op,
                    const Value& fallback, bool tail) {
  Value operands[] = {iterator, key, Value::integer(op), fallback, makeTuple(translator, {})};
  return searchExtreme(translator, operands, Value(), Value(), tail);
}

Value goOnWithExtreme(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                      bool tail) {
  if (!result) {
    ValueVector storage;
    llvm::ArrayRef<Value> before = itemsOfTuple(operands[kBest], storage);
    return endOfExtreme(translator, operands, before.empty() ? Value() : before[0]);
  }
  bool isKey = operands.size() > kItem;
  return isKey ? searchExtreme(translator, operands, operands[kItem], std::move(result), tail)
               : searchExtreme(translator, operands, std::move(result), Value(), tail);
}

// --- reduce.

namespace {

// The operands of OnReturn::NextReduction.
enum ReductionOperand { kReduced, kFunction, kTotal, kIsCall };

Value endOfReduction(Translator& translator, const Value& total) {
  if (total) return total;
  return translator.raise(PyExc_TypeError, "reduce() of empty iterable with no initial value");
}

// Goes on with what there is so far, if anything, and the next item, if it is known.
Value reduce(Translator& translator, llvm::ArrayRef<Value> operands, Value total, Value item,
             bool tail) {
  auto putOff = [&](Value soFar, bool isCall) {
    ValueVector totals;
    if (soFar) totals.push_back(std::move(soFar));
    Continuation continuation{
        OnReturn::NextReduction,
        {operands[kReduced], operands[kFunction], makeTuple(translator, std::move(totals))}};
    if (isCall) continuation.operands.push_back(Value::boolean(true));
    translator.onReturn(std::move(continuation));
  };
  for (;; item = Value()) {
    if (!item) item = iteratorNext(translator, operands[kReduced], tail);
    if (item.isFramePushed()) {
      putOff(std::move(total), false);
      return item;
    }
    if (!item) break;
    if (total) {
      total = call(translator, operands[kFunction], {total, item}, tail);
    } else {
      total = std::move(item);
    }
    if (!total) return total;
    if (total.isFramePushed()) {
      putOff(Value(), true);
      return total;
    }
  }
  return translator.exceptionPending() ? Value() : endOfReduction(translator, total);
}

}  // namespace

Value reduceItems(Translator& translator, const Value& iterator, const Value& function,
                  const Value& soFar, bool tail) {
  Value operands[] = {iterator, function};
  ValueVector storage;
  llvm::ArrayRef<Value> start = itemsOfTuple(soFar, storage);
  return reduce(translator, operands, start.empty() ? Value() : start[0], Value(), tail);
}

Value goOnReducing(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                   bool tail) {
  if (operands.size() > kIsCall) {
    return reduce(translator, operands, std::move(result), Value(), tail);
  }
  ValueVector storage;
  llvm::ArrayRef<Value> before = itemsOfTuple(operands[kTotal], storage);
  Value total = before.empty() ? Value() : before[0];
  if (!result) return endOfReduction(translator, total);
  return reduce(translator, operands, std::move(total), std::move(result), tail);
}

// --- Loops over items.

namespace {

// The operands of OnReturn::NextItem.
enum ItemOperand { kWalked, kStep, kSoFar, kArgument };

// Numbers alone are added by CPython itself, which has its own way with floats. Larger ints are not
// among them, whose addition may fail.
bool allNumbers(llvm::ArrayRef<Value> items) {
  return llvm::all_of(items, [](const Value& item) {
    PyObject* object = item.objectOrNull();
    return object && (PyFloat_CheckExact(object) ||
                      (PyLong_CheckExact(object) && cpython::isBelow60Bits(object)));
  });
}

// Adds the numbers that wait. False with the exception pending.
bool addWaiting(Translator& translator, Value& total, ListVariable* waiting) {
  if (waiting->items().empty()) return true;
  static PyObject* const sum = PyDict_GetItemString(PyEval_GetBuiltins(), "sum");
  const ValueVector& items = waiting->items();
  Ref<> list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyList_SET_ITEM(list.get(), i, Ref<>::create(items[i].object()).release());
  }
  total =
      translator.fromPython(PyObject_CallFunctionObjArgs(sum, list.get(), total.object(), nullptr));
  waiting->replace(translator, {});
  return static_cast<bool>(total);
}

// Numbers wait until something else comes, and are then added at once.
bool addItem(Translator& translator, Value& total, ListVariable* waiting, Value item) {
  realizeType(translator, item);
  realizeType(translator, total);
  if (total.isConstant() && allNumbers({total, item})) {
    waiting->append(translator, std::move(item));
    return true;
  }
  if (!addWaiting(translator, total, waiting)) return false;
  total = binaryOperation(translator, nb_add, std::move(total), std::move(item));
  return static_cast<bool>(total);
}

void refuseHuge(ListVariable* list, const Value& iterator) {
  if (static_cast<int64_t>(list->items().size()) < kMostItems) return;
  throw GraphBreak(GraphBreakKind::HugeIterable, describe(iterator));
}

bool raiseLength(Translator& translator, const char* format, size_t expected, size_t got) {
  translator.raise(PyExc_ValueError, format, expected, got);
  return false;
}

size_t itemsBeforeStar(const Value& argument) {
  return static_cast<size_t>(PyLong_AsLong(argument.object())) & 0xff;
}

// The values that UNPACK_SEQUENCE and UNPACK_EX leave, as a tuple.
Value unpacked(Translator& translator, llvm::ArrayRef<Value> operands) {
  const ValueVector& items = requireKind<ListVariable>(operands[kSoFar])->items();
  auto count = static_cast<size_t>(PyLong_AsLong(operands[kArgument].object()));
  if (static_cast<ItemStep>(PyLong_AsLong(operands[kStep].object())) == ItemStep::Unpack) {
    if (items.size() == count) return makeTuple(translator, items);
    raiseLength(translator, "not enough values to unpack (expected %zu, got %zu)", count,
                items.size());
    return Value();
  }
  size_t before = itemsBeforeStar(operands[kArgument]), after = count >> 8;
  if (items.size() < before + after) {
    raiseLength(translator, "not enough values to unpack (expected at least %zu, got %zu)",
                before + after, items.size());
    return Value();
  }
  ValueVector values(items.begin(), items.begin() + before);
  ValueVector middle(items.begin() + before, items.end() - after);
  values.push_back(translator.make<ListVariable>(std::move(middle)));
  values.append(items.end() - after, items.end());
  return makeTuple(translator, std::move(values));
}

// The rest of what UNPACK_EX takes is list() of the iterator. False with the exception pending.
bool beginRest(Translator& translator, llvm::MutableArrayRef<Value> operands) {
  Value iterator = getIterator(translator, operands[kWalked]);
  if (!iterator || !askLengthHint(translator, operands[kWalked])) return false;
  operands[kWalked] = std::move(iterator);
  return true;
}

// What the loop gives, if this item decides it. False with the exception pending.
bool takeItem(Translator& translator, llvm::MutableArrayRef<Value> operands, Value item,
              Value& decided) {
  auto step = static_cast<ItemStep>(PyLong_AsLong(operands[kStep].object()));
  int truth = 0;
  switch (step) {
    case ItemStep::Gather:
      refuseHuge(requireKind<ListVariable>(operands[kSoFar]), operands[kWalked]);
      [[fallthrough]];
    case ItemStep::Extend:
      requireKind<MutableSequenceVariable>(operands[kSoFar])->append(translator, std::move(item));
      return true;
    case ItemStep::Add: {
      auto* set = requireKind<SetVariable>(operands[kSoFar]);
      if (static_cast<int64_t>(set->size(translator)) >= kMostItems) {
        throw GraphBreak(GraphBreakKind::HugeIterable, describe(operands[kWalked]));
      }
      return set->add(translator, item);
    }
    case ItemStep::Sum: {
      auto* waiting = requireKind<ListVariable>(operands[kArgument]);
      refuseHuge(waiting, operands[kWalked]);
      return addItem(translator, operands[kSoFar], waiting, std::move(item));
    }
    case ItemStep::Any:
    case ItemStep::All:
      truth = isTrue(translator, std::move(item));
      if (truth == (step == ItemStep::Any)) decided = Value::boolean(truth);
      return truth >= 0;
    case ItemStep::Find:
      truth = areEqual(translator, std::move(item), operands[kArgument]);
      if (truth > 0) decided = Value::boolean(true);
      return truth >= 0;
    case ItemStep::Unpack: {
      auto* list = requireKind<ListVariable>(operands[kSoFar]);
      auto count = static_cast<size_t>(PyLong_AsLong(operands[kArgument].object()));
      if (list->items().size() == count) {
        return raiseLength(translator, "too many values to unpack (expected %zu)", count, 0);
      }
      list->append(translator, std::move(item));
      return true;
    }
    case ItemStep::UnpackExtended: {
      auto* list = requireKind<ListVariable>(operands[kSoFar]);
      refuseHuge(list, operands[kWalked]);
      list->append(translator, std::move(item));
      bool isRest = list->items().size() != itemsBeforeStar(operands[kArgument]);
      return isRest || beginRest(translator, operands);
    }
    case ItemStep::Pairs: {
      int64_t before = PyLong_AsLongLong(operands[kArgument].object());
      operands[kArgument] = Value::integer(before + 1);
      return addPair(translator, requireKind<DictVariable>(operands[kSoFar]), std::move(item),
                     before);
    }
  }
  return false;  // not reached: the switch is complete
}

// Calls the function that is to have the list.
Value passOn(Translator& translator, const Value& list, const Value& description, bool tail) {
  ValueVector storage;
  llvm::ArrayRef<Value> parts = itemsOfTuple(description, storage);
  CallArguments arguments;
  if (!parts[1].is(Py_None)) arguments.keywordNames = parts[1].object();
  arguments.values.append(parts.begin() + 2, parts.end() - arguments.keywordCount());
  arguments.values.push_back(list);
  arguments.values.append(parts.end() - arguments.keywordCount(), parts.end());
  arguments.tail = tail;
  return call(translator, parts[0], arguments);
}

// What the loop gives at the end of the items.
Value endOfItems(Translator& translator, llvm::MutableArrayRef<Value> operands, bool tail) {
  switch (static_cast<ItemStep>(PyLong_AsLong(operands[kStep].object()))) {
    case ItemStep::Gather:
      if (operands[kArgument].is(Py_None)) return operands[kSoFar];
      return passOn(translator, operands[kSoFar], operands[kArgument], tail);
    case ItemStep::Extend:
      return Value::none();
    case ItemStep::Add:
    case ItemStep::Pairs:
      return operands[kSoFar];
    case ItemStep::Unpack:
    case ItemStep::UnpackExtended:
      return unpacked(translator, operands);
    case ItemStep::Sum: {
      auto* waiting = requireKind<ListVariable>(operands[kArgument]);
      return addWaiting(translator, operands[kSoFar], waiting) ? operands[kSoFar] : Value();
    }
    case ItemStep::All:
      return Value::boolean(true);
    case ItemStep::Any:
    case ItemStep::Find:
      return Value::boolean(false);
  }
  return Value();  // not reached: the switch is complete
}

Value walk(Translator& translator, llvm::MutableArrayRef<Value> operands, bool tail) {
  for (;;) {
    Value item = iteratorNext(translator, operands[kWalked], tail);
    if (item.isFramePushed()) {
      translator.onReturn({OnReturn::NextItem, {operands.begin(), operands.end()}});
      return item;
    }
    if (!item)
      return translator.exceptionPending() ? Value() : endOfItems(translator, operands, tail);
    Value decided;
    if (!takeItem(translator, operands, std::move(item), decided)) return Value();
    if (decided) return decided;
  }
}

}  // namespace

Value walkItems(Translator& translator, const Value& iterator, ItemStep step, Value soFar,
                const Value& argument, bool tail) {
  Value operands[] = {iterator, Value::integer(static_cast<int>(step)), std::move(soFar), argument};
  bool beginsWithRest = step == ItemStep::UnpackExtended && itemsBeforeStar(argument) == 0;
  if (beginsWithRest && !beginRest(translator, operands)) return Value();
  return walk(translator, operands, tail);
}

Value goOnWithItems(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                    bool tail) {
  ValueVector own(operands.begin(), operands.end());
  if (!result) return endOfItems(translator, own, tail);
  Value decided;
  if (!takeItem(translator, own, std::move(result), decided)) return Value();
  return decided ? decided : walk(translator, own, tail);
}

bool stepsInPython(const Value& iterator) {
  if (isComposed(iterator)) return composedInPython(iterator);
  UnaryFunction next = slotsOf(iterator).tp_iternext;
  return next && (next == kUserObjectSlots.tp_iternext || next == kGeneratorSlots.tp_iternext);
}

Value callStarred(Translator& translator, llvm::ArrayRef<Value> operands, const Value& list,
                  bool tail) {
  CallArguments arguments;
  ValueVector storage;
  llvm::ArrayRef<Value> items = itemsOfTuple(list, storage);
  arguments.values.append(items.begin(), items.end());
  Ref<> names;
  if (auto* dict = trackerOf<DictVariable>(operands[1])) {
    Ref<> keys = checked(PyList_New(0));
    dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
      if (!entry.key.isConstant() || !PyUnicode_CheckExact(entry.key.object())) {
        throw GraphBreak(GraphBreakKind::KeywordNotString, describe(entry.key));
      }
      checked(PyList_Append(keys.get(), entry.key.object()));
      arguments.values.push_back(entry.value);
    });
    names = checked(PyList_AsTuple(keys.get()));
    arguments.keywordNames = names.get();
  }
  arguments.tail = tail;
  return call(translator, operands[0], arguments);
}

namespace {

// `description`: of the call that has the list, or None.
Value gather(Translator& translator, const Value& iterable, Value description, bool tail) {
  Value iterator = getIterator(translator, iterable);
  if (!iterator || !askLengthHint(translator, iterable)) return Value();
  return walkItems(translator, iterator, ItemStep::Gather,
                   translator.make<ListVariable>(ValueVector()), description, tail);
}

}  // namespace

Value gatherItems(Translator& translator, Value iterable, bool tail) {
  translator.realize(iterable);
  if (tail && stepsInPython(iterable)) return gather(translator, iterable, Value::none(), tail);
  ValueVector items;
  if (!collectInto(translator, std::move(iterable), items)) return Value();
  return translator.make<ListVariable>(std::move(items));
}

Value gatherFor(Translator& translator, ValueVector call, Value iterable, bool tail) {
  return gather(translator, translator.realized(iterable), makeTuple(translator, std::move(call)),
                tail);
}

}  // namespace armature
