// The methods of dict, and its constructor.
#include "variables/containers/dict_methods.h"

#include "core/checked.h"
#include "cpython/instance_attributes.h"
#include "cpython/type_lookup.h"
#include "variables/containers/composed_iterators.h"
#include "variables/containers/iterators.h"
#include "variables/containers/sequence.h"
#include "variables/continuation.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/loops.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"

namespace armature {

namespace {

// dict_merge's fast case: the items of a dict whose class leaves iteration to dict, whatever else
// it overrides. Null for anything else: its keys() says what is in it.
DictVariable* iteratedAsDict(Translator& translator, const Value& mapping) {
  auto* dict = partOf<DictVariable>(mapping);
  static PyObject* const name = staticName("__iter__");
  PyTypeObject* type = typeOf(wholeOf(mapping));
  bool isOwn =
      dict && (type == &PyODict_Type || translator.heap.inherits(type, &PyDict_Type, name));
  return isOwn ? dict : nullptr;
}

// PyDict_MergeFromSeq2: items that are pairs.
bool updateFromPairs(Translator& translator, DictVariable* dict, const Value& iterable) {
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return false;
  for (Py_ssize_t i = 0;; ++i) {
    Value pair = iteratorNext(translator, iterator);
    if (!pair) return !translator.exceptionPending();
    if (!addPair(translator, dict, std::move(pair), i)) return false;
  }
}

// dict_merge's other case: unlike OrderedDict.update, it has the whole list of the keys before it
// asks for the first item. `once`: breaks where a key comes twice.
bool mergeMapping(Translator& translator, DictVariable* dict, const Value& mapping,
                  const Value& keysMethod, bool once = false) {
  Value keys = translator.realized(call(translator, keysMethod, llvm::ArrayRef<Value>()));
  Value iterator = keys ? getIterator(translator, keys) : Value();
  if (!iterator) {
    auto* typeError = reinterpret_cast<PyTypeObject*>(PyExc_TypeError);
    if (keys && translator.heap.isSubtype(typeOf(translator.exception()), typeError)) {
      translator.dropException();
      translator.raise(PyExc_TypeError, "%.200s.keys() returned a non-iterable (type %.200s)",
                       nameOf(translator, wholeOf(mapping)), nameOf(translator, keys));
    }
    return false;
  }
  ValueVector items;
  if (!collectInto(translator, std::move(iterator), items)) return false;
  for (const Value& key : items) {
    if (once && dict->has(translator, translator.realized(key))) {
      throw GraphBreak(GraphBreakKind::KeywordGivenTwice, describe(key));
    }
    if (translator.exceptionPending()) return false;
    Value value = getItem(translator, mapping, key);
    if (!value || !storeItem(translator, dict, key, std::move(value))) return false;
  }
  return true;
}

// Does update() go over pairs that a Python function gives, which can be put off?
bool takesPairs(Translator& translator, const DictVariable* dict, CallArguments& arguments) {
  bool isPlain = dict->type() == &PyDict_Type && !dict->instance;
  bool takesOne = arguments.positionalCount() == 1 && arguments.keywordCount() == 0;
  if (!arguments.tail || !isPlain || !takesOne) return false;
  // None of these has keys().
  const Value other = translator.realized(arguments.values[0]);
  return trackerOf<GeneratorVariable>(other) || (isComposed(other) && stepsInPython(other));
}

Value updateByPairs(Translator& translator, DictVariable* dict, const Value& iterable) {
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  return walkItems(translator, iterator, ItemStep::Pairs, dict, Value::integer(0), true);
}

Value update(Translator& translator, const Value& self, CallArguments& arguments) {
  if (DictVariable* dict = dictOf(self); takesPairs(translator, dict, arguments)) {
    Value done = updateByPairs(translator, dict, arguments.values[0]);
    return then(translator, std::move(done), {OnReturn::Give, {Value::none()}}, true);
  }
  bool ok = updateFromArguments(translator, dictOf(self), "update", arguments);
  return ok ? Value::none() : Value();
}

// dict.__init__: reached through super(), or as the __init__ that a subclass inherits.
Value init(Translator& translator, const Value& self, CallArguments& arguments) {
  bool ok = updateFromArguments(translator, dictOf(self), "dict", arguments);
  return ok ? Value::none() : Value();
}

Value get(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.get", arguments, 1, 2)) return Value();
  if (Value value = dictOf(self)->get(translator, arguments.values[0])) return value;
  if (translator.exceptionPending()) return Value();
  return arguments.values.size() > 1 ? arguments.values[1] : Value::none();
}

Value setDefault(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.setdefault", arguments, 1, 2)) return Value();
  const Value& key = arguments.values[0];
  DictVariable* dict = dictOf(self);
  if (Value value = dict->get(translator, key)) return value;
  if (translator.exceptionPending()) return Value();
  Value fallback = arguments.values.size() > 1 ? arguments.values[1] : Value::none();
  return dict->set(translator, key, fallback) ? fallback : Value();
}

Value pop(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.pop", arguments, 1, 2)) return Value();
  const Value& key = arguments.values[0];
  DictVariable* dict = dictOf(self);
  if (Value value = dict->remove(translator, key)) return value;
  if (translator.exceptionPending()) {
    // An empty dict does not ask for the hash of the key.
    if (dict->size(translator) > 0) return Value();
    translator.dropException();
  }
  return arguments.values.size() > 1 ? arguments.values[1]
                                     : translator.raiseWithArguments(PyExc_KeyError, {key});
}

Value popItem(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.popitem", arguments, 0, 0)) return Value();
  DictVariable* dict = dictOf(self);
  dict->checkOrder();
  if (dict->size(translator) == 0) {
    return translator.raise(PyExc_KeyError, "popitem(): dictionary is empty");
  }
  return popDictItem(translator, dict, /*last=*/true);
}

Value clear(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.clear", arguments, 0, 0)) return Value();
  dictOf(self)->clear(translator);
  return Value::none();
}

Value copy(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.copy", arguments, 0, 0)) return Value();
  DictVariable* copied = copyDict(translator, dictOf(self));
  return copied ? Value(copied) : Value();
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

Value fromKeys(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict.fromkeys", arguments, 1, 2)) return Value();
  Value value = arguments.values.size() > 1 ? arguments.values[1] : Value::none();
  if (self) return instanceFromKeys(translator, self, arguments.values[0], value);
  return dictFromKeys(translator, &PyDict_Type, arguments.values[0], value);
}

Value fromKeysOfClass(Translator& translator, const Value& self, CallArguments& arguments) {
  return fromKeysThrough(translator, self, arguments, &PyDict_Type, fromKeys);
}

// dict(…)
Value construct(Translator& translator, const Value&, CallArguments& arguments) {
  auto* dict = translator.make<DictVariable>();
  if (takesPairs(translator, dict, arguments)) {
    return updateByPairs(translator, dict, arguments.values[0]);
  }
  return updateFromArguments(translator, dict, "dict", arguments) ? Value(dict) : Value();
}

void registerDicts() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&PyDict_Type), construct);
  registerMethodHandler(&PyDict_Type, "__init__", init);
  registerMethodHandler(&PyDict_Type, "get", get);
  registerMethodHandler(&PyDict_Type, "setdefault", setDefault);
  registerMethodHandler(&PyDict_Type, "pop", pop);
  registerMethodHandler(&PyDict_Type, "popitem", popItem);
  registerMethodHandler(&PyDict_Type, "update", update);
  registerProtocolFunction("builtins", "dict");
  registerProtocolMethod(&PyDict_Type, "update");
  registerMethodHandler(&PyDict_Type, "fromkeys", fromKeys);
  registerObjectHandler(cpython::ownAttribute(&PyDict_Type, "fromkeys"), fromKeysOfClass);
  for (PyTypeObject* type : {&PyDict_Type, &PyODict_Type}) {
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

void requireHeardOf(Translator& translator, DictVariable* dict, const Value& key,
                    const Value& value) {
  if (!dict->isOrdered() || (value && dict->has(translator, key))) return;
  throw GraphBreak(GraphBreakKind::UnsupportedInstanceDict, describe(Value(dict)),
                   "An OrderedDict does not hear of the names that come and go.");
}

bool storeItem(Translator& translator, DictVariable* dict, const Value& key, Value value) {
  if (!dict->instance || !dict->isOrdered()) return dict->set(translator, key, std::move(value));
  return setItem(translator, dict->instance, key, std::move(value));
}

bool updateFromMapping(Translator& translator, DictVariable* dict, const Value& mapping,
                       const Value& keysMethod) {
  Value keys = call(translator, keysMethod, llvm::ArrayRef<Value>());
  Value iterator = keys ? getIterator(translator, keys) : Value();
  if (!iterator) return false;
  while (Value key = iteratorNext(translator, iterator)) {
    Value value = getItem(translator, mapping, key);
    if (!value || !storeItem(translator, dict, key, std::move(value))) return false;
  }
  return !translator.exceptionPending();
}

DictVariable* dictOf(const Value& self) {
  if (auto* dict = trackerOf<DictVariable>(self)) return dict;
  throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, describe(self));
}

Value optionalMethod(Translator& translator, const Value& object, PyObject* name) {
  // What a builtin type does not have, its instances do not have.
  PyTypeObject* type = typeOf(object);
  if (!cpython::isHeapType(type) && !cpython::hasInstanceDict(type) &&
      !translator.heap.lookup(type, name)) {
    return Value();
  }
  return getOptionalAttribute(translator, object, name);
}

void copyItems(Translator& translator, DictVariable* dict, ValueVector& keys, ValueVector& values) {
  dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
    keys.push_back(entry.key);
    values.push_back(entry.value);
  });
}

