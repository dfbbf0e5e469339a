// The methods of dict and OrderedDict, and their constructors.
#include "variables/dict_methods.h"

#include "variables/arguments.h"
#include "variables/builtin_handlers.h"
#include "variables/iterators.h"
#include "variables/object_protocol.h"
#include "variables/sequence.h"
#include "variables/slot_wrappers.h"

namespace armature {

namespace {

DictVariable* dictOf(const Value& self) {
  if (auto* dict = trackerOf<DictVariable>(self)) return dict;
  throw GraphBreak("Method of dict on a subclass", describe(self),
                   "Instances of this subclass of dict are not modelled.");
}

bool isOrdered(const Value& self) { return typeOf(self) == &PyODict_Type; }

// Copies: the items as they are now, whatever happens to the dict meanwhile.
void readItems(Translator& translator, DictVariable* dict, ValueVector& keys, ValueVector& values) {
  dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    keys.push_back(entry.key);
    values.push_back(entry.value);
  });
}

// PyDict_MergeFromSeq2: items that are pairs.
bool updateFromPairs(Translator& translator, DictVariable* dict, const Value& iterable) {
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return false;
  for (Py_ssize_t i = 0;; ++i) {
    Value pair = iteratorNext(translator, iterator);
    if (!pair) return !translator.exceptionPending();
    translator.realize(pair);
    ValueVector items;
    if (!iterateInto(translator, pair, items)) {
      PyTypeObject* type = typeOf(translator.exception());
      if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_TypeError))) {
        translator.takeException();
        translator.raise(PyExc_TypeError,
                         "cannot convert dictionary update sequence element #%zd to a sequence", i);
      }
      return false;
    }
    if (items.size() != 2) {
      translator.raise(PyExc_ValueError,
                       "dictionary update sequence element #%zd has length %zd; 2 is required", i,
                       static_cast<Py_ssize_t>(items.size()));
      return false;
    }
    if (!dict->set(translator, items[0], items[1])) return false;
  }
}

// PyDict_Merge for an object that says itself what its keys are.
bool updateFromMapping(Translator& translator, DictVariable* dict, const Value& mapping,
                       const Value& keysMethod) {
  Value keys = call(translator, keysMethod, llvm::ArrayRef<Value>());
  Value iterator = keys ? getIterator(translator, keys) : Value();
  if (!iterator) return false;
  while (Value key = iteratorNext(translator, iterator)) {
    Value value = getItem(translator, mapping, key);
    if (!value || !dict->set(translator, key, std::move(value))) return false;
  }
  return !translator.exceptionPending();
}

bool updateFromKeywords(Translator& translator, DictVariable* dict,
                        const CallArguments& arguments) {
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    Value key = Value::constant(arguments.keywordName(i));
    if (!dict->set(translator, key, arguments.keywordValue(i))) return false;
  }
  return true;
}

bool updateFromArguments(Translator& translator, DictVariable* dict, const char* function,
                         const CallArguments& arguments) {
  if (arguments.positionalCount() > 1) {
    translator.raise(PyExc_TypeError, "%s expected at most 1 argument, got %zu", function,
                     arguments.positionalCount());
    return false;
  }
  if (arguments.positionalCount() == 1 && !updateDict(translator, dict, arguments.values[0])) {
    return false;
  }
  return updateFromKeywords(translator, dict, arguments);
}

Value update(Translator& translator, const Value& self, CallArguments& arguments) {
  bool ok = updateFromArguments(translator, dictOf(self), "update", arguments);
  return ok ? Value::none() : Value();
}

Value get(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.get", arguments, 1, 2)) return Value();
  if (Value value = dictOf(self)->get(translator, arguments.values[0])) return value;
  if (translator.exceptionPending()) return Value();
  return arguments.values.size() > 1 ? arguments.values[1] : Value::none();
}

Value setDefault(Translator& translator, const Value& self, CallArguments& arguments) {
  Value key, fallback = Value::none();
  if (isOrdered(self)) {
    static constexpr Signature kSignature = {"setdefault", {"key", "default"}, 1, 2};
    if (!readArguments(translator, kSignature, arguments, {&key, &fallback})) return Value();
  } else {
    if (!checkArgumentCount(translator, "dict.setdefault", arguments, 1, 2)) return Value();
    key = arguments.values[0];
    if (arguments.values.size() > 1) fallback = arguments.values[1];
  }
  DictVariable* dict = dictOf(self);
  if (Value value = dict->get(translator, key)) return value;
  if (translator.exceptionPending()) return Value();
  return dict->set(translator, key, fallback) ? fallback : Value();
}

