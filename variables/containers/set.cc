// The state of sets.
#include "variables/containers/set.h"

#include <optional>

#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/set_entries.h"
#include "guards/key.h"
#include "variables/constants/computed_values.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/keys.h"
#include "variables/containers/sequence.h"
#include "variables/ends_of_objects.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

Ref<> pack(const Ref<>& item) { return checked(PyTuple_Pack(1, item.get())); }

// Fields of set and frozenset, as guards and generated code read them: all elements, in the set's
// order, which is how one that is no constant is found again.
PyObject* elementsField(BorrowedRef<> set) {
  static PyGetSetDef definition = {"all elements",
                                   [](PyObject* set, void*) -> PyObject* {
                                     Ref<> all = Ref<>::steal(PyTuple_New(PySet_GET_SIZE(set)));
                                     Py_ssize_t place = 0;
                                     for (cpython::SetEntry each;
                                          all && cpython::nextEntry(set, each); ++place) {
                                       PyTuple_SET_ITEM(all.get(), place, Py_NewRef(each.element));
                                     }
                                     return all.release();
                                   },
                                   nullptr, nullptr, nullptr};
  static PyObject* const ofSet = checked(PyDescr_NewGetSet(&PySet_Type, &definition)).release();
  static PyObject* const ofFrozenSet =
      checked(PyDescr_NewGetSet(&PyFrozenSet_Type, &definition)).release();
  return PyFrozenSet_Check(set.get()) ? ofFrozenSet : ofSet;
}

}  // namespace

const Source* elementSource(Translator& translator, const Source* set, BorrowedRef<> existing,
                            int64_t place) {
  SourceTable& sources = *translator.sources;
  const Source* elements = sources.item(SourceKind::Descriptor, set, elementsField(existing));
  return sources.item(SourceKind::TupleItem, elements, place);
}

void rememberElements(Translator& translator, const Source* set, BorrowedRef<> existing) {
  auto count = static_cast<size_t>(PySet_GET_SIZE(existing.get()));
  int64_t place = 0;
  for (cpython::SetEntry each; cpython::nextEntry(existing, each); ++place) {
    if (!isToldApart(each.element, count)) continue;
    translator.rememberConstant(each.element, elementSource(translator, set, existing, place));
  }
}

namespace {

// Does an operation on the real set, or puts the one there that it makes. False where it fails.
template <class Operation>
bool perform(const Operation& operation, Ref<>& set) {
  PyObject* self = operation.self ? operation.self.get() : set.get();
  Ref<> result;
  if (operation.name) {
    Ref<> method = checked(PyObject_GetAttrString(self, operation.name));
    result = Ref<>::steal(PyObject_Call(method.get(), operation.arguments.get(), nullptr));
  } else {
    result = Ref<>::steal(PySet_New(self));
  }
  if (!result) {
    clearException();
    return false;
  }
  if (operation.self) set = std::move(result);
  return true;
}

}  // namespace

// --- What is known of an existing set.

// Index of the key's entry, or kAbsent. Asks the existing set, and guards its answer, where the
// trace has not seen the key yet.
int32_t SetVariable::find(Translator& translator, const Value& key, Py_hash_t hash,
                          bool* asksOthers) {
  // Its methods are asked of all items that the set has.
  if (isKeyByMethods(key)) complete(translator);
  int32_t index = findKey(translator, map_, key, hash, asksOthers);
  if (index != OrderedValueMap::kAbsent || translator.exceptionPending() || complete_) return index;
  Ref<> object = realKey(key);
  if (!object) return OrderedValueMap::kAbsent;
  // Of one that goes by its identity, that it is none of all items holds for others as well.
  bool isLasting = isConstant(object) || trackerOf<UserClassVariable>(key);
  if (!isLasting && loading_ != Loading::Never) {
    complete(translator);
    return findKey(translator, map_, key, hash, asksOthers);
  }
  guardIdentity(translator, key);
  OrderedValueMap::Entry entry;
  entry.key = key;
  entry.hash = hash;
  entry.existed = translator.heap.hasItem(source(), existing(), object.get());
  if (entry.existed) entry.value = Value::none();
  recordUndo(translator.trail, [this] { map_.popLast(); });
  map_.append(std::move(entry));
  return map_.entryCount() - 1;
}

