#include "variables/loops.h"

#include "variables/containers/sequence_slots.h"
#include "variables/containers/sorting.h"
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
  bool wasEmpty = list->items().empty();
  list->replace(translator, std::move(items));
  return wasEmpty;
}

// The operands of OnReturn::NextKey.
enum KeyOperand { kItems, kKeys, kKeyFunction, kReverse, kTarget };

// The operands of OnReturn::NextExtreme.
enum ExtremeOperand { kIterator, kExtremeKey, kOperator, kFallback, kBest, kItem };

}  // namespace

// --- Sorting.

Value sortByKeys(Translator& translator, ValueVector items, const Value& key, bool reverse,
                 const Value& target, bool tail) {
  auto* keys = translator.make<ListVariable>(ValueVector());
  auto* list = translator.make<ListVariable>(std::move(items));
  Value operands[] = {list, keys, key, Value::boolean(reverse), target};
  return goOnWithKeys(translator, operands, Value(), tail);
}

void giveUpKeys(Translator& translator, llvm::ArrayRef<Value> operands) {
  if (operands[kTarget].is(Py_None)) return;
  refill(translator, operands[kTarget], requireKind<ListVariable>(operands[kItems])->items());
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
  ValueVector sorted = items->items();
  bool ok = sortValues(translator, sorted, keys->items(), operands[kReverse].is(Py_True));
  if (operands[kTarget].is(Py_None)) {
    return ok ? Value(translator.make<ListVariable>(std::move(sorted))) : Value();
  }
  bool untouched = refill(translator, operands[kTarget], std::move(sorted));
  if (!ok || untouched) return ok ? Value::none() : Value();
  return translator.raise(PyExc_ValueError, "list modified during sort");
}

// --- min and max.

Value extremeByKeys(Translator& translator, const Value& iterator, const Value& key, int op,
                    const Value& fallback, bool tail) {
  Value none = Value::none();
  Value operands[] = {iterator, key, Value::integer(op), fallback, makeTuple(translator, {}), none};
  return goOnWithExtreme(translator, operands, Value(), tail);
}

Value goOnWithExtreme(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                      bool tail) {
  const Value& key = operands[kExtremeKey];
  int op = static_cast<int>(PyLong_AsLong(operands[kOperator].object()));
  ValueVector storage;
  llvm::ArrayRef<Value> before = itemsOfTuple(operands[kBest], storage);
  Value best, bestKey, item = operands[kItem];
  if (!before.empty()) best = before[0], bestKey = before[1];
  for (;;) {
    if (result) {
      bool isBetter = true;
      if (best) {
        Value better = richCompare(translator, result, bestKey, op);
        int truth = better ? isTrue(translator, std::move(better)) : -1;
        if (truth < 0) return Value();
        isBetter = truth;
      }
      if (isBetter) best = std::move(item), bestKey = std::move(result);
    }
    item = iteratorNext(translator, operands[kIterator]);
    if (!item) break;
    result = key.is(Py_None) ? item : call(translator, key, {item}, tail);
    if (!result) return result;
    if (!result.isFramePushed()) continue;
    ValueVector pair;
    if (best) pair = {std::move(best), std::move(bestKey)};
    translator.onReturn({OnReturn::NextExtreme,
                         {operands[kIterator], key, operands[kOperator], operands[kFallback],
                          makeTuple(translator, std::move(pair)), std::move(item)}});
    return result;
  }
  if (translator.exceptionPending()) return Value();
  if (best) return best;
  llvm::ArrayRef<Value> fallback = itemsOfTuple(operands[kFallback], storage);
  if (!fallback.empty()) return fallback[0];
  const char* name = op == Py_LT ? "min" : "max";
#if PY_VERSION_HEX >= 0x030C0000
  return translator.raise(PyExc_ValueError, "%s() iterable argument is empty", name);
#else
  return translator.raise(PyExc_ValueError, "%s() arg is an empty sequence", name);
#endif
}

// --- Gathering.

Value gatherItems(Translator& translator, Value iterable, bool tail) {
  translator.realize(iterable);
  ValueVector items;
  // Of other iterators, no step calls a function.
  if (!tail || typeOf(iterable) != &PyMap_Type) {
    if (!collectInto(translator, std::move(iterable), items)) return Value();
    return translator.make<ListVariable>(std::move(items));
  }
  Value operands[] = {iterable, translator.make<ListVariable>(std::move(items))};
  Value first = iteratorNext(translator, iterable, tail);
  if (first.isFramePushed()) {
    translator.onReturn({OnReturn::NextItem, {operands[0], operands[1]}});
    return first;
  }
  if (!first && translator.exceptionPending()) return first;
  return goOnGathering(translator, operands, std::move(first), tail);
}

Value goOnGathering(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                    bool tail) {
  auto* list = requireKind<ListVariable>(operands[1]);
  while (result) {
    if (static_cast<int64_t>(list->items().size()) >= kMostItems) {
      throw GraphBreak(GraphBreakKind::HugeIterable, describe(operands[0]));
    }
    list->append(translator, std::move(result));
    result = iteratorNext(translator, operands[0], tail);
    if (!result.isFramePushed()) continue;
    translator.onReturn({OnReturn::NextItem, {operands.begin(), operands.end()}});
    return result;
  }
  return translator.exceptionPending() ? Value() : operands[1];
}

}  // namespace armature
