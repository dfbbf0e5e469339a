// collections.OrderedDict: what it does otherwise than dict.
#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict_methods.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// Items that are pairs, unpacked as `key, value = pair` would.
bool addPairs(Translator& translator, DictVariable* dict, const Value& pairs) {
  Value iterator = getIterator(translator, pairs);
  if (!iterator) return false;
  while (Value pair = iteratorNext(translator, iterator)) {
    Value items = getIterator(translator, pair);
    if (!items) return false;
    Value key = iteratorNext(translator, items);
    Value value = key ? iteratorNext(translator, items) : Value();
    if (!value) {
      if (!translator.exceptionPending()) {
        translator.raise(PyExc_ValueError, "need more than %s to unpack",
                         key ? "1 value" : "0 values");
      }
      return false;
    }
    if (iteratorNext(translator, items)) {
      translator.raise(PyExc_ValueError, "too many values to unpack (expected 2)");
    }
    if (translator.exceptionPending() || !storeItem(translator, dict, key, std::move(value))) {
      return false;
    }
  }
  return !translator.exceptionPending();
}

// PyErr_SetObject, which takes None for no argument and a tuple for all of them.
Value raiseKeyError(Translator& translator, Value key) {
  translator.realize(key);
  std::vector<Value> arguments;
  if (PyType_IsSubtype(typeOf(key), &PyTuple_Type)) {
    ValueVector items;
    iterateInto(translator, key, items);
    arguments.assign(items.begin(), items.end());
  } else if (!key.is(Py_None)) {
    arguments.push_back(std::move(key));
  }
  return translator.raiseWithArguments(PyExc_KeyError, std::move(arguments));
}

bool updateByArguments(Translator& translator, DictVariable* dict, const CallArguments& arguments) {
  if (arguments.positionalCount() > 1) {
    translator.raise(PyExc_TypeError, "update() takes at most 1 positional argument (%zu given)",
                     arguments.positionalCount());
    return false;
  }
  if (arguments.positionalCount() == 1 &&
      !updateOrderedDict(translator, dict, arguments.values[0])) {
    return false;
  }
  return updateFromKeywords(translator, dict, arguments);
}

Value update(Translator& translator, const Value& self, CallArguments& arguments) {
  return updateByArguments(translator, dictOf(self), arguments) ? Value::none() : Value();
}

Value setDefault(Translator& translator, const Value& self, CallArguments& arguments) {
  static constexpr Signature kSignature = {"setdefault", {"key", "default"}, 1, 2};
  Value key, fallback = Value::none();
  if (!readArguments(translator, kSignature, arguments, {&key, &fallback})) return Value();
  DictVariable* dict = dictOf(self);
  if (dict->instance) {
    int present = contains(translator, dict->instance, key);
    if (present < 0) return Value();
    if (present) return getItem(translator, dict->instance, key);
  } else if (Value value = dict->get(translator, key)) {
    return value;
  }
  if (translator.exceptionPending()) return Value();
  return storeItem(translator, dict, key, fallback) ? fallback : Value();
}

Value pop(Translator& translator, const Value& self, CallArguments& arguments) {
  static constexpr Signature kSignature = {"pop", {"key", "default"}, 1, 2};
  Value key, fallback;
  if (!readArguments(translator, kSignature, arguments, {&key, &fallback})) return Value();
  if (Value value = dictOf(self)->remove(translator, key)) return value;
  if (translator.exceptionPending()) return Value();
  return fallback ? fallback : raiseKeyError(translator, key);
}

Value popItem(Translator& translator, const Value& self, CallArguments& arguments) {
  static constexpr Signature kSignature = {"popitem", {"last"}, 0, 1};
  Value last = Value::boolean(true);
  if (!readArguments(translator, kSignature, arguments, {&last})) return Value();
  int fromEnd = isTrue(translator, last);
  if (fromEnd < 0) return Value();
  DictVariable* dict = dictOf(self);
  dict->checkOrder();
  if (dict->size(translator) == 0) {
    return translator.raise(PyExc_KeyError, "dictionary is empty");
  }
  return popDictItem(translator, dict, fromEnd);
}

