// The state of dicts: what the trace knows of an existing one, and what it changed.
//
// map_ holds the entries that the trace has seen. Entries of an existing dict come in as the
// program asks for their keys; complete() brings in the rest and puts all in the dict's order.
#include "variables/containers/dict.h"
#include "variables/constants/constant.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/dict_layout.h"
#include "cpython/ordered_dict.h"
#include "guards/key.h"
#include "variables/constants/computed_values.h"
#include "variables/containers/keys.h"
#include "variables/containers/sequence.h"
#include "variables/ends_of_objects.h"
#include "variables/objects/address.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

struct RealItem {
  PyObject* key;  // Borrowed, both.
  PyObject* value;
  int64_t index;  // Where keys() has the key.
  Py_hash_t hash;
};

// Fields of dicts, as guards and generated code read them. All values, in order, which is how that
// of a key is found without asking the key.
PyObject* valuesField() {
  static PyGetSetDef definition = {"all values",
                                   [](PyObject* dict, void*) -> PyObject* {
                                     Ref<> values = Ref<>::steal(PyDict_Values(dict));
                                     return values ? PyList_AsTuple(values.get()) : nullptr;
                                   },
                                   nullptr, nullptr, nullptr};
  static PyObject* const field = checked(PyDescr_NewGetSet(&PyDict_Type, &definition)).release();
  return field;
}

// The hashes of the keys, in order: of a key that hashes by methods of the program's, what these
// said when the key came in.
PyObject* hashesField() {
  static PyGetSetDef definition = {"hashes of the keys",
                                   [](PyObject* dict, void*) -> PyObject* {
                                     Ref<> hashes = Ref<>::steal(PyList_New(0));
                                     cpython::DictEntry entry;
                                     while (hashes && cpython::nextEntry(dict, entry)) {
                                       Ref<> hash = Ref<>::steal(PyLong_FromSsize_t(entry.hash));
                                       bool ok =
                                           hash && PyList_Append(hashes.get(), hash.get()) == 0;
                                       if (!ok) return nullptr;
                                     }
                                     return hashes ? PyList_AsTuple(hashes.get()) : nullptr;
                                   },
                                   nullptr, nullptr, nullptr};
  static PyObject* const field = checked(PyDescr_NewGetSet(&PyDict_Type, &definition)).release();
  return field;
}

std::vector<RealItem> dictItems(PyObject* dict) {
  std::vector<RealItem> items;
  for (cpython::DictEntry entry; cpython::nextEntry(dict, entry);) {
    items.push_back({entry.key, entry.value, static_cast<int64_t>(items.size()), entry.hash});
  }
  return items;
}

// The items of a real dict in its order, read without running user code.
std::vector<RealItem> realItems(PyObject* dict, const Source* source) {
  std::vector<RealItem> items = dictItems(dict);
  if (!PyODict_Check(dict)) return items;
  llvm::DenseMap<PyObject*, RealItem> byKey;
  for (const RealItem& item : items) byKey[item.key] = item;
  std::vector<RealItem> ordered;
  // dict's own methods, called on it, leave it with an order of other keys than it has.
  auto refuse = [&] { throw GraphBreak(GraphBreakKind::OrderedDictOrder, source->name()); };
  for (auto* node = cpython::firstNode(dict); node; node = cpython::nextNode(node)) {
    auto found = byKey.find(cpython::keyOf(node));
    if (found == byKey.end() || ordered.size() == items.size()) refuse();
    ordered.push_back(found->second);
    ordered.back().index = static_cast<int64_t>(ordered.size()) - 1;
  }
  if (ordered.size() != items.size()) refuse();
  return ordered;
}

}  // namespace

bool DictVariable::isOrdered() const { return cpython::staticBase(type()) == &PyODict_Type; }

int32_t DictVariable::recordEffect(Translator& translator, EffectKind kind, Value key,
                                   int64_t index) {
  if (!translator.effects.concerns(this)) return SideEffects::kNone;
  return translator.effects.append({kind, this, std::move(key), {}, index});
}

