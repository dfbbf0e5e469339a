// The part of the object protocol that iterates.
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "variables/containers/composed_iterators.h"
#include "variables/containers/iterators.h"
#include "variables/containers/sequence.h"
#include "variables/continuation.h"
#include "variables/functions/functions.h"
#include "variables/kind_slots.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// PyIter_Check.
bool isIterator(Translator& translator, const Value& value) {
  return translator.heap.hasSpecial(typeOf(value), cpython::SpecialSlot::Next);
}

}  // namespace

Value checkIterator(Translator& translator, Value value) {
  translator.realize(value);
  if (isIterator(translator, value)) return value;
  return translator.raise(PyExc_TypeError, "iter() returned non-iterator of type '%.100s'",
                          nameOf(translator, value));
}

Value getIterator(Translator& translator, Value iterable, bool tail) {
  RecursionGuard guard(translator);
  translator.realize(iterable);
  UnaryFunction function = slotsOf(iterable).tp_iter;
  if (!function) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not iterable",
                            nameOf(translator, iterable));
  }
  Value iterator = tail && function == kUserObjectSlots.tp_iter
                       ? objectIterator(translator, iterable, tail)
                       : function(translator, iterable);
  return then(translator, std::move(iterator), {OnReturn::CheckIterator, {}});
}

Value iteratorNext(Translator& translator, const Value& iterator, bool tail) {
  RecursionGuard guard(translator);
  if (UnaryFunction function = slotsOf(iterator).tp_iternext) {
    if (iterator.isTracker()) translator.effects.changes(iterator.tracker());
    if (tail && function == kUserObjectSlots.tp_iternext) {
      return then(translator, objectNext(translator, iterator, tail), {OnReturn::EndIteration, {}});
    }
    if (isComposed(iterator)) {
      return then(translator, composedNext(translator, iterator, tail),
                  {OnReturn::EndIteration, {}});
    }
    if (tail && function == kGeneratorSlots.tp_iternext) {
      auto* generator = requireKind<GeneratorVariable>(iterator);
      Value item = translator.resumeGenerator(generator, Value(), tail);
      return item.isFramePushed() ? then(translator, std::move(item), {OnReturn::EndIteration, {}})
                                  : item;
    }
    return function(translator, iterator);
  }
  return translator.raise(PyExc_TypeError, "'%.200s' object is not an iterator",
                          nameOf(translator, iterator));
}

Value raiseStopIteration(Translator& translator, const Value& iterator) {
  if (translator.exceptionPending()) return Value();
  std::vector<Value> arguments;
  auto* generator = trackerOf<GeneratorVariable>(translator.realized(iterator));
  if (generator && generator->returned && !translator.realized(generator->returned).is(Py_None)) {
    arguments.push_back(generator->returned);
  }
  return translator.raiseWithArguments(PyExc_StopIteration, std::move(arguments));
}

namespace {

// Forgets a pending exception that is a TypeError. False if it is another.
bool takeTypeError(Translator& translator) {
  auto* type = reinterpret_cast<PyTypeObject*>(PyExc_TypeError);
  if (!translator.heap.isSubtype(typeOf(translator.exception()), type)) return false;
  translator.dropException();
  return true;
}

// Iterators whose __length_hint__ asks the sequence that they go over for its length.
bool asksSequence(const Value& iterator) {
  auto* walk = trackerOf<SequenceIteratorVariable>(iterator);
  if (!walk || !walk->sequence || !walk->sequence.isTracker()) return false;
  bool isLazy = walk->type() == &PySeqIter_Type || walk->type() == &PyReversed_Type;
  return isLazy && !trackerOf<TensorVariable>(walk->sequence);
}

void refuseHuge(const Value& iterable, int64_t count) {
  if (count > kMostItems) throw GraphBreak(GraphBreakKind::HugeIterable, describe(iterable));
}

bool appendItems(Translator& translator, Value iterable, llvm::SmallVectorImpl<Value>& items,
                 bool asksLength) {
  translator.realize(iterable);
  if (PyObject* object = iterable.objectOrNull(); object && PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      items.push_back(Value::constant(PyTuple_GET_ITEM(object, i)));
    }
    return true;
  }
  if (iterable.isTracker() && (llvm::isa<ListVariable>(iterable.tracker()) ||
                               llvm::isa<TupleVariable>(iterable.tracker()))) {
    const ValueVector& source = requireKind<SequenceVariable>(iterable)->items();
    items.append(source.begin(), source.end());
    return true;
  }
  if (PyObject* object = iterable.objectOrNull(); object && PyRange_Check(object)) {
    Py_ssize_t length = PyObject_Size(object);
    clearException();  // too long for a number of C
    refuseHuge(iterable, length < 0 ? kMostItems + 1 : length);
  }
  Value iterator = getIterator(translator, iterable);
  if (!iterator || (asksLength && !askLengthHint(translator, iterable))) return false;
  while (Value item = iteratorNext(translator, iterator)) {
    refuseHuge(iterable, static_cast<int64_t>(items.size()) + 1);
    items.push_back(std::move(item));
  }
  return !translator.exceptionPending();
}

}  // namespace

bool askLengthHint(Translator& translator, const Value& iterable) {
  // Of other kinds, the answer is CPython's own.
  if (!trackerOf<UserObjectVariable>(iterable) && !trackerOf<ExceptionVariable>(iterable) &&
      !asksSequence(iterable)) {
    return true;
  }
  static PyObject* const lengthName = staticName("__len__");
  static PyObject* const hintName = staticName("__length_hint__");
  if (translator.heap.lookup(typeOf(iterable), lengthName)) {
    int64_t count = length(translator, iterable);
    refuseHuge(iterable, count);
    if (count >= 0) return true;
    if (!takeTypeError(translator)) return false;
  }
  Value method = lookupSpecial(translator, iterable, hintName);
  if (!method) return !translator.exceptionPending();
  Value hint = translator.realized(call(translator, method, llvm::ArrayRef<Value>()));
  if (!hint) return takeTypeError(translator);
  if (hint.is(Py_NotImplemented)) return true;
  if (!translator.heap.isSubtype(typeOf(hint), &PyLong_Type)) {
    translator.raise(PyExc_TypeError, "__length_hint__ must be an integer, not %.100s",
                     nameOf(translator, hint));
    return false;
  }
  Py_ssize_t count = PyLong_AsSsize_t(hint.object());
  if (count == -1 && PyErr_Occurred()) {
    translator.raiseFromPython();
    return false;
  }
  if (count < 0) {
    translator.raise(PyExc_ValueError, "__length_hint__() should return >= 0");
    return false;
  }
  refuseHuge(iterable, count);
  return true;
}

bool iterateInto(Translator& translator, Value iterable, llvm::SmallVectorImpl<Value>& items) {
  return appendItems(translator, std::move(iterable), items, false);
}

bool visitItems(Translator& translator, Value iterable, llvm::function_ref<bool(Value)> visit) {
  translator.realize(iterable);
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return false;
  int64_t count = 0;
  while (Value item = iteratorNext(translator, iterator)) {
    refuseHuge(iterable, ++count);
    if (!visit(std::move(item))) break;
  }
  return !translator.exceptionPending();
}

bool collectInto(Translator& translator, Value iterable, llvm::SmallVectorImpl<Value>& items) {
  return appendItems(translator, std::move(iterable), items, true);
}

}  // namespace armature
