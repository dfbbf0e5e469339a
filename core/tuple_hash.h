// What a tuple makes of the hashes of its items: the xxHash scheme of CPython's tuples
// (Objects/tupleobject.c), for 64-bit words.
#pragma once

#include <Python.h>

namespace armature {

class TupleHash {
 public:
  void add(Py_hash_t item) {
    static_assert(sizeof(Py_uhash_t) == 8);
    accumulator_ += static_cast<Py_uhash_t>(item) * 14029467366897019727u;
    accumulator_ = accumulator_ << 31 | accumulator_ >> 33;
    accumulator_ *= 11400714785074694791u;
    ++count_;
  }
  Py_hash_t finish() const {
    Py_uhash_t result = accumulator_ + (count_ ^ (2870177450012600261u ^ 3527539u));
    return result == static_cast<Py_uhash_t>(-1) ? 1546275796 : static_cast<Py_hash_t>(result);
  }

 private:
  Py_uhash_t accumulator_ = 2870177450012600261u;
  Py_uhash_t count_ = 0;
};

}  // namespace armature