void SetVariable::loadItems(Translator& translator,
                            llvm::SmallVectorImpl<OrderedValueMap::Entry>& items) {
  bool byPlace = loading_ == Loading::ByPlace;
  for (cpython::SetEntry each; cpython::nextEntry(existing(), each);) {
    OrderedValueMap::Entry entry;
    Value item;
    if (byPlace) {
      auto place = static_cast<int64_t>(items.size());
      const Source* path = elementSource(translator, source(), existing(), place);
      item = translator.wrap(path, each.element);
    } else {
      translator.addGuard(source(), GuardType::SET_HOLDS, each.element);
      item = PyType_Check(each.element)
                 ? translator.knownClass(reinterpret_cast<PyTypeObject*>(each.element))
                 : Value::constant(each.element);
    }
    if (!realizeKey(translator, item, entry.key, entry.hash)) {
      throw GraphBreak(GraphBreakKind::UnknownHash, describe(item));
    }
    // What is looked for must be another object than each of them.
    findKey(translator, map_, entry.key, entry.hash);
    entry.value = Value::none();
    entry.existed = true;
    items.push_back(std::move(entry));
  }
}

// Loads all items of the existing set and guards them. They then stand in its order, removed ones
// included; new ones behind.
void SetVariable::complete(Translator& translator) {
  if (complete_) return;
  if (loading_ == Loading::Never) {
    throw GraphBreak(GraphBreakKind::SetNotLoaded, describe(Value(this)));
  }
  translator.addGuard(source(), GuardType::SEQUENCE_LENGTH, nullptr, PySet_GET_SIZE(existing()));
  llvm::SmallVector<OrderedValueMap::Entry, 8> items;
  loadItems(translator, items);
  const ExistedEntries existed(map_);
  OrderedValueMap ordered;
  int64_t live = 0;
  std::vector<bool> placed(map_.entryCount(), false);
  auto place = [&](OrderedValueMap::Entry entry) {
    live += entry.live();
    bool linked = std::exchange(entry.linked, true);
    int32_t at = ordered.append(std::move(entry));
    if (!linked) ordered.unlink(at);
  };
  for (OrderedValueMap::Entry& item : items) {
    int32_t seen = existed.find(item.key, item.hash);
    if (seen != OrderedValueMap::kAbsent) {
      // The program may have asked with an equal item of another type: True for 1.
      item.value = map_[seen].value;
      item.linked = map_[seen].linked;
      placed[seen] = true;
    }
    place(std::move(item));
  }
  for (int32_t index = 0; index < map_.entryCount(); ++index) {
    if (!placed[index]) place(map_[index]);
  }
  recordUndo(translator.trail, [this, old = std::move(map_)]() mutable { map_ = std::move(old); });
  map_ = std::move(ordered);
  assignTrailed(translator.trail, live_, live);
  assignTrailed(translator.trail, complete_, true);
}

BorrowedRef<> SetVariable::untouched(Translator& translator) const {
  bool isUntouched = existing() && source() && translator.effects.last(this) < 0;
  return isUntouched ? BorrowedRef<>(existing()) : BorrowedRef<>();
}

size_t SetVariable::size(Translator& translator) {
  if (complete_) return static_cast<size_t>(live_);
  Py_ssize_t count = PySet_GET_SIZE(existing());
  translator.addGuard(source(), GuardType::SEQUENCE_LENGTH, nullptr, count);
  return static_cast<size_t>(count + live_);
}

Value SetVariable::varyingSize(Translator& translator) const {
  return !complete_ && untouched(translator) ? computedLength(translator, *this) : Value();
}

void SetVariable::forEach(Translator& translator, llvm::function_ref<void(const Value&)> visit) {
  complete(translator);
  for (int32_t index = 0; index < map_.entryCount(); ++index) {
    if (map_[index].live()) visit(map_[index].key);
  }
}

bool SetVariable::inOrder(Translator& translator, llvm::SmallVectorImpl<Value>& items) {
  complete(translator);
  auto visit = [&](const Value& item) { items.push_back(item); };
  BorrowedRef<> existing = untouched(translator);
  if (live_ > 1 && existing && loading_ == Loading::ByValue) {
    // Not as list() takes them: a subclass may have an iterator of its own.
    Ref<> list = checked(PyList_New(0));
    for (cpython::SetEntry each; cpython::nextEntry(existing, each);) {
      checked(PyList_Append(list.get(), each.element));
    }
    translator.addGuard(source(), GuardType::SET_ITEMS_MATCH, list);
  }
  if (existing && loading_ == Loading::ByValue) rememberElements(translator, source(), existing);
  if (live_ <= 1 || existing) {
    forEach(translator, visit);
    return true;
  }
  Ref<> set = real(translator);
  if (!set) return false;
  for (cpython::SetEntry entry; cpython::nextEntry(set, entry);) {
    items.push_back(knownItem(entry.element, entry.hash));
  }
  return true;
}

