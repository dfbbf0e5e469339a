// Iterators of builtin types, read without a step: where they stand, and what they will give.
//
// Only exact types are known, in states in which no code of the program has a say. Nothing here
// leaves an exception set.
#pragma once

#include <cstdint>

#include "core/ref.h"

namespace armature::cpython {

// Can the next items of iterators of the type be read? Over lists, tuples, str, bytes, ranges,
// dicts, sets, deques, and what itertools.count, repeat, cycle (behind its first round), product
// and their like walk over, backwards too.
bool canLookAhead(const PyTypeObject* iteratorType);

// What a step gives after `distance` others. Unknown: that cannot be said without making the steps,
// because it would be an exception, say.
enum class Step : uint8_t { Item, End, Unknown };
// Of itertools.islice: whether it would ask its iterator, which it has asked `distance` times more.
Step stepAhead(BorrowedRef<> iterator, int64_t distance);

// An object that was read. `isNew`: the caller owns it; else it is borrowed.
struct Loaded {
  PyObject* object = nullptr;
  bool isNew = false;
};
// The item of that step; of an iterator over a dict the key, or the value that belongs to it. Null
// if there is none.
enum class Part : bool { Item, Value };
Loaded itemAhead(BorrowedRef<> iterator, int64_t distance, Part part = Part::Item);

// Does the type walk over the entries of a dict? Then, do its items have such a part?
bool walksOverDict(const PyTypeObject* iteratorType);
bool givesKeys(const PyTypeObject* iteratorType);
bool givesValues(const PyTypeObject* iteratorType);
// Over a deque, which it does not let go of at its end.
bool walksOverDeque(const PyTypeObject* iteratorType);
// Backwards through a list or a dict.
bool walksBackwards(const PyTypeObject* iteratorType);

// What iterators hold.
enum class IteratorField : uint8_t {
  Container,  // what it walks over, until it has come to the end: a list, dict, set, tuple, …
  Iterator,  // the one that enumerate, filter and islice ask, and of chain the one of the iterables
  Iterators,  // the tuple of those that zip and map ask
  Function,   // of map and filter, or that of iter(function, sentinel)
  Count,      // the number that enumerate gives next: a new object
  Strict,     // of zip: True or False
  Active,     // of chain: the one it is going through
  Sentinel,   // of iter(function, sentinel)
  Skip,       // of islice: how many it passes over before the next: a new int
  Stride,     // of islice: from one that it takes to the next: a new int
  State,      // from here on: the parts of its state (iterator_state.h) that are objects
};
const char* fieldName(IteratorField field);
// Null where the iterator has no such field, or nothing in it.
Loaded iteratorField(BorrowedRef<> iterator, IteratorField field);

// Makes so many steps, the last of which may be the one at the end. Of enumerate and islice it
// moves only the number; the iterator within is another one. False with an exception set.
bool advance(BorrowedRef<> iterator, int64_t steps);

// Lets chain go on with these; null: none. The other such types have no state of their own.
void setChain(BorrowedRef<> chain, BorrowedRef<> iterators, BorrowedRef<> active);
// reversed() as it stands at that index of a sequence, whose methods are not asked. Null with an
// exception set.
Ref<> makeReversed(BorrowedRef<> sequence, Py_ssize_t index);
// One that has come to its end and let go of what it walked over, as those over lists, tuples, str,
// bytes and sets do, reversed(), and those that ask __getitem__ or a function. Null with an
// exception set.
Ref<> makeAtEnd(PyTypeObject* type);
// Lets iter(function, sentinel) or islice be at its end.
void endIterator(BorrowedRef<> iterator);

// itertools.chain and islice
PyTypeObject* chainType();
PyTypeObject* isliceType();

// A class of itertools, which a program may have replaced there: then null.
PyTypeObject* itertoolsType(const char* name);

// Whether the layouts are those of this interpreter.
bool iteratorsAreRead();

}  // namespace armature::cpython
