// The state of lists, and how tuples and slices are made.
#include "variables/containers/sequence.h"

#include "variables/constants/constant.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

void ListVariable::noteMutation(Translator& translator) {
  if (modified_ || !source()) return;
  assignTrailed(translator.trail, modified_, true);
  translator.recordMutation(this);
}

void ListVariable::append(Translator& translator, Value item) {
  static constexpr Trail::Operation kAppend = {
      [](void* list, uintptr_t) { static_cast<ListVariable*>(list)->items_.pop_back(); }, nullptr};
  noteMutation(translator);
  items_.push_back(std::move(item));
  translator.trail.record(kAppend, this, 0);
}

void ListVariable::setItem(Translator& translator, size_t index, Value item) {
  noteMutation(translator);
  // By index: the items may have moved in memory by the time of a rewind.
  recordUndo(translator.trail, [this, index, old = std::move(items_[index])]() mutable {
    items_[index] = std::move(old);
  });
  items_[index] = std::move(item);
}

Value ListVariable::pop(Translator& translator, size_t index) {
  noteMutation(translator);
  Value item = items_[index];
  items_.erase(items_.begin() + static_cast<ptrdiff_t>(index));
  recordUndo(translator.trail, [this, index, item] {
    items_.insert(items_.begin() + static_cast<ptrdiff_t>(index), item);
  });
  return item;
}

void ListVariable::replace(Translator& translator, ValueVector items) {
  noteMutation(translator);
  recordUndo(translator.trail,
             [this, old = std::move(items_)]() mutable { items_ = std::move(old); });
  items_ = std::move(items);
}

Value makeTuple(Translator& translator, ValueVector items) {
  for (const Value& item : items) {
    if (!isConstantData(item)) return translator.make<TupleVariable>(std::move(items));
  }
  Ref<> tuple = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, Ref<>::create(items[i].object()).release());
  }
  return Value::steal(tuple.release());
}

Value makeSlice(Translator& translator, Value start, Value stop, Value step) {
  if (isConstantData(start) && isConstantData(stop) && isConstantData(step)) {
    return Value::steal(PySlice_New(start.object(), stop.object(), step.object()));
  }
  return translator.make<SliceVariable>(std::move(start), std::move(stop), std::move(step));
}

}  // namespace armature
