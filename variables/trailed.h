// Assignments that the trail can take back.
#pragma once

#include <memory>

#include "core/trail.h"
#include "variables/value.h"

namespace armature {

// slot = value, undone by a rewind. The slot must outlive the trail's next cut or rewind.
inline void assignTrailed(Trail& trail, Value& slot, Value value) {
  static constexpr Trail::Operation kOperation = {[](void* target, uintptr_t data) {
                                                    auto* slot = static_cast<Value*>(target);
                                                    Value old;
                                                    new (&old) Value();
                                                    *reinterpret_cast<uintptr_t*>(&old) = data;
                                                    *slot = std::move(old);
                                                  },
                                                  [](void*, uintptr_t data) {
                                                    Value old;
                                                    *reinterpret_cast<uintptr_t*>(&old) = data;
                                                  }};
  trail.record(kOperation, &slot, slot.word());
  *reinterpret_cast<uintptr_t*>(&slot) = 0;  // The trail owns the old reference from here on.
  slot = std::move(value);
}

// The same for a word that owns nothing: a flag, a count, a pointer into the arena.
template <class T>
void assignTrailed(Trail& trail, T& slot, T value) {
  static_assert(sizeof(T) <= sizeof(uintptr_t) && std::is_trivially_copyable_v<T>);
  static constexpr Trail::Operation kOperation = {[](void* target, uintptr_t data) {
                                                    T old;
                                                    __builtin_memcpy(&old, &data, sizeof(T));
                                                    *static_cast<T*>(target) = old;
                                                  },
                                                  nullptr};
  uintptr_t word = 0;
  __builtin_memcpy(&word, &slot, sizeof(T));
  trail.record(kOperation, &slot, word);
  slot = value;
}

// Any other change: `undo` is a callable that takes it back, and owns what it needs for that. One
// that captures no more than two words lives in the trail's entry.
template <class Undo>
void recordUndo(Trail& trail, Undo undo) {
  struct Words {
    void* target = nullptr;
    uintptr_t data = 0;
  };
  if constexpr (std::is_trivially_copyable_v<Undo> && sizeof(Undo) <= sizeof(Words)) {
    static constexpr Trail::Operation kInPlace = {[](void* target, uintptr_t data) {
                                                    Words words{target, data};
                                                    (*reinterpret_cast<Undo*>(&words))();
                                                  },
                                                  nullptr};
    Words words;
    new (&words) Undo(undo);
    trail.record(kInPlace, words.target, words.data);
    return;
  }
  static constexpr Trail::Operation kOperation = {
      [](void* target, uintptr_t) {
        auto* closure = static_cast<Undo*>(target);
        (*closure)();
        delete closure;
      },
      [](void* target, uintptr_t) { delete static_cast<Undo*>(target); }};
  auto closure = std::make_unique<Undo>(std::move(undo));
  trail.record(kOperation, closure.get(), 0);
  closure.release();
}

}  // namespace armature