Value SetVariable::knownItem(PyObject* item, Py_hash_t hash) const {
  if (isConstant(item)) {
    int32_t index = map_.find(Value::constant(item), hash);
    if (index != OrderedValueMap::kAbsent) return map_[index].key;
  }
  for (int32_t index = 0; index < map_.entryCount(); ++index) {
    const Value& key = map_[index].key;
    if (map_[index].live() && key.isTracker() && key.tracker()->existing() == item) return key;
  }
  return Value::constant(item);
}

// --- Changes.

void SetVariable::recordEffect(Translator& translator, EffectKind kind, Value key, Value value) {
  if (!translator.effects.concerns(this) || !logging_) return;
  SideEffects& effects = translator.effects;
  int32_t last = effects.last(this);
  if (last >= 0 && effects[last].kind == EffectKind::SetRewrite) return;
  if (kind == EffectKind::SetRewrite) {
    complete(translator);
    effects.cancelAll(this);
    effects.append({kind, this, {}, {}});
    return;
  }
  effects.append({kind, this, std::move(key), std::move(value)});
}

void SetVariable::record(Translator& translator, Operation operation) {
  static constexpr Trail::Operation kRecord = {[](void* object, uintptr_t) {
                                                 auto* set = static_cast<SetVariable*>(object);
                                                 set->mirror_ = nullptr;
                                                 set->operations_.pop_back();
                                               },
                                               nullptr};
  if (!recording_ || !orderKnown_) return;
  if (mirror_ && !perform(operation, mirror_)) mirror_ = nullptr;
  operations_.push_back(std::move(operation));
  translator.trail.record(kRecord, this, 0);
}

void SetVariable::loseOrder(Translator& translator) {
  if (recording_ && orderKnown_) assignTrailed(translator.trail, orderKnown_, false);
}

bool SetVariable::contains(Translator& translator, const Value& key) {
  Value realized;
  Py_hash_t hash;
  if (!realizeKey(translator, keyForLookup(translator, key), realized, hash)) return false;
  int32_t index = find(translator, realized, hash);
  return index != OrderedValueMap::kAbsent && map_[index].live();
}

bool SetVariable::add(Translator& translator, const Value& key) {
  OrderedValueMap::Entry entry;
  if (!realizeKey(translator, key, entry.key, entry.hash)) return false;
  bool asksOthers = false;
  int32_t index = find(translator, entry.key, entry.hash, &asksOthers);
  if (translator.exceptionPending()) return false;
  bool isNew = index == OrderedValueMap::kAbsent || !map_[index].live();
  if (isNew && asksOthers) throw GraphBreak(GraphBreakKind::UnknownHash, describe(entry.key));
  if (!isNew) return true;
  if (index != OrderedValueMap::kAbsent) {
    map_.unlink(index);
    recordUndo(translator.trail, [this, index] { map_.relink(index); });
  }
  recordEffect(translator, EffectKind::SetAdd, entry.key);
  if (Ref<> data = keyData(translator, entry.key)) {
    record(translator, {"add", nullptr, pack(data)});
  } else {
    loseOrder(translator);
  }
  entry.value = Value::none();
  map_.append(std::move(entry));
  ++live_;
  recordUndo(translator.trail, [this] {
    map_.popLast();
    --live_;
  });
  return true;
}

void SetVariable::removeEntry(Translator& translator, int32_t index) {
  recordUndo(translator.trail, [this, index, old = map_[index]]() mutable {
    map_[index] = std::move(old);
    ++live_;
  });
  map_[index].value = Value();
  --live_;
}