Value pop(Translator& translator, const Value& self, CallArguments& arguments) {
  Value key, fallback;
  if (isOrdered(self)) {
    static constexpr Signature kSignature = {"pop", {"key", "default"}, 1, 2};
    if (!readArguments(translator, kSignature, arguments, {&key, &fallback})) return Value();
  } else {
    if (!checkArgumentCount(translator, "dict.pop", arguments, 1, 2)) return Value();
    key = arguments.values[0];
    if (arguments.values.size() > 1) fallback = arguments.values[1];
  }
  if (Value value = dictOf(self)->remove(translator, key)) return value;
  if (translator.exceptionPending()) return Value();
  return fallback ? fallback : translator.raiseWithArguments(PyExc_KeyError, {key});
}

Value popItem(Translator& translator, const Value& self, CallArguments& arguments) {
  Value last = Value::boolean(true);
  if (isOrdered(self)) {
    static constexpr Signature kSignature = {"popitem", {"last"}, 0, 1};
    if (!readArguments(translator, kSignature, arguments, {&last})) return Value();
  } else if (!checkArgumentCount(translator, "dict.popitem", arguments, 0, 0)) {
    return Value();
  }
  int fromEnd = isTrue(translator, last);
  if (fromEnd < 0) return Value();
  DictVariable* dict = dictOf(self);
  if (dict->size(translator) == 0) {
    return translator.raise(
        PyExc_KeyError, isOrdered(self) ? "dictionary is empty" : "popitem(): dictionary is empty");
  }
  int32_t position = fromEnd ? dict->entries().entryCount() : 0;
  const OrderedValueMap::Entry* entry =
      fromEnd ? dict->previous(translator, position) : dict->next(translator, position);
  Value key = entry->key;
  Value value = dict->remove(translator, key);
  return makeTuple(translator, {key, value});
}

Value clear(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.clear", arguments, 0, 0)) return Value();
  dictOf(self)->clear(translator);
  return Value::none();
}

Value copy(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.copy", arguments, 0, 0)) return Value();
  return copyDict(translator, dictOf(self));
}

template <DictViewKind view>
Value makeView(Translator& translator, const Value& self, CallArguments& arguments) {
  constexpr const char* kNames[] = {"dict.keys", "dict.values", "dict.items"};
  if (!checkArgumentCount(translator, kNames[static_cast<int>(view)], arguments, 0, 0)) {
    return Value();
  }
  return translator.make<DictViewVariable>(dictOf(self), view);
}

Value reversed(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.__reversed__", arguments, 0, 0)) return Value();
  return makeDictIterator(translator, dictOf(self), DictViewKind::Keys, /*reversed=*/true);
}

// dict.fromkeys(iterable, value=None); `arguments` begin with the class where the method is
// reached through the class's own dict.
Value fromKeys(Translator& translator, PyTypeObject* type, const CallArguments& arguments) {
  Value iterable, value = Value::none();
  if (type == &PyODict_Type) {
    static constexpr Signature kSignature = {"fromkeys", {"iterable", "value"}, 1, 2};
    if (!readArguments(translator, kSignature, arguments, {&iterable, &value})) return Value();
  } else {
    if (!checkArgumentCount(translator, "dict.fromkeys", arguments, 1, 2)) return Value();
    iterable = arguments.values[0];
    if (arguments.values.size() > 1) value = arguments.values[1];
  }
  auto* dict = translator.make<DictVariable>(type);
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  while (Value key = iteratorNext(translator, iterator)) {
    if (!dict->set(translator, key, value)) return Value();
  }
  return translator.exceptionPending() ? Value() : Value(dict);
}

template <PyTypeObject& type>
Value fromKeysOfType(Translator& translator, const Value&, CallArguments& arguments) {
  return fromKeys(translator, &type, arguments);
}

template <PyTypeObject& type>
Value fromKeysOfDescriptor(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.values.empty() || !arguments.values[0].is(reinterpret_cast<PyObject*>(&type))) {
    throw GraphBreak("fromkeys of a dict subclass", "",
                     "dict.fromkeys is modelled for dict and OrderedDict.");
  }
  CallArguments rest = arguments;
  rest.values.erase(rest.values.begin());
  return fromKeys(translator, &type, rest);
}

