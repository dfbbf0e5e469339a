// What a guard program works with in the place of objects that hold others: tuples as keys, which
// hold what goes by its identity weakly, so that no guard keeps alive an object because the program
// has looked for (object, 1) in a dict; and the descriptors of a class's slots, which do not hold
// it.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <utility>
#include <vector>

#include "core/ref.h"
#include "guards/identity_watch.h"

namespace armature {

// Is the key a tuple that holds other things than constants?
bool isTupleOfObjects(BorrowedRef<> key);

class WeakCopies {
 public:
  WeakCopies() = default;
  ~WeakCopies();
  WeakCopies(const WeakCopies&) = delete;
  WeakCopies& operator=(const WeakCopies&) = delete;

  // A tuple with the items of the key, which hashes and compares as it does, for as long as the
  // watch is valid: it watches what is held weakly. Nobody else may keep it.
  PyObject* copy(BorrowedRef<> key, IdentityWatch& watch);
  // A member or getset descriptor that reads what this one does, for as long as the watch is valid:
  // it watches the class.
  PyObject* copyOfDescriptor(BorrowedRef<> descriptor, IdentityWatch& watch);
  // The copy that was made of that very key or descriptor; null if there is none.
  PyObject* copyOf(BorrowedRef<> original) const;
  // Is the object what that copy was made of? Nothing tells a tuple that has died since from one of
  // the same type and items that lies where it did. False of what is no copy.
  bool isOriginalOf(BorrowedRef<> object, const PyObject* copy) const;

 private:
  struct Original {
    const PyObject* address;  // may have been freed
    PyTypeObject* type;       // watched
  };
  Ref<> make(BorrowedRef<> key, IdentityWatch& watch);

  llvm::DenseMap<const PyObject*, PyObject*> copies_;    // by the addresses of the originals
  llvm::DenseMap<const PyObject*, Original> originals_;  // by the addresses of the copies
  std::vector<Ref<>> tuples_;                            // inner ones first
  std::vector<Ref<>> descriptors_;
  std::vector<std::pair<PyObject*, Py_ssize_t>> weakItems_;
};

}  // namespace armature
