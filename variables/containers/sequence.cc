// The state of lists and deques, and how tuples and slices are made.
#include "variables/containers/sequence.h"

#include <cstring>

#include "core/checked.h"
#include "core/constant.h"
#include "variables/constants/computed_values.h"
#include "variables/constants/constant.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/ends_of_objects.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

namespace {

// A value is one word, which knows nothing of its place: to move those behind an item is to copy
// memory, as in CPython's own lists. (SmallVector would move them one by one.)
void insertItem(ValueVector& items, size_t index, Value item) {
  items.emplace_back();
  Value* place = items.data() + index;
  std::memmove(static_cast<void*>(place + 1), static_cast<const void*>(place),
               (items.size() - 1 - index) * sizeof(Value));
  new (place) Value(std::move(item));
}

Value takeItem(ValueVector& items, size_t index) {
  Value* place = items.data() + index;
  Value item = std::move(*place);
  std::memmove(static_cast<void*>(place), static_cast<const void*>(place + 1),
               (items.size() - 1 - index) * sizeof(Value));
  new (items.data() + items.size() - 1) Value();
  items.pop_back();
  return item;
}

}  // namespace

// --- Reading an existing list or deque.

void MutableSequenceVariable::guardLength(Translator& translator) const {
  if (lengthGuarded_) return;
  translator.addGuard(source(), GuardType::SEQUENCE_LENGTH, nullptr,
                      static_cast<int64_t>(existingSize()));
  assignTrailed(translator.trail, lengthGuarded_, true);
}

void SequenceVariable::readAll() const {
  // Tuples are made with their items.
  const auto* list = static_cast<const MutableSequenceVariable*>(this);
  Translator& translator = *unread_;
  list->guardLength(translator);
  size_t count = list->existingSize();
  translator.checkItemCount(source(), static_cast<Py_ssize_t>(count));
  ValueVector all;
  all.reserve(count + items_.size());
  for (size_t i = 0; i < count; ++i) all.push_back(list->item(i));
  all.append(items_.begin(), items_.end());
  recordUndo(translator.trail,
             [this, tail = std::move(items_)]() mutable { items_ = std::move(tail); });
  items_ = std::move(all);
  assignTrailed(translator.trail, unread_, static_cast<Translator*>(nullptr));
}

size_t MutableSequenceVariable::size() const {
  if (!unread_) return items_.size();
  guardLength(*unread_);
  return existingSize() + items_.size();
}

Value MutableSequenceVariable::varyingSize() const {
  if (!unread_ || lengthGuarded_) return Value();
  Value length = computedLength(*unread_, *this);
  if (!length || items_.empty()) return length;
  return symbolicBinary(*unread_, nb_add, length, Value::integer(items_.size()));
}

Value MutableSequenceVariable::item(size_t index) const {
  if (!unread_) return items_[index];
  guardLength(*unread_);
  size_t count = existingSize();
  if (index >= count) return items_[index - count];
  auto [found, inserted] = single_.try_emplace(index);
  if (inserted) {
    const Source* path = source() ? unread_->sources->item(itemSource(), source(), index) : nullptr;
    found->second = unread_->wrap(path, existingItem(index));
  }
  return found->second;
}

llvm::ArrayRef<Value> MutableSequenceVariable::appended() const {
  llvm::ArrayRef<Value> items = items_;
  bool isTail = unread_ || !existing();
  return isTail ? items : items.drop_front(existingSize());
}

// --- Changing them.

void MutableSequenceVariable::markRearranged(Translator& translator) {
  if (!rearranged_) assignTrailed(translator.trail, rearranged_, true);
}

void MutableSequenceVariable::recordRewrite(Translator& translator) {
  if (!translator.effects.concerns(this)) return;
  int32_t last = translator.effects.last(this);
  if (last >= 0 && translator.effects[last].kind == EffectKind::SequenceRewrite) return;
  translator.effects.cancelAll(this);
  translator.effects.append({EffectKind::SequenceRewrite, this, {}, {}});
}

// After the change has been made.
void MutableSequenceVariable::recordEffect(Translator& translator, Effect effect) {
  if (!translator.effects.concerns(this)) return;
  SideEffects& effects = translator.effects;
  int32_t last = effects.last(this);
  if (last >= 0 && effects[last].kind == EffectKind::SequenceRewrite) return;
  // Where the operations outgrow the sequence, its items are the shorter way to say it.
  if (static_cast<size_t>(effects.chainLength(last)) > 2 * items_.size() + 16) {
    recordRewrite(translator);
    return;
  }
  effect.target = this;
  effects.append(std::move(effect));
}

void MutableSequenceVariable::append(Translator& translator, Value item) {
  static constexpr Trail::Operation kAppend = {
      [](void* list, uintptr_t) { static_cast<MutableSequenceVariable*>(list)->items_.pop_back(); },
      nullptr};
  items_.push_back(item);
  translator.trail.record(kAppend, this, 0);
  noteMove(translator);
  recordEffect(translator, {EffectKind::SequenceAppend, this, {}, std::move(item)});
}

