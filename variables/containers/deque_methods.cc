// The methods of deque, and its constructor.
#include <algorithm>

#include "core/checked.h"
#include "variables/containers/deque.h"
#include "variables/containers/existing_iterators.h"
#include "variables/containers/sequence_slots.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/loops.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"
#include "variables/trailed.h"

namespace armature {

namespace {

DequeVariable* dequeOf(const Value& self) {
  if (auto* deque = trackerOf<DequeVariable>(self)) return deque;
  throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, describe(self));
}

template <bool left>
Value append(Translator& translator, const Value& self, CallArguments& arguments) {
  const char* name = left ? "deque.appendleft" : "deque.append";
  if (!checkArgumentCount(translator, name, arguments, 1, 1)) return Value();
  DequeVariable* deque = dequeOf(self);
  if (left) {
    deque->appendLeft(translator, arguments.values[0]);
  } else {
    deque->append(translator, arguments.values[0]);
  }
  return Value::none();
}

template <bool left>
Value pop(Translator& translator, const Value& self, CallArguments& arguments) {
  const char* name = left ? "deque.popleft" : "deque.pop";
  if (!checkArgumentCount(translator, name, arguments, 0, 0)) return Value();
  DequeVariable* deque = dequeOf(self);
  if (deque->size() == 0) return translator.raise(PyExc_IndexError, "pop from an empty deque");
  return deque->pop(translator, left ? 0 : deque->size() - 1);
}

template <bool left>
Value extend(Translator& translator, const Value& self, CallArguments& arguments) {
  const char* name = left ? "deque.extendleft" : "deque.extend";
  if (!checkArgumentCount(translator, name, arguments, 1, 1)) return Value();
  DequeVariable* deque = dequeOf(self);
  Value items = translator.realized(arguments.values[0]);
  bool isItself = items.sameAs(wholeOf(deque));
  if (!left && !isItself && arguments.tail && stepsInPython(items)) {
    Value iterator = getIterator(translator, items);
    if (!iterator) return iterator;
    return walkItems(translator, iterator, ItemStep::Extend, deque, Value::none(), true);
  }
  return extendDeque(translator, deque, items, left) ? Value::none() : Value();
}

Value insert(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "deque.insert() takes no keyword arguments");
  }
  if (arguments.values.size() != 2) {
    return translator.raise(PyExc_TypeError, "insert() takes exactly 2 arguments (%zu given)",
                            arguments.values.size());
  }
  int64_t index;
  if (!readMachineSize(translator, arguments.values[0], index)) return Value();
  DequeVariable* deque = dequeOf(self);
  if (deque->isFull()) {
    return translator.raise(PyExc_IndexError, "deque already at its maximum size");
  }
  auto size = static_cast<int64_t>(deque->size());
  if (index < 0) index += size;
  deque->insert(translator, std::clamp<int64_t>(index, 0, size), arguments.values[1]);
  return Value::none();
}

Value raiseMissing(Translator& translator, const Value& item) {
  Value text = toRepr(translator, item);
  if (!text) return text;
  return translator.raise(PyExc_ValueError, "%U is not in deque", text.object());
}

Value remove(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "deque.remove", arguments, 1, 1)) return Value();
  DequeVariable* deque = dequeOf(self);
  int64_t moves = deque->moves();
  auto size = static_cast<int64_t>(deque->size());
  for (int64_t i = 0; i < size; ++i) {
    int equal = areEqual(translator, deque->item(i), arguments.values[0]);
    if (equal < 0) return Value();
    if (deque->moves() != moves) {
      return translator.raise(PyExc_IndexError, "deque mutated during iteration");
    }
    if (!equal) continue;
    deque->pop(translator, i);
    return Value::none();
  }
  return raiseMissing(translator, arguments.values[0]);
}

