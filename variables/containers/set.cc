// The state of sets.
#include <cstring>
#include <optional>

#include "core/checked.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/ends_of_objects.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

Ref<> pack(const Ref<>& item) { return checked(PyTuple_Pack(1, item.get())); }

}  // namespace

void SetVariable::recordEffect(Translator& translator, EffectKind kind, Value key, Value value) {
  if (!translator.effects.concerns(this) || !logging_) return;
  SideEffects& effects = translator.effects;
  int32_t last = effects.last(this);
  if (last >= 0 && effects[last].kind == EffectKind::SetRewrite) return;
  // Where the operations outgrow the set, its items are the shorter way to say it.
  if (static_cast<size_t>(effects.chainLength(last)) > 2 * live_ + 16) {
    kind = EffectKind::SetRewrite;
  }
  if (kind == EffectKind::SetRewrite) {
    effects.cancelAll(this);
    effects.append({kind, this, {}, {}});
    return;
  }
  effects.append({kind, this, std::move(key), std::move(value)});
}

void SetVariable::record(Translator& translator, Operation operation) {
  static constexpr Trail::Operation kRecord = {
      [](void* set, uintptr_t) { static_cast<SetVariable*>(set)->operations_.pop_back(); },
      nullptr};
  if (!recording_ || !orderKnown_) return;
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
  int32_t index = findKey(translator, map_, realized, hash);
  return index != OrderedValueMap::kAbsent && map_[index].live();
}

bool SetVariable::add(Translator& translator, const Value& key) {
  static constexpr Trail::Operation kAdd = {[](void* target, uintptr_t) {
                                              auto* set = static_cast<SetVariable*>(target);
                                              set->map_.popLast();
                                              --set->live_;
                                            },
                                            nullptr};
  OrderedValueMap::Entry entry;
  if (!realizeKey(translator, key, entry.key, entry.hash)) return false;
  bool asksOthers = false;
  int32_t index = findKey(translator, map_, entry.key, entry.hash, &asksOthers);
  if (translator.exceptionPending()) return false;
  bool isNew = index == OrderedValueMap::kAbsent || !map_[index].live();
  if (isNew && asksOthers) throw GraphBreak(GraphBreakKind::UnknownHash, describe(entry.key));
  if (index != OrderedValueMap::kAbsent) {
    if (map_[index].live()) return true;
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
  translator.trail.record(kAdd, this, 0);
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
  int32_t index = findKey(translator, map_, realized, hash);
  if (index == OrderedValueMap::kAbsent || !map_[index].live()) return false;
  realized = map_[index].key;
  if (Ref<> data = keyData(translator, realized)) {
    record(translator, {"discard", nullptr, pack(data)});
  } else {
    loseOrder(translator);
  }
  int32_t last = translator.effects.last(this);
  const Effect* effect = last < 0 ? nullptr : &translator.effects[last];
  if (effect && effect->kind == EffectKind::SetAdd && equalKeys(effect->key, realized)) {
    translator.effects.cancel(last);
  } else {
    bool isData = !isKeyByMethods(realized);
    recordEffect(translator, isData ? EffectKind::SetDiscard : EffectKind::SetRewrite, realized);
  }
  if (existing()) letGo(translator, map_[index].key);
  removeEntry(translator, index);
  return true;
}

void SetVariable::clear(Translator& translator) {
  record(translator, {"clear", nullptr, checked(PyTuple_New(0))});
  if (live_ > 0) {
    letGoOfContents(translator, this);
    recordEffect(translator, EffectKind::SetRewrite);
  }
  for (int32_t index = 0; index < map_.entryCount(); ++index) {
    if (map_[index].live()) removeEntry(translator, index);
  }
}

Value SetVariable::pop(Translator& translator) {
  Value item;
  if (live_ == 1) {
    forEach([&](const Value& only) { item = only; });
  } else if (Ref<> set = real()) {
    item = itemLike(checked(PySet_Pop(set.get())));
  } else {
    throw GraphBreak(GraphBreakKind::SetOrder, describe(this));
  }
  changeBy(translator, "pop", keyData(translator, item) ? checked(PyTuple_New(0)) : nullptr,
           [&] { remove(translator, item); });
  return item;
}

BorrowedRef<> SetVariable::untouched(Translator& translator) const {
  if (!existing() || !source() || translator.effects.last(this) >= 0) return nullptr;
  auto count = static_cast<size_t>(PySet_GET_SIZE(existing()));
  return live_ == count && static_cast<size_t>(map_.entryCount()) == count ? existing() : nullptr;
}

Value SetVariable::itemLike(BorrowedRef<> data) const {
  Value key = Value::constant(data);
  int32_t index = map_.find(key, hashKey(key).hash);
  return index == OrderedValueMap::kAbsent ? key : map_[index].key;
}

void SetVariable::forEach(llvm::function_ref<void(const Value&)> visit) const {
  for (int32_t index = 0; index < map_.entryCount(); ++index) {
    if (map_[index].live()) visit(map_[index].key);
  }
}

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

Ref<> SetVariable::real() const {
  if (!orderKnown_) return nullptr;
  Ref<> set = checked(PySet_New(nullptr));
  for (const Operation& operation : operations_) {
    PyObject* self = operation.self ? operation.self.get() : set.get();
    Ref<> result;
    if (operation.name) {
      Ref<> method = checked(PyObject_GetAttrString(self, operation.name));
      result = Ref<>::steal(PyObject_Call(method.get(), operation.arguments.get(), nullptr));
    } else {
      result = Ref<>::steal(PySet_New(self));
    }
    if (!result) {
      PyErr_Clear();
      return nullptr;
    }
    if (operation.self) set = std::move(result);
  }
  return set;
}

}  // namespace armature