void MutableSequenceVariable::setItem(Translator& translator, size_t index, Value item) {
  items();
  if (existing()) letGo(translator, items_[index], this);
  markRearranged(translator);
  // By index: the items may have moved in memory by the time of a rewind.
  recordUndo(translator.trail, [this, index, old = std::move(items_[index])]() mutable {
    items_[index] = std::move(old);
  });
  items_[index] = item;
  // The record that set the same item last is void now.
  SideEffects& effects = translator.effects;
  int32_t last = effects.last(this);
  EffectKind kind = last < 0 ? EffectKind::Cancelled : effects[last].kind;
  bool again =
      kind == EffectKind::SequenceSetItem && effects[last].index == static_cast<int64_t>(index);
  bool appended = kind == EffectKind::SequenceAppend && index + 1 == items_.size() &&
                  effects.isCancellable(last);
  if (appended || (again && effects.isCancellable(last))) effects.cancel(last);
  recordEffect(translator, {appended ? EffectKind::SequenceAppend : EffectKind::SequenceSetItem,
                            this,
                            {},
                            std::move(item),
                            static_cast<int64_t>(index)});
}

void MutableSequenceVariable::insert(Translator& translator, size_t index, Value item) {
  if (index == size()) return MutableSequenceVariable::append(translator, std::move(item));
  items();
  markRearranged(translator);
  insertItem(items_, index, item);
  recordUndo(translator.trail, [this, index] { takeItem(items_, index); });
  noteMove(translator);
  recordEffect(
      translator,
      {EffectKind::SequenceInsert, this, {}, std::move(item), static_cast<int64_t>(index)});
}

Value MutableSequenceVariable::take(Translator& translator, size_t index) {
  items();
  markRearranged(translator);
  if (existing()) letGo(translator, Value(items_[index]), this);
  Value item = takeItem(items_, index);
  recordUndo(translator.trail, [this, index, item] { insertItem(items_, index, item); });
  return item;
}

Value MutableSequenceVariable::pop(Translator& translator, size_t index) {
  bool isLast = index + 1 == size();
  Value item = take(translator, index);
  noteMove(translator);
  int32_t last = translator.effects.last(this);
  if (isLast && forgetsAppended() && last >= 0 &&
      translator.effects[last].kind == EffectKind::SequenceAppend &&
      translator.effects.isCancellable(last)) {
    translator.effects.cancel(last);
    if (translator.effects.last(this) < 0) {
      recordEffect(translator, {EffectKind::SequenceTouch, this});
    }
  } else {
    recordEffect(translator,
                 {EffectKind::SequenceDelete, this, {}, {}, static_cast<int64_t>(index)});
  }
  return item;
}

void MutableSequenceVariable::replace(Translator& translator, ValueVector items) {
  letGoOfContents(translator, this);
  markRearranged(translator);
  // What an existing one held is of no interest any more, but an undo has to know it.
  recordUndo(translator.trail,
             [this, old = std::move(items_)]() mutable { items_ = std::move(old); });
  items_ = std::move(items);
  if (unread_) assignTrailed(translator.trail, unread_, static_cast<Translator*>(nullptr));
  recordRewrite(translator);
  noteReplacement(translator);
}

void ListVariable::beginSort(Translator& translator) {
  sorts_.push_back(false);
  recordUndo(translator.trail, [this] { sorts_.pop_back(); });
}

bool ListVariable::endSort(Translator& translator) {
  bool hasChanged = sorts_.pop_back_val();
  recordUndo(translator.trail, [this, hasChanged] { sorts_.push_back(hasChanged); });
  return hasChanged;
}

void ListVariable::noteItem(Translator& translator) {
  if (sorts_.back()) return;
  sorts_.back() = true;
  recordUndo(translator.trail, [this] { sorts_.back() = false; });
}

Value makeTuple(Translator& translator, ValueVector items) {
  for (const Value& item : items) {
    if (!isConstantData(item)) return translator.make<TupleVariable>(std::move(items));
  }
  Ref<> tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, Ref<>::create(items[i].object()).release());
  }
  if (isConstant(tuple.get())) return Value::steal(tuple.release());
  // Nested too deep for a constant.
  return translator.make<TupleVariable>(std::move(items));
}

Value makeSlice(Translator& translator, Value start, Value stop, Value step) {
  auto isPlain = [](const Value& part) {
    return isConstantData(part) && !isComposite(part.object());
  };
  if (isPlain(start) && isPlain(stop) && isPlain(step)) {
    Ref<> slice = checked(PySlice_New(start.object(), stop.object(), step.object()));
    if (isConstant(slice.get())) return Value::steal(slice.release());
  }
  return translator.make<SliceVariable>(std::move(start), std::move(stop), std::move(step));
}

}  // namespace armature
