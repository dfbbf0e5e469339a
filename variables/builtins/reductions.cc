// min, max, sum, any, all, sorted, functools.reduce.
#include "core/checked.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/containers/sequence_slots.h"
#include "variables/containers/sorting.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/loops.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// min and max: the first of the items that no other one beats.
Value extreme(Translator& translator, const char* name, int op, CallArguments& arguments) {
  Value key = Value::none(), fallback;
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    PyObject* keyword = arguments.keywordName(i);
    if (PyUnicode_CompareWithASCIIString(keyword, "key") == 0) {
      key = translator.realized(arguments.keywordValue(i));
    } else if (PyUnicode_CompareWithASCIIString(keyword, "default") == 0) {
      fallback = arguments.keywordValue(i);
    } else {
      return translator.raise(PyExc_TypeError, "'%S' is an invalid keyword argument for %s()",
                              keyword, name);
    }
  }
  size_t count = arguments.positionalCount();
  if (count == 0) {
    return translator.raise(PyExc_TypeError, "%s expected at least 1 argument, got 0", name);
  }
  if (count > 1 && fallback) {
    return translator.raise(PyExc_TypeError,
                            "Cannot specify a default for %s() with multiple positional arguments",
                            name);
  }
  Value iterable = count == 1 ? arguments.values[0]
                              : makeTuple(translator, ValueVector(arguments.positional().begin(),
                                                                  arguments.positional().end()));
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  ValueVector defaults;
  if (fallback) defaults.push_back(std::move(fallback));
  Value instead = makeTuple(translator, std::move(defaults));
  return extremeByKeys(translator, iterator, key, op, instead, arguments.tail);
}

Value min(Translator& translator, const Value&, CallArguments& arguments) {
  return extreme(translator, "min", Py_LT, arguments);
}

Value max(Translator& translator, const Value&, CallArguments& arguments) {
  return extreme(translator, "max", Py_GT, arguments);
}

// Another object of an int or float's value: what sum() adds up in C, it makes a new number of.
Value anew(Translator& translator, const Value& number) {
  if (auto* symbolic = trackerOf<SymNodeVariable>(number)) {
    const SymNode* negated = translator.symNodes.negate(symbolic->node);
    return translator.make<SymNodeVariable>(translator.symNodes.negate(negated));
  }
  PyObject* object = number.objectOrNull();
  if (!object) return number;
  if (PyFloat_CheckExact(object)) {
    return translator.fromPython(PyFloat_FromDouble(PyFloat_AS_DOUBLE(object)));
  }
  if (!PyLong_CheckExact(object)) return number;
  int overflow = 0;
  long value = PyLong_AsLongAndOverflow(object, &overflow);
  return overflow ? number : translator.fromPython(PyLong_FromLong(value));
}

Value sum(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"sum", {"", "start"}, 1, 2};
  Value iterable, start = Value::integer(0);
  if (!readArguments(translator, kSignature, arguments, {&iterable, &start})) return Value();
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  realizeType(translator, start);
  const char* replacement = nullptr;
  if (PyType_IsSubtype(typeOf(start), &PyUnicode_Type)) replacement = "strings [use ''";
  if (PyType_IsSubtype(typeOf(start), &PyBytes_Type)) replacement = "bytes [use b''";
  if (PyType_IsSubtype(typeOf(start), &PyByteArray_Type)) replacement = "bytearray [use b''";
  if (replacement) {
    return translator.raise(PyExc_TypeError, "sum() can't sum %s.join(seq) instead]", replacement);
  }
  return walkItems(translator, iterator, ItemStep::Sum, anew(translator, start),
                   translator.make<ListVariable>(ValueVector()), arguments.tail);
}

Value quantify(Translator& translator, const char* name, ItemStep step, CallArguments& arguments) {
  if (!checkArgumentCount(translator, name, arguments, 1, 1)) return Value();
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  return walkItems(translator, iterator, step, Value::none(), Value::none(), arguments.tail);
}

Value any(Translator& translator, const Value&, CallArguments& arguments) {
  return quantify(translator, "any", ItemStep::Any, arguments);
}

Value all(Translator& translator, const Value&, CallArguments& arguments) {
  return quantify(translator, "all", ItemStep::All, arguments);
}

Value reduce(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "reduce", arguments, 2, 3)) return Value();
  constexpr const char* kMessage = "reduce() arg 2 must support iteration";
  Value iterator = iteratorOver(translator, arguments.values[1], kMessage);
  if (!iterator) return iterator;
  ValueVector start;
  if (arguments.values.size() > 2) start.push_back(arguments.values[2]);
  return reduceItems(translator, iterator, arguments.values[0],
                     makeTuple(translator, std::move(start)), arguments.tail);
}

Value sorted(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.positionalCount() != 1) {
    return translator.raise(PyExc_TypeError, "sorted expected 1 argument, got %zu",
                            arguments.positionalCount());
  }
  if (arguments.tail && stepsInPython(translator.realized(arguments.values[0]))) {
    static PyObject* const self = PyDict_GetItemString(PyEval_GetBuiltins(), "sorted");
    Value names = arguments.keywordNames ? Value::constant(arguments.keywordNames) : Value::none();
    ValueVector call = {Value::constant(self), std::move(names)};
    call.append(arguments.values.begin() + 1, arguments.values.end());
    return gatherFor(translator, std::move(call), arguments.values[0], arguments.tail);
  }
  ValueVector items;
  if (!collectInto(translator, arguments.values[0], items)) return Value();
  static constexpr Signature kSignature = {"sort", {"key", "reverse"}, 0, 0};
  Value key = Value::none(), reverse = Value::boolean(false);
  CallArguments options = arguments;
  options.values.erase(options.values.begin());
  if (!readArguments(translator, kSignature, options, {&key, &reverse})) return Value();
  bool descending;
  if (!readTruthAsInteger(translator, reverse, descending)) return Value();
  return sortByKeys(translator, std::move(items), key, descending, Value::none(), arguments.tail);
}

void registerAll() {
  registerFunctionHandler("builtins", "min", min);
  registerFunctionHandler("builtins", "max", max);
  registerFunctionHandler("builtins", "sum", sum);
  registerFunctionHandler("builtins", "any", any);
  registerFunctionHandler("builtins", "all", all);
  registerFunctionHandler("builtins", "sorted", sorted);
  registerFunctionHandler("_functools", "reduce", reduce);
  registerProtocolFunction("_functools", "reduce");
  for (const char* name : {"min", "max", "sum", "any", "all", "sorted"}) {
    registerPureFunction("builtins", name);
    registerProtocolFunction("builtins", name);
  }
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