// dict(…) and OrderedDict(…).
template <PyTypeObject& type>
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  auto* dict = translator.make<DictVariable>(&type);
  const char* name = &type == &PyDict_Type ? "dict" : "OrderedDict";
  return updateFromArguments(translator, dict, name, arguments) ? Value(dict) : Value();
}

Value moveToEnd(Translator& translator, const Value& self, CallArguments& arguments) {
  static constexpr Signature kSignature = {"move_to_end", {"key", "last"}, 1, 2};
  Value key, last = Value::boolean(true);
  if (!readArguments(translator, kSignature, arguments, {&key, &last})) return Value();
  int toEnd = isTrue(translator, last);
  if (toEnd < 0) return Value();
  DictVariable* dict = dictOf(self);
  bool present = dict->has(translator, key);
  if (translator.exceptionPending()) return Value();
  if (!present) return translator.raiseWithArguments(PyExc_KeyError, {key});
  dict->size(translator);
  if (toEnd) {
    dict->moveToEnd(translator, key);
    return Value::none();
  }
  // To the front: all others go behind it, in their order.
  ValueVector keys, values;
  readItems(translator, dict, keys, values);
  Py_hash_t moved;
  Value realized;
  if (!realizeKey(translator, key, realized, moved)) return Value();
  for (const Value& other : keys) {
    if (!equalKeys(other, realized)) dict->moveToEnd(translator, other);
  }
  return Value::none();
}

void registerDicts() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&PyDict_Type), construct<PyDict_Type>);
  registerObjectHandler(reinterpret_cast<PyObject*>(&PyODict_Type), construct<PyODict_Type>);
  registerMethodHandler(&PyDict_Type, "get", get);
  registerMethodHandler(&PyDict_Type, "fromkeys", fromKeysOfType<PyDict_Type>);
  registerObjectHandler(PyDict_GetItemString(PyDict_Type.tp_dict, "fromkeys"),
                        fromKeysOfDescriptor<PyDict_Type>);
  registerMethodHandler(&PyODict_Type, "fromkeys", fromKeysOfType<PyODict_Type>);
  registerObjectHandler(PyDict_GetItemString(PyODict_Type.tp_dict, "fromkeys"),
                        fromKeysOfDescriptor<PyODict_Type>);
  registerMethodHandler(&PyODict_Type, "move_to_end", moveToEnd);
  for (PyTypeObject* type : {&PyDict_Type, &PyODict_Type}) {
    registerMethodHandler(type, "setdefault", setDefault);
    registerMethodHandler(type, "pop", pop);
    registerMethodHandler(type, "popitem", popItem);
    registerMethodHandler(type, "update", update);
    registerMethodHandler(type, "clear", clear);
    registerMethodHandler(type, "copy", copy);
    registerMethodHandler(type, "keys", makeView<DictViewKind::Keys>);
    registerMethodHandler(type, "values", makeView<DictViewKind::Values>);
    registerMethodHandler(type, "items", makeView<DictViewKind::Items>);
    registerSlotWrappers(type);
    registerMethodHandler(type, "__reversed__", reversed);
  }
}

}  // namespace

bool updateDict(Translator& translator, DictVariable* dict, Value other) {
  translator.realize(other);
  auto* from = trackerOf<DictVariable>(other);
  if (from && (from->type() == &PyDict_Type || from->type()->tp_iter == PyDict_Type.tp_iter)) {
    if (from == dict) return true;
    ValueVector keys, values;
    readItems(translator, from, keys, values);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!dict->set(translator, keys[i], values[i])) return false;
    }
    return true;
  }
  static PyObject* const keys = PyUnicode_InternFromString("keys");
  Value method = getOptionalAttribute(translator, other, keys);
  if (method) return updateFromMapping(translator, dict, other, method);
  return !translator.exceptionPending() && updateFromPairs(translator, dict, other);
}

DictVariable* copyDict(Translator& translator, DictVariable* dict) {
  if (dict->type() != &PyDict_Type && dict->type() != &PyODict_Type) {
    throw GraphBreak("Copy of a dict subclass", describe(dict),
                     "Copies of this subclass of dict are not modelled.");
  }
  auto* result = translator.make<DictVariable>(dict->type());
  dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    result->set(translator, entry.key, entry.value);
  });
  return result;
}

ARMATURE_REGISTER_HANDLERS(registerDicts);

}  // namespace armature