DictVariable* unpackedMapping(Translator& translator, const Value& mapping, bool once) {
  if (DictVariable* dict = iteratedAsDict(translator, mapping)) return dict;
  static PyObject* const name = staticName("keys");
  Value keys = optionalMethod(translator, mapping, name);
  if (!keys) return nullptr;
  auto* items = translator.make<DictVariable>();
  return mergeMapping(translator, items, mapping, keys, once) ? items : nullptr;
}

bool addPair(Translator& translator, DictVariable* dict, Value pair, Py_ssize_t before) {
  translator.realize(pair);
  ValueVector items;
  // PySequence_Fast: of what is no list or tuple, it asks the iterator for one, too.
  bool isSequence = typeOf(pair) == &PyTuple_Type || typeOf(pair) == &PyList_Type;
  if (!isSequence) pair = getIterator(translator, pair);
  bool isRead = pair && (isSequence ? iterateInto(translator, pair, items)
                                    : collectInto(translator, pair, items));
  if (!isRead) {
    PyTypeObject* type = typeOf(translator.realized(translator.exception()));
    if (translator.heap.isSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_TypeError))) {
      translator.dropException();
      translator.raise(PyExc_TypeError,
                       "cannot convert dictionary update sequence element #%zd to a sequence",
                       before);
    }
    return false;
  }
  if (items.size() != 2) {
    translator.raise(PyExc_ValueError,
                     "dictionary update sequence element #%zd has length %zd; 2 is required",
                     before, static_cast<Py_ssize_t>(items.size()));
    return false;
  }
  return dict->set(translator, items[0], items[1]);
}

