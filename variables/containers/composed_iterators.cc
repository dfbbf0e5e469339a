#include "variables/containers/composed_iterators.h"

#include "core/checked.h"
#include "variables/containers/iterators.h"
#include "variables/continuation.h"
#include "variables/ends_of_objects.h"
#include "variables/lazy.h"
#include "variables/loops.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

Value putOff(Translator& translator, Value pushed, const Value& iterator, StepPhase phase,
             llvm::ArrayRef<Value> items) {
  Continuation continuation{OnReturn::NextStep,
                            {iterator, Value::integer(static_cast<int>(phase))}};
  continuation.operands.append(items.begin(), items.end());
  translator.onReturn(std::move(continuation));
  return pushed;
}

// A step of an iterator within another, which nobody may have looked at.
Value nextOf(Translator& translator, const Value& iterator, bool tail) {
  return iteratorNext(translator, translator.realized(iterator), tail);
}

// --- enumerate.

Value numbered(Translator& translator, EnumerateVariable* iterator, Value item) {
  Value count = iterator->count;
  if (iterator->source()) {
    if (iterator->steps > 0) {
      count = binaryOperation(translator, nb_add, count, Value::integer(iterator->steps));
      if (!count) return count;
    }
    assignTrailed(translator.trail, iterator->steps, iterator->steps + 1);
    translator.effects.advance(iterator);
  } else {
    static PyObject* const one = PyLong_FromLong(1);
    Value next = translator.fromPython(PyNumber_Add(count.object(), one));
    if (!next) return next;
    assignTrailed(translator.trail, iterator->count, std::move(next));
  }
  return makeTuple(translator, {std::move(count), std::move(item)});
}

// --- zip and map.

// zip(strict=True): all others must end where the first one ended, or where `shorter` did.
Value checkZipEnd(Translator& translator, ZipVariable* zip, size_t shorter) {
  if (shorter) {
    return translator.raise(PyExc_ValueError, "zip() argument %zu is shorter than argument%s%zu",
                            shorter + 1, shorter == 1 ? " " : "s 1-", shorter);
  }
  for (size_t i = 1; i < zip->iterators.size(); ++i) {
    Value item = nextOf(translator, zip->iterators[i], false);
    if (item) {
      return translator.raise(PyExc_ValueError, "zip() argument %zu is longer than argument%s%zu",
                              i + 1, i == 1 ? " " : "s 1-", i);
    }
    if (translator.exceptionPending()) return Value();
  }
  return Value();
}

Value endOfGathering(Translator& translator, const Value& iterator, size_t gathered) {
  auto* zip = trackerOf<ZipVariable>(iterator);
  if (!zip || translator.exceptionPending()) return Value();
  if (translator.realized(zip->strict).is(Py_False)) return Value();
  return checkZipEnd(translator, zip, gathered);
}

// An item of each iterator, of which there are some already, and what becomes of them.
Value gatherStep(Translator& translator, const Value& iterator, ValueVector items, bool tail) {
  auto* map = trackerOf<MapVariable>(iterator);
  const ValueVector& iterators =
      map ? map->iterators : requireKind<ZipVariable>(iterator)->iterators;
  if (iterators.empty()) return Value();
  while (items.size() < iterators.size()) {
    Value item = nextOf(translator, iterators[items.size()], tail);
    if (item.isFramePushed()) {
      return putOff(translator, std::move(item), iterator, StepPhase::Item, items);
    }
    if (!item) return endOfGathering(translator, iterator, items.size());
    items.push_back(std::move(item));
  }
  if (!map) return makeTuple(translator, std::move(items));
  CallArguments arguments;
  arguments.values.append(items.begin(), items.end());
  arguments.tail = tail;
  return call(translator, map->function, arguments);
}

// --- filter.

// From an item on, if it is not null, and the verdict on it, if that is not null.
Value filterStep(Translator& translator, const Value& iterator, Value item, Value verdict,
                 bool tail) {
  auto* filter = requireKind<FilterVariable>(iterator);
  Value function = translator.realized(filter->function);
  bool byTruth = function.is(Py_None) || function.is(reinterpret_cast<PyObject*>(&PyBool_Type));
  for (;; item = Value(), verdict = Value()) {
    if (!item) item = nextOf(translator, filter->iterator, tail);
    if (item.isFramePushed()) {
      return putOff(translator, std::move(item), iterator, StepPhase::Item, {});
    }
    if (!item) return Value();
    if (!verdict) verdict = byTruth ? item : call(translator, function, {item}, tail);
    if (verdict.isFramePushed()) {
      return putOff(translator, std::move(verdict), iterator, StepPhase::Call, item);
    }
    Value taken = verdict ? truth(translator, std::move(verdict), tail) : Value();
    if (taken.isFramePushed()) {
      return putOff(translator, std::move(taken), iterator, StepPhase::Verdict, item);
    }
    if (!taken) return Value();
    if (taken.is(Py_True)) return item;
  }
}

// --- iter(function, sentinel)

void endCallable(Translator& translator, CallableIteratorVariable* iterator) {
  if (iterator->source()) {
    letGo(translator, iterator->function);
    letGo(translator, iterator->sentinel);
  }
  assignTrailed(translator.trail, iterator->function, Value());
  assignTrailed(translator.trail, iterator->sentinel, Value());
  if (translator.effects.concerns(iterator)) {
    translator.effects.append({EffectKind::IteratorRewrite, iterator, {}, {}});
  }
}

