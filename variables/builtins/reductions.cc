// min, max, sum, any, all, sorted.
#include "core/checked.h"
#include "variables/constants/constant.h"
#include "variables/containers/sequence.h"
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

// Numbers alone are added by CPython itself, which has its own way with floats.
bool allNumbers(llvm::ArrayRef<Value> items) {
  return llvm::all_of(items, [](const Value& item) {
    PyObject* object = item.objectOrNull();
    return object && (PyLong_CheckExact(object) || PyFloat_CheckExact(object));
  });
}

Value sumNumbers(Translator& translator, llvm::ArrayRef<Value> items, const Value& start) {
  static PyObject* const sum = PyDict_GetItemString(PyEval_GetBuiltins(), "sum");
  Ref<> list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyList_SET_ITEM(list.get(), i, Ref<>::create(items[i].object()).release());
  }
  return translator.fromPython(
      PyObject_CallFunctionObjArgs(sum, list.get(), start.object(), nullptr));
}

Value sum(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"sum", {"", "start"}, 1, 2};
  Value iterable, start = Value::integer(0);
  if (!readArguments(translator, kSignature, arguments, {&iterable, &start})) return Value();
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  translator.realize(start);
  const char* replacement = nullptr;
  if (PyType_IsSubtype(typeOf(start), &PyUnicode_Type)) replacement = "strings [use ''";
  if (PyType_IsSubtype(typeOf(start), &PyBytes_Type)) replacement = "bytes [use b''";
  if (PyType_IsSubtype(typeOf(start), &PyByteArray_Type)) replacement = "bytearray [use b''";
  if (replacement) {
    return translator.raise(PyExc_TypeError, "sum() can't sum %s.join(seq) instead]", replacement);
  }
  Value total = start;
  ValueVector numbers;
  // Numbers wait until something else comes, and are then added at once.
  auto addNumbers = [&] {
    if (numbers.empty()) return true;
    total = sumNumbers(translator, numbers, total);
    numbers.clear();
    return static_cast<bool>(total);
  };
  while (Value item = iteratorNext(translator, iterator)) {
    translator.realize(item);
    if (total.isConstant() && allNumbers({total, item})) {
      numbers.push_back(std::move(item));
      continue;
    }
    if (!addNumbers()) return Value();
    total = binaryOperation(translator, nb_add, std::move(total), std::move(item));
    if (!total) return total;
    translator.realize(total);
  }
  if (translator.exceptionPending() || !addNumbers()) return Value();
  return total;
}

// any and all: stop at the first item whose truth is `decisive`.
Value quantify(Translator& translator, const char* name, bool decisive, CallArguments& arguments) {
  if (!checkArgumentCount(translator, name, arguments, 1, 1)) return Value();
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  while (Value item = iteratorNext(translator, iterator)) {
    int truth = isTrue(translator, std::move(item));
    if (truth < 0) return Value();
    if (static_cast<bool>(truth) == decisive) return Value::boolean(decisive);
  }
  return translator.exceptionPending() ? Value() : Value::boolean(!decisive);
}

Value any(Translator& translator, const Value&, CallArguments& arguments) {
  return quantify(translator, "any", true, arguments);
}

Value all(Translator& translator, const Value&, CallArguments& arguments) {
  return quantify(translator, "all", false, arguments);
}

Value sorted(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.positionalCount() != 1) {
    return translator.raise(PyExc_TypeError, "sorted expected 1 argument, got %zu",
                            arguments.positionalCount());
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
  if (!translator.realized(key).is(Py_None)) {
    return sortByKeys(translator, std::move(items), key, descending, Value::none(), arguments.tail);
  }
  if (!sortValues(translator, items, items, descending)) return Value();
  return translator.make<ListVariable>(std::move(items));
}

void registerAll() {
  registerFunctionHandler("builtins", "min", min);
  registerFunctionHandler("builtins", "max", max);
  registerFunctionHandler("builtins", "sum", sum);
  registerFunctionHandler("builtins", "any", any);
  registerFunctionHandler("builtins", "all", all);
  registerFunctionHandler("builtins", "sorted", sorted);
  for (const char* name : {"min", "max", "sum", "any", "all", "sorted"}) {
    registerPureFunction("builtins", name);
  }
  for (const char* name : {"min", "max", "sorted"}) registerProtocolFunction("builtins", name);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
