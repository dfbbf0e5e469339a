// Keys of dicts and sets: what they are to the trace, to a real dict, and to each other.
#include "variables/containers/keys.h"

#include "core/builtin_part.h"
#include "core/checked.h"
#include "core/constant.h"
#include "guards/key.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/objects/address.h"
#include "variables/objects/user_defined.h"
#include "variables/objects/weak_reference.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"
#include "variables/recursion_guard.h"
#include "variables/tensors/tensor_attributes.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

// A class whose instances hash and compare by identity may be given other methods.
void dependOnIdentityHash(Translator& translator, PyTypeObject* type) {
  static PyObject* const hash = staticName("__hash__");
  static PyObject* const equals = staticName("__eq__");
  for (PyObject* name : {hash, equals}) translator.heap.lookup(type, name);
}

// The traced tuple, or instance of a class over tuple, that a value is; null for others.
SequenceVariable* tupleIn(const Value& value) {
  auto* sequence = trackerOf<SequenceVariable>(value);
  return sequence && !llvm::isa<MutableSequenceVariable>(sequence) ? sequence : nullptr;
}

// A key as hashKey wants it: realized, the items of tuples looked at. A tuple stays the object that
// it is, which the program may find again among the keys.
Value realizeDeeply(Translator& translator, Value key) {
  if (existingAddress(key)) return key;
  translator.realize(key);
  if (PyObject* object = key.objectOrNull(); object && goesByIdentity(object)) {
    // One that each call makes has another hash in each.
    if (translator.isMadeHere(object)) throw GraphBreak(GraphBreakKind::UnknownHash, describe(key));
    for (const Source* source : translator.constantSources(object)) {
      translator.addGuard(source, GuardType::ID_MATCH, object);
    }
  } else if (auto* tuple = tupleIn(key)) {
    RecursionGuard guard(translator);
    for (const Value& item : tuple->items()) {
      pinAddress(translator, realizeDeeply(translator, item));
    }
    // A class over tuple may be given other methods.
    if (tuple->type() != &PyTuple_Type) dependOnIdentityHash(translator, tuple->type());
  } else if (PyObject* referent = referentOfMade(key)) {
    // One whose object may have ended is not found any more.
    bool isAlive = translator.keepsExisting() && translator.looseValues.all().empty();
    if (!isAlive) throw GraphBreak(GraphBreakKind::UnknownHash, describe(key));
    dependOnIdentityHash(translator, Py_TYPE(referent));
  } else if (key.isTracker()) {
    dependOnIdentityHash(translator, typeOf(key));
  }
  return key;
}

PyObject* ignoreEnd(PyObject*, PyObject*) { Py_RETURN_NONE; }

// A reference of the trace's own. One without a callback would be the program's as well, to which
// weakref.ref() gives the one that is there; and a reference remembers its first hash.
Ref<> newReference(PyObject* referent) {
  static PyMethodDef method = {"ignore_end", ignoreEnd, METH_O, nullptr};
  static PyObject* const callback = checked(PyCFunction_New(&method, nullptr)).release();
  return checked(PyWeakref_NewRef(referent, callback));
}

}  // namespace

Ref<> realKey(const Value& key) {
  if (PyObject* object = key.objectOrNull()) return Ref<>::create(object);
  if (PyObject* existing = key.tracker()->existing()) return Ref<>::create(existing);
  if (PyObject* referent = referentOfMade(key)) {
    return newReference(referent);
  }
  if (auto* address = existingAddress(key)) {
    return checked(PyLong_FromVoidPtr(address->existingObject()));
  }
  auto* tuple = tupleIn(key);
  if (!tuple || !isKeyByItems(tuple->type())) return nullptr;
  Ref<> real = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(tuple->items().size())));
  for (size_t i = 0; i < tuple->items().size(); ++i) {
    Ref<> item = realKey(realizedItem(tuple->items()[i]));
    if (!item) return nullptr;
    PyTuple_SET_ITEM(real.get(), i, item.release());
  }
  return real;
}