bool updateDict(Translator& translator, DictVariable* dict, Value other) {
  translator.realize(other);
  if (DictVariable* from = iteratedAsDict(translator, other)) {
    if (from == dict) return true;
    ValueVector keys, values;
    copyItems(translator, from, keys, values);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!storeItem(translator, dict, keys[i], values[i])) return false;
    }
    return true;
  }
  static PyObject* const keys = staticName("keys");
  other = wholeOf(std::move(other));
  Value method = optionalMethod(translator, other, keys);
  // dict_update_arg only sees whether there is one; PyMapping_Keys reads the attribute again.
  if (method) method = getAttribute(translator, other, keys);
  if (method) return mergeMapping(translator, dict, other, method);
  return !translator.exceptionPending() && updateFromPairs(translator, dict, other);
}

bool isSpecialDict(const DictVariable* dict) {
  return dict->type() == &PyODict_Type || dict->type() == defaultDictType();
}

DictVariable* emptyDictLike(Translator& translator, DictVariable* dict) {
  auto* result = translator.make<DictVariable>(isSpecialDict(dict) ? dict->type() : &PyDict_Type);
  if (result->type() == defaultDictType()) {
    result->defaultFactory = defaultFactoryOf(translator, dict);
  }
  return result;
}

DictVariable* copyDict(Translator& translator, DictVariable* dict) {
  if (dict->instance && dict->isOrdered()) {
    throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, describe(dict));
  }
  DictVariable* result = emptyDictLike(translator, dict);
  return updateDict(translator, result, dict) ? result : nullptr;
}

bool updateFromKeywords(Translator& translator, DictVariable* dict,
                        const CallArguments& arguments) {
  for (size_t i = 0; i < arguments.keywordCount(); ++i) {
    Value key = Value::constant(arguments.keywordName(i));
    if (!storeItem(translator, dict, key, arguments.keywordValue(i))) return false;
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

Value popDictItem(Translator& translator, DictVariable* dict, bool last) {
  int32_t position = last ? dict->entries().entryCount() : 0;
  const OrderedValueMap::Entry* entry =
      last ? dict->previous(translator, position) : dict->next(translator, position);
  Value key = entry->key;
  Value value = dict->remove(translator, key, last);
  return makeTuple(translator, {std::move(key), std::move(value)});
}

Value dictFromKeys(Translator& translator, PyTypeObject* type, const Value& iterable,
                   const Value& value) {
  auto* dict = translator.make<DictVariable>(type);
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  while (Value key = iteratorNext(translator, iterator)) {
    if (!dict->set(translator, key, value)) return Value();
  }
  return translator.exceptionPending() ? Value() : Value(dict);
}

Value instanceFromKeys(Translator& translator, const Value& cls, const Value& iterable,
                       const Value& value) {
  Value made = call(translator, cls, llvm::ArrayRef<Value>());
  Value iterator = made ? getIterator(translator, iterable) : Value();
  if (!iterator) return iterator;
  while (Value key = iteratorNext(translator, iterator)) {
    if (!setItem(translator, made, key, value)) return Value();
  }
  return translator.exceptionPending() ? Value() : made;
}

Value fromKeysThrough(Translator& translator, const Value& self, CallArguments& arguments,
                      PyTypeObject* type, BuiltinHandler fromKeys) {
  Value cls = arguments.positionalCount() ? translator.realized(arguments.values[0]) : Value();
  PyTypeObject* given = cls ? asClass(cls) : nullptr;
  if (!given || !translator.heap.isSubtype(given, type)) {
    throw GraphBreak(GraphBreakKind::FromkeysOfSubclass, "dict.fromkeys");
  }
  arguments.values.erase(arguments.values.begin());
  return fromKeys(translator, given == type ? self : cls, arguments);
}

ARMATURE_REGISTER_HANDLERS(registerDicts);

}  // namespace armature
