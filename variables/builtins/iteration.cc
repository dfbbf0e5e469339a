// len, iter, next, range, enumerate, zip, map, filter, reversed, slice.
#include "core/checked.h"
#include "variables/containers/composed_iterators.h"
#include "variables/containers/iterators.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

Value len(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "len", arguments, 1, 1)) return Value();
  if (Value varying = varyingLength(translator, arguments.values[0])) return varying;
  return lengthOf(translator, arguments.values[0], arguments.tail);
}

Value iter(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "iter", arguments, 1, 2)) return Value();
  if (arguments.values.size() == 2) {
    Value function = translator.realized(arguments.values[0]);
    if (!translator.heap.hasSpecial(typeOf(function), cpython::SpecialSlot::Call)) {
      return translator.raise(PyExc_TypeError, "iter(v, w): v must be callable");
    }
    return translator.make<CallableIteratorVariable>(std::move(function), arguments.values[1]);
  }
  return getIterator(translator, arguments.values[0], arguments.tail);
}

Value next(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "next", arguments, 1, 2)) return Value();
  const Value& iterator = arguments.values[0];
  bool hasDefault = arguments.values.size() == 2;
  if (arguments.tail && slotsOf(iterator).tp_iternext == kUserObjectSlots.tp_iternext) {
    translator.effects.changes(iterator.tracker());
    Value item = objectNext(translator, iterator, arguments.tail);
    if (!hasDefault) return item;
    return then(translator, std::move(item),
                {OnReturn::Instead,
                 {Value::constant(PyExc_StopIteration), std::move(arguments.values[1])}});
  }
  if (const Value composed = translator.realized(iterator); isComposed(composed)) {
    translator.effects.changes(composed.tracker());
    Continuation end{OnReturn::StopAtEnd, {}};
    if (hasDefault) end.operands.push_back(std::move(arguments.values[1]));
    return then(translator, composedNext(translator, composed, arguments.tail), std::move(end),
                arguments.tail);
  }
  auto* generator = trackerOf<GeneratorVariable>(translator.realized(iterator));
  Value item = generator && arguments.tail
                   ? translator.resumeGenerator(generator, Value(), arguments.tail)
                   : iteratorNext(translator, iterator);
  if (item.isFramePushed() && hasDefault) {
    return then(translator, std::move(item),
                {OnReturn::Instead,
                 {Value::constant(PyExc_StopIteration), std::move(arguments.values[1])}});
  }
  if (item) return item;
  if (!translator.exceptionPending()) {
    return hasDefault ? arguments.values[1] : raiseStopIteration(translator, iterator);
  }
  PyTypeObject* type = typeOf(translator.exception());
  if (!hasDefault ||
      !translator.heap.isSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))) {
    return Value();
  }
  translator.dropException();
  return arguments.values[1];
}

// range(stop), range(start, stop[, step]): always a constant.
Value range(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "range() takes no keyword arguments");
  }
  if (size_t count = arguments.values.size(); count < 1 || count > 3) {
    return translator.raise(PyExc_TypeError,
                            count ? "range expected at most 3 arguments, got %zu"
                                  : "range expected at least 1 argument, got %zu",
                            count);
  }
  Ref<> bounds = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.values.size())));
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    Value bound = toIndex(translator, arguments.values[i]);
    if (!bound) return bound;
    PyTuple_SET_ITEM(bounds.get(), i, Ref<>::create(bound.object()).release());
  }
  return translator.fromPython(
      PyObject_Call(reinterpret_cast<PyObject*>(&PyRange_Type), bounds.get(), nullptr));
}

Value enumerate(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"enumerate", {"iterable", "start"}, 1, 2};
  // What enum_vectorcall says of other arguments, it says itself.
  bool isUsual = arguments.positionalCount() >= 1 && arguments.values.size() <= 2 &&
                 (!arguments.keywordCount() || arguments.keyword("start"));
  if (!isUsual) throw GraphBreak(GraphBreakKind::BuiltinWithTracedArguments, "enumerate");
  Value iterable, start = Value::integer(0);
  if (!readArguments(translator, kSignature, arguments, {&iterable, &start})) return Value();
  Value count = toIndex(translator, start);
  if (!count) return count;
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  return translator.make<EnumerateVariable>(std::move(iterator), std::move(count));
}