void guardIdentity(Translator& translator, const Value& key) {
  if (key.isConstant()) return;
  VariableTracker* tracker = key.tracker();
  if (auto* sequence = trackerOf<SequenceVariable>(key)) {
    for (const Value& item : sequence->items()) guardIdentity(translator, realizedItem(item));
  } else if (referentOfMade(key)) {
    guardIdentity(translator, requireKind<NewWeakReferenceVariable>(key)->referent);
  } else if (existingAddress(key)) {
    pinAddress(translator, key);
  } else if (tracker->source() && tracker->kind() != VariableKind::UserClass) {
    translator.addGuard(tracker->source(), GuardType::ID_MATCH, tracker->existing());
  }
}

bool askHashes(Translator& translator, const Value& key) {
  if (auto* tuple = tupleIn(key)) {
    RecursionGuard guard(translator);
    for (const Value& each : tuple->items()) {
      const Value& item = realizedItem(each);
      if (!askHashes(translator, item)) return false;
      // No item behind it is asked.
      Py_hash_t hash;
      bool isUnhashable = !tupleIn(item) && hashKey(item).status == KeyHash::Status::Unhashable;
      if (isUnhashable && !hashValue(translator, item, hash)) return false;
    }
    return true;
  }
  auto* object = trackerOf<UserObjectVariable>(key);
  if (!object || isObjectByIdentity(object)) return true;
  Py_hash_t hash;
  {
    // The replay does not ask again, nor does what Python would do with the stored hash.
    SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
    if (!hashValue(translator, key, hash)) return false;
  }
  if (object->isHashed && object->keyHash != hash) {
    throw GraphBreak(GraphBreakKind::UnknownHash, describe(key));
  }
  if (!object->isHashed) {
    assignTrailed(translator.trail, object->isHashed, true);
    assignTrailed(translator.trail, object->keyHash, hash);
  }
  return true;
}

namespace {

// Of a key that goes by identity, that it is not the one or the other follows from what is passed.
void rememberIdentity(Translator& translator, const Value& key) {
  if (key.isConstant()) return;
  VariableTracker* tracker = key.tracker();
  if (auto* tuple = tupleIn(key)) {
    for (const Value& item : tuple->items()) rememberIdentity(translator, realizedItem(item));
  } else if (referentOfMade(key)) {
    rememberIdentity(translator, requireKind<NewWeakReferenceVariable>(key)->referent);
  } else if (auto* address = existingAddress(key)) {
    translator.rememberKey(address->object.tracker()->source(), address->existingObject());
  } else if (tracker->source() && tracker->existing() &&
             tracker->kind() != VariableKind::UserClass && isKeyByIdentity(tracker->type())) {
    translator.rememberKey(tracker->source(), tracker->existing());
  }
}

// A key that goes by its identity may have the very hash that methods give another one, which is
// then asked. The trace does not know by that hash, so that it looks at the real one, of that
// object.
void requireOtherHashes(Translator& translator, const OrderedValueMap& map, const Value& key,
                        Py_hash_t hash) {
  bool byMethods = isKeyByMethods(key);
  bool isMixed =
      byMethods ? map.hasKeysByIdentity() : map.hasKeysByMethods() && goesByIdentity(key);
  if (!isMixed) return;
  auto isHash = [&](const Value& byIdentity, Py_hash_t ofMethods) {
    guardIdentity(translator, byIdentity);
    Ref<> real = realKey(byIdentity);
    return real && hashWithoutCode(real) == ofMethods;
  };
  for (int32_t i = 0; i < map.entryCount(); ++i) {
    const OrderedValueMap::Entry& entry = map[i];
    bool isOther =
        isKeyByMethods(entry.key) != byMethods && (!byMethods || goesByIdentity(entry.key));
    if (!entry.linked || !isOther) continue;
    bool meets = byMethods ? isHash(entry.key, hash) : isHash(key, entry.hash);
    if (meets) throw GraphBreak(GraphBreakKind::UnknownHash, describe(key));
  }
}

// Among numbers, the address of an existing object is one of them.
void pinAmongNumbers(Translator& translator, OrderedValueMap& map, const Value& key) {
  if (existingAddress(key)) {
    if (map.hasNumbers()) pinAddress(translator, key);
  } else if (map.hasLooseAddresses() && mayBeNumber(key)) {
    for (int32_t i = 0; i < map.entryCount(); ++i) pinAddress(translator, map[i].key);
    map.addressesPinned(translator.trail);
  }
}

}  // namespace

