// dicts and sets, and the __dict__ of objects.
//
// A dict that existed before the trace is read key by key: what the program never asks for is
// neither wrapped nor guarded. Only what depends on all keys or on their order (iteration, len,
// comparison) loads, and guards, them all.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "variables/ordered_value_map.h"
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
  // False with an exception pending.
  bool set(Translator& translator, const Value& key, Value value);
  // Removes a key; the removed value, or null if it is absent.
  Value remove(Translator& translator, const Value& key);
  void clear(Translator& translator);

  // Number of live keys. Loads all.
  size_t size(Translator& translator);
  // Live entries in order. Loads all.
  void forEach(Translator& translator, llvm::function_ref<void(const OrderedValueMap::Entry&)>);
  // The next live entry at or after `position`, which is advanced past it; null at the end.
  const OrderedValueMap::Entry* next(Translator& translator, int32_t& position);

  VariableTracker* owner() const { return owner_; }
  bool modified() const { return modified_; }
  // Raw entries: for replay and codegen.
  const OrderedValueMap& entries() const { return map_; }

 private:
  int32_t find(Translator& translator, const Value& key, Py_hash_t hash);
  bool hash(Translator& translator, const Value& key, Py_hash_t& result);
  void complete(Translator& translator);
  void noteMutation(Translator& translator);
  void appendTrailed(Translator& translator, OrderedValueMap::Entry entry);

  OrderedValueMap map_;
  VariableTracker* owner_ = nullptr;
  // False while keys of the existing dict may be missing in map_. Trailed, like all below.
  bool complete_ = true;
  bool modified_ = false;
};

// set and frozenset, by the same means: a map whose values are None. Existing sets are loaded whole.
class SetVariable : public VariableTracker {
 public:
  ARMATURE_KIND(Set)
  explicit SetVariable(PyTypeObject* type, const Source* source = nullptr,
                       BorrowedRef<> existing = nullptr)
      : VariableTracker(VariableKind::Set, type, source, existing) {}

  bool contains(Translator& translator, const Value& key);
  // False with an exception pending (unhashable).
  bool add(Translator& translator, const Value& key);
  // True if it was there.
  bool remove(Translator& translator, const Value& key);
  void clear(Translator& translator);
  size_t size() const { return live_; }
  void forEach(llvm::function_ref<void(const Value&)> visit) const;
  bool modified() const { return modified_; }

 private:
  friend class VariableBuilder;
  void noteMutation(Translator& translator);
  OrderedValueMap map_;
  size_t live_ = 0;
  bool modified_ = false;
};

enum class DictViewKind : uint8_t { Keys, Values, Items };

class DictViewVariable : public VariableTracker {
 public:
  ARMATURE_KIND(DictView)
  DictViewVariable(DictVariable* dict, DictViewKind view);
  DictVariable* const dict;
  const DictViewKind view;
};

}  // namespace armature
