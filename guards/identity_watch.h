// Holds the objects whose identity guards test, weakly: an entry never keeps a model alive, and an
// address that was freed must never again be taken for the object that lived there.
//
// When one of the watched objects dies, valid() turns false for good. CPython calls the callbacks
// of weak references before it frees the object's memory, so no other object can have the address
// while valid() still holds.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

#include "core/ref.h"

namespace armature {

// By what an object that nothing can refer to weakly is known, where to hold it would keep alive
// what it is made of: the functions of a property, the class of a descriptor, the classes of an
// __mro__.
struct ObjectParts {
  const PyObject* address;  // may have been freed
  const PyTypeObject* type;
  llvm::SmallVector<PyObject*, 3> parts;  // null for one that is not there
  const void* definition = nullptr;       // of a descriptor: the structure that it shows

  // Nothing for an object of any other kind.
  static std::optional<ObjectParts> of(PyObject* object);
  // Is it that object, while none of the parts has died? Nothing tells one that has died since from
  // one with the same parts that lies where it did.
  bool areOf(PyObject* object) const;
};

// Is it the callback by which an IdentityWatch hears of a death?
bool isDeathNotice(BorrowedRef<> callback);

class IdentityWatch {
 public:
  IdentityWatch();
  ~IdentityWatch();
  IdentityWatch(const IdentityWatch&) = delete;
  IdentityWatch& operator=(const IdentityWatch&) = delete;

  // Objects that live as long as the interpreter (None, True, False, Ellipsis, static types) need
  // no reference. Types without weak references (int, dict, classes with __slots__, …) are the
  // exception to the rule: their objects are held strongly, unless their parts are watched.
  void watch(BorrowedRef<> object);
  // Watches the parts of the object in its place. Null, and nothing is watched, where it has none.
  const ObjectParts* watchParts(BorrowedRef<> object);
  bool isKnownByParts(BorrowedRef<> object) const { return parts_.count(object.get()); }

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
  llvm::DenseMap<PyObject*, std::unique_ptr<ObjectParts>> parts_;  // by the addresses then
};

}  // namespace armature
