// dicts, and the __dict__ of objects; and what dicts and sets have in common.
//
// A dict that existed before the trace is read key by key: what the program never asks for is
// neither wrapped nor guarded. Only what depends on all keys or on their order (iteration, len,
// comparison) loads, and guards, them all.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "variables/containers/ordered_value_map.h"
#include "variables/side_effects.h"
#include "variables/variable_tracker.h"

namespace armature {

class Translator;

class DictVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Dict)
  // A new dict of exact type `type` (dict, OrderedDict, …).
  explicit DictVariable(PyTypeObject* type = &PyDict_Type)
      : VariableTracker(VariableKind::Dict, type) {}
  // An existing one. `owner`: the object whose __dict__ it is, or null.
  DictVariable(const Source* source, BorrowedRef<> existing, VariableTracker* owner = nullptr)
      : VariableTracker(VariableKind::Dict, Py_TYPE(existing.get()), source, existing),
        owner_(owner),
        complete_(false) {}
  // The __dict__ of an object that the trace made.
  explicit DictVariable(VariableTracker* owner)
      : VariableTracker(VariableKind::Dict, &PyDict_Type), owner_(owner) {}

  // The value of a realized key; null if absent, with no exception. Sets a TypeError for an
  // unhashable key (check translator.exceptionPending()); breaks for one that is not modelled.
  Value get(Translator& translator, const Value& key);
  Value get(Translator& translator, PyObject* key);
  // Whether the key is there, without looking at the value.
  bool has(Translator& translator, const Value& key);
  // The key of the dict's own that is equal to it; null as `get` is.
  Value storedKey(Translator& translator, const Value& key);
  // False with an exception pending.
  bool set(Translator& translator, const Value& key, Value value);
  // Removes a key; the removed value, or null if it is absent. `asLast`: as popitem() removes the
  // last one, which leaves another table than `del` does (sys.getsizeof).
  Value remove(Translator& translator, const Value& key, bool asLast = false);
  // Puts a key that is there behind all others.
  void moveToEnd(Translator& translator, const Value& key);
  void clear(Translator& translator);

  // Before something that Python does at one end of the order, however many keys there are: breaks
  // for an existing dict of many, unless the trace has loaded them all anyway.
  void checkOrder() const;
  // Number of live keys. Loads all.
  size_t size(Translator& translator);
  // The same, where nothing else is asked of the keys: it does not matter which they are.
  size_t length(Translator& translator);
  // The number of keys, where that of an existing dict varied between calls, nothing has asked for
  // all of them and none came or went; else null.
  Value varyingSize(Translator& translator) const;
  // Live entries in order. Loads all.
  void forEach(Translator& translator, llvm::function_ref<void(const OrderedValueMap::Entry&)>);
  // The next live entry at or after `position`, which is advanced past it; null at the end.
  const OrderedValueMap::Entry* next(Translator& translator, int32_t& position);
  // The last live entry before `position`, which is moved to it; null at the start. Begin with
  // entries().entryCount() of a dict whose size() was asked.
  const OrderedValueMap::Entry* previous(Translator& translator, int32_t& position);

  // Is it an OrderedDict, or the items of an instance of a subclass?
  bool isOrdered() const;
  // Has the trace added or removed keys?
  bool keysChanged() const { return keysChanged_; }
  // The object whose __dict__ this is, or null.
  VariableTracker* owner() const { return owner_; }
  // The value of a key that the trace has written; null where it was removed again.
  Value written(const Value& key) const;
  // collections.defaultdict's default_factory; null for other types, and for an existing dict whose
  // factory nobody has asked for. Trailed.
  Value defaultFactory;
  // The __dict__ of an OrderedDict that the trace made; made on demand. Trailed.
  DictVariable* attributes = nullptr;
  // Raw entries: for replay and codegen.
  const OrderedValueMap& entries() const { return map_; }

 private:
  int32_t find(Translator& translator, const Value& key, Py_hash_t hash,
               bool* asksOthers = nullptr);
  void complete(Translator& translator);
  void requireSource() const;
  // May any key be the address of data? Those that the trace makes are refused as keys.
  bool mayHoldAddresses(Translator& translator) const;
  int32_t recordEffect(Translator& translator, EffectKind kind, Value key = {}, int64_t index = 0);
  void appendTrailed(Translator& translator, OrderedValueMap::Entry entry);
  Value removeEntry(Translator& translator, int32_t index);
  void changeSize(Translator& translator, int64_t difference);

  OrderedValueMap map_;
  VariableTracker* owner_ = nullptr;
  // False while keys of the existing dict may be missing in map_. Trailed, like all below.
  bool complete_ = true;
  int64_t live_ = 0;  // number of live entries; meaningful once complete
  bool keysChanged_ = false;
};

// A key as maps want it: realized, in tuples too, and hashed. False with a TypeError pending;
// breaks for a key whose hash is not modelled.
bool realizeKey(Translator& translator, const Value& key, Value& realized, Py_hash_t& hash);
// Index of the entry of a realized key, or kAbsent, also with an exception of the program's methods
// pending. `asksOthers`: did methods say of another key with the same hash that it is not equal?
// One cannot be put beside it without asking again, which generated code must not.
int32_t findKey(Translator& translator, OrderedValueMap& map, const Value& key, Py_hash_t hash,
                bool* asksOthers = nullptr);
// What stands for a key where one that is equal to it is looked for: of an instance of a subclass
// of int, str and their like that hashes and compares as those do, the value.
Value keyForLookup(Translator& translator, const Value& key);
// The real object of a key that is nothing but data, tuples included; null for any other.
Ref<> keyData(Translator& translator, const Value& key);

enum class DictViewKind : uint8_t { Keys, Values, Items };

class DictViewVariable : public VariableTracker {
 public:
  ARMATURE_KIND(DictView)
  DictViewVariable(DictVariable* dict, DictViewKind view);
  DictVariable* const dict;
  const DictViewKind view;
};

}  // namespace armature