Value index(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "deque.index() takes no keyword arguments");
  }
  size_t given = arguments.values.size();
  if (given == 0 || given > 3) {
    return translator.raise(PyExc_TypeError, "index() takes at %s %d argument%s (%zu given)",
                            given ? "most" : "least", given ? 3 : 1, given ? "s" : "", given);
  }
  DequeVariable* deque = dequeOf(self);
  auto stop = static_cast<int64_t>(deque->size());
  int64_t start = 0, moves = deque->moves();
  if (given > 1 && !readBound(translator, arguments.values[1], start)) return Value();
  if (given > 2 && !readBound(translator, arguments.values[2], stop)) return Value();
  // CPython begins where the first item was.
  if (deque->moves() != moves) throw GraphBreak(GraphBreakKind::UnknownCFunction, "deque.index()");
  auto size = static_cast<int64_t>(deque->size());
  start = boundIn(start, size), stop = std::min(boundIn(stop, size), size);
  for (int64_t i = start; i < stop; ++i) {
    int equal = areEqual(translator, deque->item(i), arguments.values[0]);
    if (equal < 0) return Value();
    if (equal) return Value::integer(i);
    if (deque->moves() != moves) {
      return translator.raise(PyExc_RuntimeError, "deque mutated during iteration");
    }
  }
  return raiseMissing(translator, arguments.values[0]);
}

Value count(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "deque.count", arguments, 1, 1)) return Value();
  DequeVariable* deque = dequeOf(self);
  int64_t moves = deque->moves(), found = 0;
  auto size = static_cast<int64_t>(deque->size());
  for (int64_t i = 0; i < size; ++i) {
    int equal = areEqual(translator, deque->item(i), arguments.values[0]);
    if (equal < 0) return Value();
    found += equal;
    if (deque->moves() != moves) {
      return translator.raise(PyExc_RuntimeError, "deque mutated during iteration");
    }
  }
  return Value::integer(found);
}

Value clear(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "deque.clear", arguments, 0, 0)) return Value();
  dequeOf(self)->clear(translator);
  return Value::none();
}

Value copy(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "deque.copy", arguments, 0, 0)) return Value();
  return copyDeque(translator, dequeOf(self));
}

Value reverse(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "deque.reverse", arguments, 0, 0)) return Value();
  dequeOf(self)->reverse(translator);
  return Value::none();
}

Value rotate(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.values.size() > 1 && !arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "deque.rotate expected at most 1 argument, got %zu",
                            arguments.values.size());
  }
  if (!checkArgumentCount(translator, "deque.rotate", arguments, 0, 1)) return Value();
  int64_t places = 1;
  if (!arguments.values.empty() && !readMachineSize(translator, arguments.values[0], places)) {
    return Value();
  }
  dequeOf(self)->rotate(translator, places);
  return Value::none();
}

Value reversed(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "deque.__reversed__", arguments, 0, 0)) return Value();
  return makeDequeIterator(translator, dequeOf(self), true);
}

Value lengthHint(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "__length_hint__", arguments, 0, 0)) return Value();
  if (auto* existing = trackerOf<ExistingIteratorVariable>(self)) {
    return Value::integer(countAhead(translator, existing));
  }
  auto* iterator = trackerOf<DequeIteratorVariable>(self);
  if (!iterator) throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self));
  return Value::integer(iterator->remaining);
}

// PyLong_AsSsize_t, and what deque_init says of the number.
bool readMaxlen(Translator& translator, Value given, int64_t& bound) {
  translator.realize(given);
  if (given.is(Py_None)) return true;
  PyObject* number = given.objectOrNull();
  if (!number || !PyLong_Check(number)) {
    if (builtinData(translator, given)) {
      throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(given));
    }
    translator.raise(PyExc_TypeError, "an integer is required");
    return false;
  }
  bound = PyLong_AsSsize_t(number);
  if (bound == -1 && PyErr_Occurred()) {
    translator.raiseFromPython();
    return false;
  }
  if (bound >= 0) return true;
  translator.raise(PyExc_ValueError, "maxlen must be non-negative");
  return false;
}

Value init(Translator& translator, const Value& self, CallArguments& arguments) {
  static constexpr Signature kSignature = {"deque", {"iterable", "maxlen"}, 0, 2};
  Value iterable, maxlen = Value::none();
  if (!readArguments(translator, kSignature, arguments, {&iterable, &maxlen})) return Value();
  DequeVariable* deque = dequeOf(self);
  int64_t bound = -1;
  if (!readMaxlen(translator, maxlen, bound)) return Value();
  if (bound != deque->bound()) {
    // Generated code makes the bound of a new deque.
    if (deque->existing()) {
      throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, "deque.__init__");
    }
    deque->setBound(translator, bound);
  }
  deque->clear(translator);
  bool ok = !iterable || extendDeque(translator, deque, iterable, false);
  return ok ? Value::none() : Value();
}