Value unlessSentinel(Translator& translator, CallableIteratorVariable* iterator, Value item,
                     const Value& isSentinel) {
  if (isSentinel.is(Py_False)) return item;
  if (isSentinel) endCallable(translator, iterator);
  return Value();
}

Value compareWithSentinel(Translator& translator, const Value& iterator, Value item, bool tail) {
  auto* callable = requireKind<CallableIteratorVariable>(iterator);
  // The function may have brought the iterator to its end.
  Value sentinel = callable->sentinel;
  if (!sentinel) return Value();
  Value equal = equality(translator, sentinel, item, tail);
  if (equal.isFramePushed()) {
    return putOff(translator, std::move(equal), iterator, StepPhase::Verdict, item);
  }
  return unlessSentinel(translator, callable, std::move(item), equal);
}

Value callableStep(Translator& translator, const Value& iterator, bool tail) {
  auto* callable = requireKind<CallableIteratorVariable>(iterator);
  if (!callable->function) return Value();
  Value item = call(translator, callable->function, llvm::ArrayRef<Value>(), tail);
  if (item.isFramePushed()) {
    return putOff(translator, std::move(item), iterator, StepPhase::Call, {});
  }
  if (item) return compareWithSentinel(translator, iterator, std::move(item), tail);
  auto* stop = reinterpret_cast<PyTypeObject*>(PyExc_StopIteration);
  if (translator.heap.isSubtype(typeOf(translator.realized(translator.exception())), stop)) {
    translator.dropException();
    endCallable(translator, callable);
  }
  return Value();
}

StepPhase phaseOf(llvm::ArrayRef<Value> operands) {
  return static_cast<StepPhase>(PyLong_AsLong(operands[1].object()));
}

bool inPython(const Value& iterator) {
  // Nobody has looked at what existed before the trace.
  return iterator.isTracker() &&
         (llvm::isa<LazyVariable>(iterator.tracker()) || stepsInPython(iterator));
}

}  // namespace

bool isComposed(const Value& iterator) {
  if (!iterator.isTracker()) return false;
  switch (iterator.tracker()->kind()) {
    case VariableKind::Enumerate:
    case VariableKind::Zip:
    case VariableKind::Map:
    case VariableKind::Filter:
    case VariableKind::CallableIterator:
      return true;
    default:
      return false;
  }
}

bool composedInPython(const Value& iterator) {
  if (auto* enumerate = trackerOf<EnumerateVariable>(iterator)) {
    return inPython(enumerate->iterator);
  }
  if (auto* zip = trackerOf<ZipVariable>(iterator)) return llvm::any_of(zip->iterators, inPython);
  return isComposed(iterator);
}

Value composedNext(Translator& translator, const Value& iterator, bool tail) {
  switch (iterator.tracker()->kind()) {
    case VariableKind::Enumerate: {
      auto* enumerate = requireKind<EnumerateVariable>(iterator);
      Value item = nextOf(translator, enumerate->iterator, tail);
      if (item.isFramePushed()) {
        return putOff(translator, std::move(item), iterator, StepPhase::Item, {});
      }
      return item ? numbered(translator, enumerate, std::move(item)) : item;
    }
    case VariableKind::Filter:
      return filterStep(translator, iterator, Value(), Value(), tail);
    case VariableKind::CallableIterator:
      return callableStep(translator, iterator, tail);
    default:
      return gatherStep(translator, iterator, {}, tail);
  }
}

Value goOnWithStep(Translator& translator, llvm::ArrayRef<Value> operands, Value result,
                   bool tail) {
  const Value& iterator = operands[0];
  ValueVector items(operands.begin() + 2, operands.end());
  StepPhase phase = phaseOf(operands);
  switch (iterator.tracker()->kind()) {
    case VariableKind::Enumerate:
      if (!result) return result;
      return numbered(translator, requireKind<EnumerateVariable>(iterator), std::move(result));
    case VariableKind::Filter:
      if (!result) return result;
      if (phase == StepPhase::Item) {
        return filterStep(translator, iterator, std::move(result), Value(), tail);
      }
      if (phase == StepPhase::Call) {
        return filterStep(translator, iterator, items[0], std::move(result), tail);
      }
      return result.is(Py_True) ? items[0]
                                : filterStep(translator, iterator, Value(), Value(), tail);
    case VariableKind::CallableIterator:
      if (phase == StepPhase::Call) {
        return compareWithSentinel(translator, iterator, std::move(result), tail);
      }
      return unlessSentinel(translator, requireKind<CallableIteratorVariable>(iterator), items[0],
                            result);
    default:
      if (!result) return endOfGathering(translator, iterator, items.size());
      items.push_back(std::move(result));
      return gatherStep(translator, iterator, std::move(items), tail);
  }
}

bool endsByStop(llvm::ArrayRef<Value> operands) {
  return trackerOf<CallableIteratorVariable>(operands[0]) && phaseOf(operands) == StepPhase::Call;
}

Value endStep(Translator& translator, llvm::ArrayRef<Value> operands) {
  endCallable(translator, requireKind<CallableIteratorVariable>(operands[0]));
  return Value();
}

}  // namespace armature