Value DictVariable::written(const Value& key) const {
  KeyHash hash = hashKey(key);
  int32_t index = map_.find(hash.hash, [&](const Value& stored) { return equalKeys(stored, key); });
  return index == OrderedValueMap::kAbsent ? Value() : map_[index].value;
}

void DictVariable::appendTrailed(Translator& translator, OrderedValueMap::Entry entry) {
  static constexpr Trail::Operation kAppend = {
      [](void* dict, uintptr_t) { static_cast<DictVariable*>(dict)->map_.popLast(); }, nullptr};
  map_.append(std::move(entry));
  translator.trail.record(kAppend, this, 0);
}

// What an existing dict answers is guarded by way of its source.
void DictVariable::requireSource() const {
  if (!source()) throw std::logic_error("an existing dict without a source");
}

// Index of the key's entry, or kAbsent. Asks the existing dict, and guards its answer, where the
// trace has not seen the key yet. The entry of a key that is not there, deleted or never there, has
// no value; one that was never there is neither `existed` nor `changed`.
int32_t DictVariable::find(Translator& translator, const Value& key, Py_hash_t hash,
                           bool* asksOthers) {
  // Its methods are asked of all keys that the dict has.
  if (isKeyByMethods(key)) complete(translator);
  int32_t index = findKey(translator, map_, key, hash, asksOthers);
  if (index != OrderedValueMap::kAbsent || translator.exceptionPending()) return index;
  if (complete_) {
    // The keys of an existing dict are guarded to be the objects that they are.
    if (existing()) guardIdentity(translator, key);
    return index;
  }
  requireSource();
  Ref<> object = realKey(key);
  if (!object) return OrderedValueMap::kAbsent;
  guardIdentity(translator, key);
  Found value = translator.heap.item(source(), existing(), object.get());
  OrderedValueMap::Entry entry;
  entry.key = key;
  entry.hash = hash;
  if (value) {
    entry.value = translator.wrap(value.source, value.object);
    entry.existed = true;
  }
  appendTrailed(translator, std::move(entry));
  return map_.entryCount() - 1;
}

bool DictVariable::mayHoldAddresses(Translator& translator) const {
  if (existing()) return true;
  for (int32_t i = 0; i < map_.entryCount(); ++i) {
    PyObject* key = map_[i].live() ? map_[i].key.objectOrNull() : nullptr;
    if (!key || !PyNumber_Check(key)) continue;
    // The addresses of objects that the trace knows are those of no data.
    void* address = PyLong_CheckExact(key) ? PyLong_AsVoidPtr(key) : nullptr;
    clearException();
    bool mayBeAddress = reinterpret_cast<intptr_t>(address) > 0;
    if (!mayBeAddress || !translator.known(static_cast<PyObject*>(address))) return true;
  }
  return false;
}

Value DictVariable::get(Translator& translator, const Value& key) {
  auto* address = trackerOf<AddressVariable>(key);
  if (address && address->isOfData() && !mayHoldAddresses(translator)) return Value();
  Value realized;
  Py_hash_t hash;
  if (!realizeKey(translator, keyForLookup(translator, key), realized, hash)) return Value();
  int32_t index = find(translator, realized, hash);
  return index == OrderedValueMap::kAbsent ? Value() : map_[index].value;
}

Value DictVariable::get(Translator& translator, PyObject* key) {
  return get(translator, Value::constant(key));
}

bool DictVariable::has(Translator& translator, const Value& key) {
  return static_cast<bool>(get(translator, key));
}

Value DictVariable::storedKey(Translator& translator, const Value& key) {
  Value realized;
  Py_hash_t hash;
  if (!realizeKey(translator, keyForLookup(translator, key), realized, hash)) return Value();
  int32_t index = find(translator, realized, hash);
  bool isThere = index != OrderedValueMap::kAbsent && map_[index].live();
  return isThere ? map_[index].key : Value();
}