Value moveToEnd(Translator& translator, const Value& self, CallArguments& arguments) {
  static constexpr Signature kSignature = {"move_to_end", {"key", "last"}, 1, 2};
  Value key, last = Value::boolean(true);
  if (!readArguments(translator, kSignature, arguments, {&key, &last})) return Value();
  int toEnd = isTrue(translator, last);
  if (toEnd < 0) return Value();
  DictVariable* dict = dictOf(self);
  dict->checkOrder();
  // An empty dict does not ask for the hash of the key.
  Value moved = dict->size(translator) > 0 ? dict->storedKey(translator, key) : Value();
  if (translator.exceptionPending()) return Value();
  if (!moved) return raiseKeyError(translator, key);
  // What is there already is not moved, and no iterator notices.
  int32_t position = toEnd ? dict->entries().entryCount() : 0;
  const OrderedValueMap::Entry* outermost =
      toEnd ? dict->previous(translator, position) : dict->next(translator, position);
  if (equalKeys(outermost->key, moved)) return Value::none();
  if (toEnd) {
    dict->moveToEnd(translator, moved);
    return Value::none();
  }
  // All others go behind it, in their order.
  ValueVector keys, values;
  copyItems(translator, dict, keys, values);
  for (const Value& each : keys) {
    if (!equalKeys(each, moved)) dict->moveToEnd(translator, each);
  }
  return Value::none();
}

Value fromKeys(Translator& translator, const Value& self, CallArguments& arguments) {
  static constexpr Signature kSignature = {"fromkeys", {"iterable", "value"}, 1, 2};
  Value iterable, value = Value::none();
  if (!readArguments(translator, kSignature, arguments, {&iterable, &value})) return Value();
  if (self) return instanceFromKeys(translator, self, iterable, value);
  return dictFromKeys(translator, &PyODict_Type, iterable, value);
}

Value fromKeysOfClass(Translator& translator, const Value& self, CallArguments& arguments) {
  return fromKeysThrough(translator, self, arguments, &PyODict_Type, fromKeys);
}

// OrderedDict.__init__: reached through super(), or as the __init__ that a subclass inherits.
Value init(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.positionalCount() > 1) {
    return translator.raise(PyExc_TypeError, "expected at most 1 arguments, got %zu",
                            arguments.positionalCount());
  }
  return updateByArguments(translator, dictOf(self), arguments) ? Value::none() : Value();
}

// OrderedDict(…)
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  auto* dict = translator.make<DictVariable>(&PyODict_Type);
  return init(translator, dict, arguments) ? Value(dict) : Value();
}

void registerOrderedDicts() {
  PyTypeObject* type = &PyODict_Type;
  registerObjectHandler(reinterpret_cast<PyObject*>(type), construct);
  registerMethodHandler(type, "__init__", init);
  registerMethodHandler(type, "update", update);
  registerMethodHandler(type, "setdefault", setDefault);
  registerMethodHandler(type, "pop", pop);
  registerMethodHandler(type, "popitem", popItem);
  registerMethodHandler(type, "move_to_end", moveToEnd);
  registerMethodHandler(type, "fromkeys", fromKeys);
  registerObjectHandler(cpython::ownAttribute(type, "fromkeys"), fromKeysOfClass);
}

}  // namespace

bool updateOrderedDict(Translator& translator, DictVariable* dict, Value other) {
  translator.realize(other);
  if (trackerOf<DictVariable>(other)) return updateDict(translator, dict, std::move(other));
  static PyObject* const keys = staticName("keys");
  static PyObject* const items = staticName("items");
  if (Value method = optionalMethod(translator, other, keys)) {
    return updateFromMapping(translator, dict, other, method);
  }
  if (translator.exceptionPending()) return false;
  if (Value method = optionalMethod(translator, other, items)) {
    Value pairs = call(translator, method, llvm::ArrayRef<Value>());
    return pairs && addPairs(translator, dict, pairs);
  }
  return !translator.exceptionPending() && addPairs(translator, dict, other);
}

ARMATURE_REGISTER_HANDLERS(registerOrderedDicts);

}  // namespace armature