Value zip(Translator& translator, const Value&, CallArguments& arguments) {
  Value strict = Value::boolean(false);
  if (arguments.keywordCount()) {
    const Value* flag = arguments.keyword("strict");
    if (arguments.keywordCount() > 1) {
      return translator.raise(PyExc_TypeError, "zip() takes at most 1 keyword argument (%zu given)",
                              arguments.keywordCount());
    }
    if (!flag) {
      return translator.raise(PyExc_TypeError, "'%S' is an invalid keyword argument for zip()",
                              arguments.keywordName(0));
    }
    int truth = isTrue(translator, *flag);
    if (truth < 0) return Value();
    strict = Value::boolean(truth);
  }
  ValueVector iterators;
  for (size_t i = 0; i < arguments.positionalCount(); ++i) {
    Value iterator = getIterator(translator, arguments.values[i]);
    if (!iterator) return iterator;
    iterators.push_back(std::move(iterator));
  }
  return translator.make<ZipVariable>(std::move(iterators), std::move(strict));
}

Value map(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "map() takes no keyword arguments");
  }
  if (arguments.values.size() < 2) {
    return translator.raise(PyExc_TypeError, "map() must have at least two arguments.");
  }
  ValueVector iterators;
  for (size_t i = 1; i < arguments.values.size(); ++i) {
    Value iterator = getIterator(translator, arguments.values[i]);
    if (!iterator) return iterator;
    iterators.push_back(std::move(iterator));
  }
  return translator.make<MapVariable>(arguments.values[0], std::move(iterators));
}

Value filter(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "filter", arguments, 2, 2)) return Value();
  Value iterator = getIterator(translator, arguments.values[1]);
  if (!iterator) return iterator;
  return translator.make<FilterVariable>(arguments.values[0], std::move(iterator));
}

// reversed(): __reversed__, or the sequence protocol backwards.
Value reversed(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "reversed() takes no keyword arguments");
  }
  if (arguments.values.size() != 1) {
    return translator.raise(PyExc_TypeError, "reversed expected 1 argument, got %zu",
                            arguments.values.size());
  }
  Value sequence = translator.realized(arguments.values[0]);
  if (PyObject* object = sequence.objectOrNull(); object && PyRange_Check(object)) {
    Ref<> step = checked(PyLong_FromLong(-1));
    Ref<> backwards = checked(PySlice_New(nullptr, nullptr, step.get()));
    Value reversedRange = translator.fromPython(PyObject_GetItem(object, backwards.get()));
    return getIterator(translator, std::move(reversedRange));
  }
  static PyObject* const name = staticName("__reversed__");
  if (Value method = lookupSpecial(translator, sequence, name)) {
    if (translator.realized(method).is(Py_None)) {
      return translator.raise(PyExc_TypeError, "'%.200s' object is not reversible",
                              nameOf(translator, sequence));
    }
    return call(translator, method, llvm::ArrayRef<Value>(), arguments.tail);
  }
  if (translator.exceptionPending()) return Value();
  PyTypeObject* type = typeOf(sequence);
  if (!translator.heap.hasSpecial(type, cpython::SpecialSlot::Item) ||
      PyType_IsSubtype(type, &PyDict_Type)) {
    return translator.raise(PyExc_TypeError, "'%.200s' object is not reversible",
                            nameOf(translator, sequence));
  }
  int64_t size = length(translator, sequence);
  if (size < 0) return Value();
  return translator.make<SequenceIteratorVariable>(&PyReversed_Type, sequence, -1, size - 1);
}

Value makeSliceObject(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "slice() takes no keyword arguments");
  }
  if (!checkArgumentCount(translator, "slice", arguments, 1, 3)) return Value();
  const auto& values = arguments.values;
  Value none = Value::none();
  if (values.size() == 1) return makeSlice(translator, none, values[0], none);
  return makeSlice(translator, values[0], values[1], values.size() == 3 ? values[2] : none);
}

void registerAll() {
  registerFunctionHandler("builtins", "len", len);
  registerFunctionHandler("builtins", "iter", iter);
  registerFunctionHandler("builtins", "next", next);
  registerFunctionHandler("builtins", "range", range);
  registerFunctionHandler("builtins", "enumerate", enumerate);
  registerFunctionHandler("builtins", "zip", zip);
  registerFunctionHandler("builtins", "map", map);
  registerFunctionHandler("builtins", "filter", filter);
  registerFunctionHandler("builtins", "reversed", reversed);
  registerFunctionHandler("builtins", "slice", makeSliceObject);
  registerPureFunction("builtins", "len");
  for (const char* name : {"len", "iter", "next", "reversed"})
    registerProtocolFunction("builtins", name);
  registerPureFunction("builtins", "range");
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