bool DictVariable::set(Translator& translator, const Value& key, Value value) {
  translator.effects.changes(owner_ ? owner_ : this);
  Value realized;
  Py_hash_t hash;
  Value known = keyForLookup(translator, key);
  if (!realizeKey(translator, known, realized, hash)) return false;
  bool asksOthers = false;
  int32_t index = find(translator, realized, hash, &asksOthers);
  if (translator.exceptionPending()) return false;
  bool isNew = index == OrderedValueMap::kAbsent || !map_[index].live();
  if (isNew && known.isConstant() && !translator.realized(key).isConstant()) {
    realized = translator.realized(key);
    if (!askHashes(translator, realized)) return false;
  }
  // Generated code puts such keys where their hashes say, which the table of OrderedDict would ask.
  bool isPlaced = !asksOthers && (!isKeyByMethods(realized) || !(isOrdered() || owner_));
  if (isNew && !isPlaced) {
    throw GraphBreak(GraphBreakKind::UnknownHash, describe(realized));
  }
  if (index != OrderedValueMap::kAbsent && map_[index].live()) {
    // By index: entries move in memory.
    recordUndo(translator.trail,
               [this, index, old = map_[index]]() mutable { map_[index] = std::move(old); });
    bool isFirst = map_[index].effect < 0;
    if (isFirst && map_[index].existed) letGo(translator, map_[index].value, this);
    map_[index].value = std::move(value);
    if (isFirst) {
      map_[index].effect = recordEffect(translator, EffectKind::DictSet, map_[index].key);
    }
    return true;
  }
  if (index != OrderedValueMap::kAbsent) {
    // Deleted before: the key goes to the end, and the old entry remembers the deletion.
    map_.unlink(index);
    recordUndo(translator.trail, [this, index] { map_.relink(index); });
  }
  OrderedValueMap::Entry entry;
  entry.key = std::move(realized);
  entry.value = std::move(value);
  entry.hash = hash;
  entry.effect = recordEffect(translator, EffectKind::DictSet, entry.key);
  appendTrailed(translator, std::move(entry));
  changeSize(translator, 1);
  return true;
}

Value DictVariable::remove(Translator& translator, const Value& key, bool asLast) {
  translator.effects.changes(owner_ ? owner_ : this);
  Value realized;
  Py_hash_t hash;
  if (!realizeKey(translator, keyForLookup(translator, key), realized, hash)) return Value();
  int32_t index = find(translator, realized, hash);
  if (index == OrderedValueMap::kAbsent || !map_[index].live()) return Value();
  // What the trace has set itself, it only has to leave unset.
  if (map_[index].existed) {
    letGo(translator, map_[index].key);
    // An OrderedDict has it in its list as well (_odictnode in CPython's Objects/odictobject.c).
    if (isOrdered()) letGo(translator, map_[index].key);
    if (map_[index].effect < 0) letGo(translator, map_[index].value, this);
    recordEffect(translator, EffectKind::DictDelete, map_[index].key, asLast);
  }
  return removeEntry(translator, index);
}

Value DictVariable::removeEntry(Translator& translator, int32_t index) {
  OrderedValueMap::Entry& entry = map_[index];
  Value removed = entry.value;
  recordUndo(translator.trail,
             [this, index, old = entry]() mutable { map_[index] = std::move(old); });
  if (entry.effect >= 0) translator.effects.cancel(entry.effect);
  entry.effect = -1;
  entry.value = Value();
  changeSize(translator, -1);
  return removed;
}

void DictVariable::clear(Translator& translator) {
  complete(translator);
  if (live_ == 0) return;
  bool emptiesReal = false;
  for (int32_t index = 0; index < map_.entryCount(); ++index) {
    if (!map_[index].live()) continue;
    emptiesReal |= map_[index].existed;
    removeEntry(translator, index);
  }
  if (!emptiesReal) return;
  letGoOfContents(translator, this);
  recordEffect(translator, EffectKind::DictClear);
}