// deque(iterable, maxlen)
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  auto* deque = translator.make<DequeVariable>(cpython::dequeType());
  return init(translator, deque, arguments) ? Value(deque) : Value();
}

// deque.__reduce__: the class, its arguments, the state, and the items.
Value reduce(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "deque.__reduce__", arguments, 0, 0)) return Value();
  DequeVariable* deque = dequeOf(self);
  Value whole = wholeOf(deque);
  Value state = callMethod(translator, whole, "__getstate__", {});
  Value items = state ? getIterator(translator, whole) : Value();
  if (!items) return items;
  Value given = makeTuple(translator, {});
  if (deque->bound() >= 0) {
    given = makeTuple(translator, {std::move(given), Value::integer(deque->bound())});
  }
  return makeTuple(translator, {typeValue(translator, whole), std::move(given), std::move(state),
                                std::move(items)});
}

void registerDeques() {
  PyTypeObject* type = cpython::dequeType();
  registerObjectHandler(reinterpret_cast<PyObject*>(type), construct);
  registerMethodHandler(type, "__init__", init);
  registerMovingMethodHandler(type, "append", append<false>);
  registerMovingMethodHandler(type, "appendleft", append<true>);
  registerMethodHandler(type, "pop", pop<false>);
  registerMethodHandler(type, "popleft", pop<true>);
  registerMethodHandler(type, "extend", extend<false>);
  registerMethodHandler(type, "extendleft", extend<true>);
  registerProtocolMethod(type, "extend");
  registerMethodHandler(type, "insert", insert);
  registerMethodHandler(type, "remove", remove);
  registerMethodHandler(type, "index", index);
  registerMethodHandler(type, "count", count);
  registerMethodHandler(type, "clear", clear);
  registerMethodHandler(type, "copy", copy);
  registerMethodHandler(type, "__copy__", copy);
  registerMethodHandler(type, "reverse", reverse);
  registerMethodHandler(type, "rotate", rotate);
  registerMethodHandler(type, "__reduce__", reduce);
  registerSlotWrappers(type);
  registerMethodHandler(type, "__reversed__", reversed);
  for (PyTypeObject* iterator :
       {cpython::dequeIteratorType(), cpython::dequeReverseIteratorType()}) {
    registerMethodHandler(iterator, "__length_hint__", lengthHint);
    registerSlotWrappers(iterator);
  }
}

}  // namespace

bool extendDeque(Translator& translator, DequeVariable* deque, const Value& iterable, bool left) {
  auto add = [&](Value item) {
    if (left) {
      deque->appendLeft(translator, std::move(item));
    } else {
      deque->append(translator, std::move(item));
    }
  };
  Value items = translator.realized(iterable);
  ValueVector storage;
  llvm::ArrayRef<Value> known;
  if (items.sameAs(wholeOf(deque))) {
    // PySequence_List
    if (!collectInto(translator, items, storage)) return false;
  } else if (itemsOf(items, storage, known)) {
    if (storage.empty()) storage.append(known.begin(), known.end());
  } else {
    Value iterator = getIterator(translator, items);
    if (!iterator) return false;
    while (Value item = iteratorNext(translator, iterator)) add(std::move(item));
    return !translator.exceptionPending();
  }
  for (Value& item : storage) add(std::move(item));
  return true;
}

Value copyDeque(Translator& translator, DequeVariable* deque) {
  if (deque->type() == cpython::dequeType()) {
    auto* result = translator.make<DequeVariable>(cpython::dequeType());
    result->setBound(translator, deque->bound());
    return extendDeque(translator, result, deque, false) ? Value(result) : Value();
  }
  Value whole = wholeOf(deque);
  Value type = typeValue(translator, whole);
  Value result = deque->bound() < 0
                     ? call(translator, type, {whole})
                     : call(translator, type, {whole, Value::integer(deque->bound())});
  if (!result) return result;
  translator.realize(result);
  if (partOf<DequeVariable>(result)) return result;
  return translator.raise(PyExc_TypeError, "%.200s() must return a deque, not %.200s",
                          nameOf(translator, whole), nameOf(translator, result));
}

ARMATURE_REGISTER_HANDLERS(registerDeques);

}  // namespace armature
