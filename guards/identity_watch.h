// Holds the objects whose identity guards test, weakly: an entry never keeps a model alive, and an
// address that was freed must never again be taken for the object that lived there.
//
// When one of the watched objects dies, valid() turns false for good. CPython calls the callbacks
// of weak references before it frees the object's memory, so no other object can have the address
// while valid() still holds.
#pragma once

#include <utility>
#include <vector>

#include <llvm/ADT/DenseSet.h>

#include "core/ref.h"

namespace armature {

// Is it the callback by which an IdentityWatch hears of a death?
bool isDeathNotice(BorrowedRef<> callback);

class IdentityWatch {
 public:
  IdentityWatch();
  ~IdentityWatch();
  IdentityWatch(const IdentityWatch&) = delete;
  IdentityWatch& operator=(const IdentityWatch&) = delete;

  // Objects that live as long as the interpreter (None, True, False, Ellipsis, static types) need
  // no reference. Types without weak references (int, tuple, dict, classes with __slots__, …) are
  // the exception to the rule: their objects are held strongly.
  void watch(BorrowedRef<> object);

  bool valid() const { return *valid_; }
  // Lets go of what it holds strongly: what became invalid is never looked at again.
  void giveUp() { std::exchange(held_, {}); }
  // Visits the objects held strongly, for the garbage collector.
  int traverse(visitproc visit, void* arg) const;

 private:
  // A callable that sets its flag to false.
  Ref<> callback_;
  const bool* valid_;
  std::vector<Ref<>> references_;  // weak
  std::vector<Ref<>> held_;        // objects; given up when one of the others dies
  llvm::DenseSet<PyObject*> watched_;
};

}  // namespace armature