void DictVariable::changeSize(Translator& translator, int64_t difference) {
  assignTrailed(translator.trail, live_, live_ + difference);
  if (!keysChanged_) assignTrailed(translator.trail, keysChanged_, true);
}

void DictVariable::moveToEnd(Translator& translator, const Value& key) {
  Value value = remove(translator, key);
  set(translator, key, std::move(value));
}

size_t DictVariable::size(Translator& translator) {
  complete(translator);
  return static_cast<size_t>(live_);
}

size_t DictVariable::length(Translator& translator) {
  // The items of an instance's __dict__ may lie in no dict.
  bool isAsItWas = !complete_ && !keysChanged_ && source() && !owner_ &&
                   source()->kind() != SourceKind::InstanceDict;
  if (isAsItWas) {
    Py_ssize_t length = PyDict_GET_SIZE(existing());
    translator.addGuard(source(), GuardType::SEQUENCE_LENGTH, nullptr, length);
    return static_cast<size_t>(length);
  }
  return size(translator);
}

Value DictVariable::varyingSize(Translator& translator) const {
  return complete_ || keysChanged_ ? Value() : computedLength(translator, *this);
}

void DictVariable::forEach(Translator& translator,
                           llvm::function_ref<void(const OrderedValueMap::Entry&)> visit) {
  complete(translator);
  for (int32_t index = 0; index < map_.entryCount(); ++index) {
    if (map_[index].live()) visit(map_[index]);
  }
}

const OrderedValueMap::Entry* DictVariable::next(Translator& translator, int32_t& position) {
  complete(translator);
  while (position < map_.entryCount()) {
    const OrderedValueMap::Entry& entry = map_[position++];
    if (entry.live()) return &entry;
  }
  return nullptr;
}

const OrderedValueMap::Entry* DictVariable::previous(Translator& translator, int32_t& position) {
  complete(translator);
  while (position > 0) {
    const OrderedValueMap::Entry& entry = map_[--position];
    if (entry.live()) return &entry;
  }
  return nullptr;
}

void DictVariable::checkOrder() const {
  constexpr Py_ssize_t kMostKeys = 64;
  if (complete_ || PyDict_GET_SIZE(existing()) <= kMostKeys) return;
  throw GraphBreak(GraphBreakKind::OrderOfManyKeys,
                   describe(Value(const_cast<DictVariable*>(this))));
}

