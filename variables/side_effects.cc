#include "variables/side_effects.h"

#include <algorithm>
#include <stdexcept>

#include "core/fault_injection.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"
#include "variables/variable_tracker.h"

namespace armature {

void SideEffects::changes(VariableTracker* target) {
  ++changeCount_;
  if (bodyStart_ == 0 || (!target->existing() && target->serial() >= bodyStart_)) return;
  throw GraphBreak(GraphBreakKind::EffectInBody, describe(target));
}

bool SideEffects::concerns(VariableTracker* target) {
  changes(target);
  if (target->source()) return true;
  if (!target->existing()) return false;
  throw std::logic_error("change of an object without a source: " + describe(target));
}

int32_t SideEffects::append(Effect effect) {
  static constexpr Trail::Operation kAppend = {
      [](void* effects, uintptr_t before) {
        static_cast<SideEffects*>(effects)->undoAppend(static_cast<int32_t>(before) - 1);
      },
      nullptr};
  faultSite();
  auto number = static_cast<int32_t>(log_.size());
  Record record;
  // Past the cancelled ones, so that a chain is never longer than what stands in it.
  record.previous = last(effect.target);
  record.chainLength = chainLength(record.previous) + 1;
  auto [found, isFirst] = last_.try_emplace(effect.target, number);
  int32_t before = isFirst ? kNone : found->second;
  found->second = number;
  if (isFirst) written_.push_back(effect.target);
  record.effect = std::move(effect);
  log_.push_back(std::move(record));
  ++standing_;
  trail_.record(kAppend, this, static_cast<uintptr_t>(before + 1));
  return number;
}

void SideEffects::undoAppend(int32_t before) {
  VariableTracker* target = log_.back().effect.target;
  if (before == kNone) {
    last_.erase(target);
    written_.pop_back();
  } else {
    last_[target] = before;
  }
  log_.pop_back();
  --standing_;
}

void SideEffects::advance(VariableTracker* iterator) {
  static constexpr Trail::Operation kStep = {
      [](void* effects, uintptr_t number) {
        --static_cast<SideEffects*>(effects)->log_[number].effect.index;
      },
      nullptr};
  constexpr size_t kFarthest = 16;
  size_t first = log_.size() - std::min(log_.size(), kFarthest);
  for (size_t number = log_.size(); number > first; --number) {
    Effect& effect = log_[number - 1].effect;
    if (effect.kind == EffectKind::Cancelled) continue;
    if (effect.kind != EffectKind::IteratorAdvance) break;
    if (effect.target != iterator) continue;
    ++effect.index;
    trail_.record(kStep, this, number - 1);
    return;
  }
  append({EffectKind::IteratorAdvance, iterator, {}, {}, 1});
}

void SideEffects::cancel(int32_t number) {
  Effect& effect = log_[number].effect;
  if (effect.kind == EffectKind::Cancelled) return;
  recordUndo(trail_, [this, number, kind = effect.kind] {
    log_[number].effect.kind = kind;
    ++standing_;
  });
  effect.kind = EffectKind::Cancelled;
  --standing_;
}

bool SideEffects::isCancellable(int32_t number) const {
  return number >= kept_.lookup(log_[number].effect.target);
}

void SideEffects::keep(const VariableTracker* target) {
  int32_t& count = kept_[target];
  int32_t needed = last(target) + 1;
  if (needed <= count) return;
  recordUndo(trail_, [this, target, before = count] { kept_[target] = before; });
  count = needed;
}

int32_t SideEffects::last(const VariableTracker* target) const {
  auto found = last_.find(target);
  int32_t number = found == last_.end() ? kNone : found->second;
  while (number != kNone && log_[number].effect.kind == EffectKind::Cancelled) {
    number = log_[number].previous;
  }
  return number;
}

int32_t SideEffects::chainLength(int32_t number) const {
  return number == kNone ? 0 : log_[number].chainLength;
}

void SideEffects::cancelAll(const VariableTracker* target) {
  auto found = last_.find(target);
  if (found == last_.end()) return;
  for (int32_t number = found->second; number != kNone; number = log_[number].previous) {
    if (isCancellable(number)) cancel(number);
  }
}

}  // namespace armature