bool SetVariable::remove(Translator& translator, const Value& key) {
  Value realized;
  Py_hash_t hash;
  if (!realizeKey(translator, keyForLookup(translator, key), realized, hash)) return false;
  int32_t index = find(translator, realized, hash);
  if (index == OrderedValueMap::kAbsent || !map_[index].live()) return false;
  realized = map_[index].key;
  if (Ref<> data = keyData(translator, realized)) {
    record(translator, {"discard", nullptr, pack(data)});
  } else {
    loseOrder(translator);
  }
  // What came and went has left its mark in the table. Methods are not asked once more.
  bool byMethods = isKeyByMethods(realized);
  if (existing() && map_[index].existed) letGo(translator, realized);
  removeEntry(translator, index);
  recordEffect(translator, byMethods ? EffectKind::SetRewrite : EffectKind::SetDiscard, realized);
  return true;
}

void SetVariable::clear(Translator& translator) {
  complete(translator);
  if (live_ > 0) letGoOfContents(translator, this);
  // An empty set has a table of its own as well.
  changeBy(translator, "clear", checked(PyTuple_New(0)), [&] {
    for (int32_t index = 0; index < map_.entryCount(); ++index) {
      if (map_[index].live()) removeEntry(translator, index);
    }
  });
}

Value SetVariable::pop(Translator& translator) {
  complete(translator);
  // Where the order was lost, the mirror is that of before: a rewind may bring it back.
  Ref<> set = orderKnown_ ? std::move(mirror_) : Ref<>();
  if (!set && live_ > 1) set = real(translator);
  Value item;
  if (set) {
    Ref<> first = checked(PySet_Pop(set.get()));
    item = knownItem(first.get(), isConstant(first) ? PyObject_Hash(first.get()) : -1);
  } else if (live_ == 1) {
    // The last one, mostly: it came in after those that have gone.
    int32_t index = map_.entryCount() - 1;
    while (!map_[index].live()) --index;
    item = map_[index].key;
  } else {
    throw GraphBreak(GraphBreakKind::SetOrder, describe(Value(this)));
  }
  bool isData = static_cast<bool>(keyData(translator, item));
  changeBy(translator, "pop", isData ? checked(PyTuple_New(0)) : nullptr,
           [&] { remove(translator, item); });
  if (set && recording_ && orderKnown_) mirror_ = std::move(set);
  return item;
}

// --- The order.

namespace {

// Keeps changes from being recorded one by one. Not trailed: a rewind in between leaves the scope.
class RecordingPause {
 public:
  explicit RecordingPause(bool& flag) : flag_(flag), previous_(flag) { flag = false; }
  ~RecordingPause() { flag_ = previous_; }
  RecordingPause(const RecordingPause&) = delete;
  RecordingPause& operator=(const RecordingPause&) = delete;

 private:
  bool& flag_;
  const bool previous_;
};

}  // namespace

void SetVariable::changeBy(Translator& translator, const char* name, Ref<> arguments,
                           llvm::function_ref<void()> change) {
  std::optional<RecordingPause> oneEffect;
  if (arguments) {
    recordEffect(translator, EffectKind::SetMethod, Value::string(name),
                 Value::constant(arguments.get()));
    oneEffect.emplace(logging_);
    record(translator, {name, nullptr, std::move(arguments)});
  } else {
    loseOrder(translator);
  }
  RecordingPause pause(recording_);
  change();
}

void SetVariable::makeBy(const char* name, Ref<> self, Ref<> arguments,
                         llvm::function_ref<void()> fill) {
  orderKnown_ = self && (!name || arguments);
  if (orderKnown_) operations_.push_back({name, std::move(self), std::move(arguments)});
  RecordingPause pause(recording_);
  fill();
}

Ref<> SetVariable::real(Translator& translator) {
  if (!orderKnown_ || isOfUnknownTable()) return nullptr;
  if (mirror_) return checked(cpython::copyTable(&PySet_Type, mirror_.get()).release());
  Ref<> set;
  if (existing()) {
    for (cpython::SetEntry each; cpython::nextEntry(existing(), each);) {
      if (!isConstant(each.element)) return nullptr;
    }
    complete(translator);
    Ref<> table = checked(cpython::copyTable(&PyFrozenSet_Type, existing()).release());
    translator.addGuard(source(), GuardType::SET_TABLE_MATCH, table);
    set = checked(cpython::copyTable(&PySet_Type, existing()).release());
  } else {
    set = checked(PySet_New(nullptr));
  }
  for (const Operation& operation : operations_) {
    if (!perform(operation, set)) return nullptr;
  }
  return set;
}

}  // namespace armature