// Loads all keys of the existing dict and guards them. The entries then stand in the dict's order:
// those that existed, deleted ones included, where the real dict has them; new ones behind.
void DictVariable::complete(Translator& translator) {
  if (complete_) return;
  requireSource();
  translator.checkItemCount(source(), PyDict_GET_SIZE(existing()));
  std::vector<RealItem> items = realItems(existing(), source());
  Ref<> keys = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyList_SET_ITEM(keys.get(), i, Ref<>::create(items[i].key).release());
  }
  translator.addGuard(source(), GuardType::DICT_KEYS_MATCH, keys);

  bool anyByMethods = llvm::any_of(
      items, [](const RealItem& item) { return !hashWithoutCode(item.key).has_value(); });
  if (anyByMethods) {
    // No guard finds one of two that have to be asked whether they are equal.
    std::unordered_map<Py_hash_t, PyObject*> byHash;
    for (const RealItem& item : items) {
      auto [other, isFirst] = byHash.try_emplace(item.hash, item.key);
      bool areAsked = !isFirst && !(hashWithoutCode(item.key) && hashWithoutCode(other->second));
      if (areAsked)
        throw GraphBreak(GraphBreakKind::UnknownHash, describe(Value::constant(item.key)));
    }
  }
  OrderedValueMap ordered;
  int64_t live = 0;
  std::vector<bool> placed(map_.entryCount(), false);
  const ExistedEntries existed(map_);
  auto place = [&](int32_t index, const Value& key) {
    OrderedValueMap::Entry entry = map_[index];
    placed[index] = true;
    live += entry.live();
    // A deleted entry whose key came back stays as a record for replay, beyond lookups.
    bool linked = entry.linked;
    entry.key = key;
    int32_t at = ordered.append(std::move(entry));
    if (!linked) ordered.unlink(at);
  };
  auto keySource = [&](size_t i) {
    return translator.sources->item(SourceKind::DictKey, source(), items[i].index);
  };
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* object = items[i].key;
    OrderedValueMap::Entry entry;
    Value key = Value::constant(object);
    if (!isConstant(object)) {
      key = translator.wrap(keySource(i), object);
    } else if (PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) > 0) {
      // The guard above holds its value.
      ValueVector parts;
      for (Py_ssize_t part = 0; part < PyTuple_GET_SIZE(object); ++part) {
        parts.push_back(Value::constant(PyTuple_GET_ITEM(object, part)));
      }
      key = translator.make<TupleVariable>(std::move(parts), keySource(i), object);
    } else if (PyFrozenSet_CheckExact(object) || isToldApart(object, items.size())) {
      translator.rememberConstant(object, keySource(i));
    }
    // A guard would keep the reference, whose callback would then be called too late.
    if (PyWeakref_Check(object)) throw GraphBreak(GraphBreakKind::UnknownHash, describe(key));
    bool byMethods = !hashWithoutCode(object);
    bool isHashed = realizeKey(translator, key, entry.key, entry.hash);
    // One that has another hash by now is found by nobody.
    bool isSteady =
        !byMethods || (isKeyByMethods(entry.key) && entry.hash == items[i].hash && !isOrdered());
    if (!isHashed || !isSteady) {
      throw GraphBreak(GraphBreakKind::UnknownHash, describe(Value(key)));
    }
    int32_t seen = existed.find(entry.key, entry.hash);
    if (seen != OrderedValueMap::kAbsent) {
      // The program may have asked with an equal key of another type: True for 1.
      place(seen, entry.key);
      continue;
    }
    SourceTable& sources = *translator.sources;
    const Source* path =
        byMethods ? sources.item(SourceKind::TupleItem,
                                 sources.item(SourceKind::Descriptor, source(), valuesField()),
                                 items[i].index)
                  : sources.item(SourceKind::DictItem, source(), object);
    entry.value = translator.wrap(path, items[i].value);
    entry.existed = true;
    ordered.append(std::move(entry));
    ++live;
  }
  for (int32_t index = 0; index < map_.entryCount(); ++index) {
    if (!placed[index]) place(index, map_[index].key);
  }
  if (anyByMethods) {
    Ref<> hashes = checked(PyObject_CallMethod(hashesField(), "__get__", "O", existing()));
    translator.addGuard(translator.sources->item(SourceKind::Descriptor, source(), hashesField()),
                        GuardType::EQUALS_MATCH, hashes);
  }
  recordUndo(translator.trail, [this, old = std::move(map_)]() mutable { map_ = std::move(old); });
  map_ = std::move(ordered);
  assignTrailed(translator.trail, live_, live);
  assignTrailed(translator.trail, complete_, true);
}

namespace {

PyTypeObject* viewType(const DictVariable* dict, DictViewKind view) {
  static PyTypeObject* const types[2][3] = {
      {&PyDictKeys_Type, &PyDictValues_Type, &PyDictItems_Type},
      {&PyODictKeys_Type, &PyODictValues_Type, &PyODictItems_Type}};
  return types[dict->isOrdered()][static_cast<size_t>(view)];
}

}  // namespace

DictViewVariable::DictViewVariable(DictVariable* dict, DictViewKind view)
    : VariableTracker(VariableKind::DictView, viewType(dict, view)), dict(dict), view(view) {}

}  // namespace armature
