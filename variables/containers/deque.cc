// The state of deques.
#include "variables/containers/deque.h"

#include <algorithm>

#include "cpython/type_lookup.h"
#include "variables/ends_of_objects.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

DequeVariable::DequeVariable(Translator& translator, const Source* source, BorrowedRef<> existing)
    : MutableSequenceVariable(VariableKind::Deque, translator, source, existing),
      bound_(cpython::dequeBound(existing)) {
  if (!source) return;
  PyObject* descriptor = cpython::ownAttribute(cpython::dequeType(), "maxlen");
  const Source* path = translator.sources->item(SourceKind::Descriptor, source, descriptor);
  if (bound_ < 0) {
    translator.addGuard(path, GuardType::NONE_MATCH);
  } else {
    translator.addGuard(path, GuardType::EQUALS_MATCH, Value::integer(bound_).object());
  }
}

void DequeVariable::setBound(Translator& translator, int64_t bound) {
  assignTrailed(translator.trail, bound_, bound);
}

void DequeVariable::noteMove(Translator& translator) {
  assignTrailed(translator.trail, moves_, moves_ + 1);
}

void DequeVariable::append(Translator& translator, Value item) {
  bool drops = isFull();
  MutableSequenceVariable::append(translator, std::move(item));
  if (drops) take(translator, 0);
}

void DequeVariable::appendLeft(Translator& translator, Value item) {
  bool drops = isFull();
  insert(translator, 0, std::move(item));
  if (drops) take(translator, size() - 1);
}

void DequeVariable::clear(Translator& translator) {
  if (size() == 0) return;
  noteMove(translator);
  replace(translator, {});
}

void DequeVariable::rotate(Translator& translator, int64_t places) {
  auto count = static_cast<int64_t>(size());
  if (count <= 1) return;
  noteMove(translator);
  places %= count;
  if (places < 0) places += count;
  items();
  markRearranged(translator);
  std::rotate(items_.begin(), items_.end() - places, items_.end());
  recordUndo(translator.trail, [this, places] {
    std::rotate(items_.begin(), items_.begin() + places, items_.end());
  });
  recordEffect(translator, {EffectKind::SequenceRotate, this, {}, {}, places});
}

void DequeVariable::reverse(Translator& translator) {
  if (size() <= 1) return;
  items();
  markRearranged(translator);
  std::reverse(items_.begin(), items_.end());
  recordUndo(translator.trail, [this] { std::reverse(items_.begin(), items_.end()); });
  recordEffect(translator, {EffectKind::SequenceReverse, this});
}

}  // namespace armature