int32_t findKey(Translator& translator, OrderedValueMap& map, const Value& key, Py_hash_t hash,
                bool* asksOthers) {
  rememberIdentity(translator, key);
  pinAmongNumbers(translator, map, key);
  requireOtherHashes(translator, map, key, hash);
  bool asksForKey = isKeyByMethods(key);
  // Those that have to be asked, in order: their methods may look into the map, which moves then.
  llvm::SmallVector<Value, 2> asked;
  int32_t removed = OrderedValueMap::kAbsent;
  int32_t known = map.findEntry(hash, [&](int32_t index) {
    const Value& stored = map[index].key;
    bool isKey = stored.sameAs(key);
    if (!isKey && !asksForKey && !isKeyByMethods(stored)) isKey = equalKeys(stored, key);
    // What is not there keeps none behind it from being asked, and is not asked itself.
    bool isThere = map[index].live();
    if (isKey && !isThere) removed = index;
    if (!isKey && isThere && (asksForKey || isKeyByMethods(stored))) asked.push_back(stored);
    return isKey && isThere;
  });
  for (const Value& stored : asked) {
    int equal = isSame(translator, stored, key);
    if (!equal) {
      SideEffects::BodyScope scope(translator.effects, translator.arena.trackers().size());
      equal = areEqual(translator, stored, key);
    }
    if (equal < 0) return OrderedValueMap::kAbsent;
    if (equal) return map.find(hash, [&](const Value& each) { return each.sameAs(stored); });
    if (asksOthers) *asksOthers = true;
  }
  return known == OrderedValueMap::kAbsent ? removed : known;
}

bool realizeKey(Translator& translator, const Value& key, Value& realized, Py_hash_t& hash) {
  if (PyObject* object = key.objectOrNull(); object && PyUnicode_CheckExact(object)) {
    realized = key;
    hash = PyObject_Hash(object);
    return true;
  }
  realized = realizeDeeply(translator, key);
  // Arrays are keys by their identity.
  if (auto* tensor = trackerOf<TensorVariable>(realized)) requireOwnIdentity(translator, tensor);
  if (!askHashes(translator, realized)) return false;
  if (isKeyByMethods(realized) && goesByIdentity(realized)) {
    throw GraphBreak(GraphBreakKind::UnknownHash, describe(realized));
  }
  KeyHash hashed = hashKey(realized);
  switch (hashed.status) {
    case KeyHash::Status::Ok:
      hash = hashed.hash;
      return true;
    case KeyHash::Status::Unhashable:
      // Raises as hash() does, naming the item of a tuple that is to blame.
      if (!hashValue(translator, realized, hash)) return false;
      [[fallthrough]];
    case KeyHash::Status::Unmodelled:
      break;
  }
  throw GraphBreak(GraphBreakKind::UnknownHash, describe(realized));
}

Value keyForLookup(Translator& translator, const Value& key) {
  if (!key.isTracker() || existingAddress(key)) return key;
  Value realized = translator.realized(key);
  PyTypeObject* type = typeOf(realized);
  PyTypeObject* layout = trackerOf<UserObjectVariable>(realized) ? dataLayout(type) : nullptr;
  if (!layout) return key;
  static PyObject* const hash = staticName("__hash__");
  static PyObject* const equal = staticName("__eq__");
  bool isAsData =
      translator.heap.inherits(type, layout, hash) && translator.heap.inherits(type, layout, equal);
  if (!isAsData) return key;
  Value data = builtinData(translator, realized);
  return equalsItself(data.object()) ? data : key;
}

Ref<> keyData(Translator& translator, const Value& key) {
  if (isConstantData(key)) return Ref<>::create(key.object());
  auto* tuple = trackerOf<TupleVariable>(key);
  Ref<> data = tuple ? toRealData(translator, key) : nullptr;
  if (!data || !isConstant(data.get())) return nullptr;
  if (!tuple->existing()) return data;
  if (tuple->source()) translator.rememberConstant(tuple->existing(), tuple->source());
  return Ref<>::create(tuple->existing());
}

}  // namespace armature
