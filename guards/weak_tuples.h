// Tuples as keys of a guard program: they hold what goes by its identity weakly, so that no guard
// keeps alive an object because the program has looked for (object, 1) in a dict.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <utility>
#include <vector>

#include "core/ref.h"
#include "guards/identity_watch.h"

namespace armature {

// Is the key a tuple that holds other things than constants?
bool isTupleOfObjects(BorrowedRef<> key);

class WeakTuples {
 public:
  WeakTuples() = default;
  ~WeakTuples();
  WeakTuples(const WeakTuples&) = delete;
  WeakTuples& operator=(const WeakTuples&) = delete;

  // A tuple with the items of the key, which hashes and compares as it does, for as long as the
  // watch is valid: it watches what is held weakly. Nobody else may keep it.
  PyObject* copy(BorrowedRef<> key, IdentityWatch& watch);
  // The copy that was made of that very key; null if there is none.
  PyObject* copyOf(BorrowedRef<> key) const;

 private:
  Ref<> make(BorrowedRef<> key, IdentityWatch& watch);

  std::vector<std::pair<const PyObject*, PyObject*>> copies_;  // of keys, by their addresses
  std::vector<Ref<>> tuples_;                                  // inner ones first
  std::vector<std::pair<PyObject*, Py_ssize_t>> weakItems_;
};

}  // namespace armature
