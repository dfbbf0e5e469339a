// What the methods of dict and its subclasses, their operators and their constructors share.
#pragma once

#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/translator.h"
#include "variables/value.h"

namespace armature {

// The variable that a method of dict is called on; breaks for subclasses that are not modelled.
DictVariable* dictOf(const Value& self);

// The items as they are now, whatever happens to the dict while they are worked on.
void copyItems(Translator& translator, DictVariable* dict, ValueVector& keys, ValueVector& values);

// The attribute by which update() tells what it is given; null without an exception if absent.
Value optionalMethod(Translator& translator, const Value& object, PyObject* name);

// As update() stores: dict goes past what a subclass makes of __setitem__, OrderedDict does not.
bool storeItem(Translator& translator, DictVariable* dict, const Value& key, Value value);
// dict.update(other): from a mapping (anything with .keys()) or an iterable of pairs. This and the
// following are false with the exception pending.
bool updateDict(Translator& translator, DictVariable* dict, Value other);
// PyDict_MergeFromSeq2, of one pair; `before`: how many came before it.
bool addPair(Translator& translator, DictVariable* dict, Value pair, Py_ssize_t before);
// From an object that says itself what its keys are.
bool updateFromMapping(Translator& translator, DictVariable* dict, const Value& mapping,
                       const Value& keysMethod);
bool updateFromKeywords(Translator& translator, DictVariable* dict, const CallArguments& arguments);
// function([other], **keywords)
bool updateFromArguments(Translator& translator, DictVariable* dict, const char* function,
                         const CallArguments& arguments);
// OrderedDict.update(other).
bool updateOrderedDict(Translator& translator, DictVariable* dict, Value other);

// Before PyDict_SetItem, or PyDict_DelItem for a null value, which go past the type of the dict:
// breaks for an OrderedDict, which does not hear so of a key that comes or goes.
void requireHeardOf(Translator& translator, DictVariable* dict, const Value& key,
                    const Value& value);

// The items that ** takes of a mapping, as a dict of the trace; null for what is no mapping, with
// the exception pending or without one. `once`: breaks for one that names a key twice.
DictVariable* unpackedMapping(Translator& translator, const Value& mapping, bool once);

// Exact OrderedDict and defaultdict, whose copies have their type. Those of others are dicts.
bool isSpecialDict(const DictVariable* dict);
// An empty dict of the type that a copy has, with the factory of a defaultdict.
DictVariable* emptyDictLike(Translator& translator, DictVariable* dict);
// PyDict_Copy: a new dict with the same items; null with the exception pending.
DictVariable* copyDict(Translator& translator, DictVariable* dict);
// Takes the last item, or the first one, of a dict that is not empty, as a pair.
Value popDictItem(Translator& translator, DictVariable* dict, bool last);
Value dictFromKeys(Translator& translator, PyTypeObject* type, const Value& iterable,
                   const Value& value);

// The same where the class makes the dict: what a call of it gives is filled as any mapping is.
Value instanceFromKeys(Translator& translator, const Value& cls, const Value& iterable,
                       const Value& value);
// Through the class method's descriptor, which is called with the class: `fromKeys` of `type`.
Value fromKeysThrough(Translator& translator, const Value& self, CallArguments& arguments,
                      PyTypeObject* type, BuiltinHandler fromKeys);

PyTypeObject* defaultDictType();
// The default_factory of a defaultdict, realized.
Value defaultFactoryOf(Translator& translator, DictVariable* dict);
// __missing__ of a defaultdict: null without an exception where KeyError is to be raised.
Value defaultDictMissing(Translator& translator, DictVariable* dict, const Value& key);

}  // namespace armature
