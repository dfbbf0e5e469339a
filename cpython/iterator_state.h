// The state of iterators of itertools that step others or call functions: what it consists of, and
// how an iterator is put into one.
//
// Only exact types are known whose layouts have been tried out. Nothing here leaves an exception
// set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ref.h"
#include "cpython/iterators.h"

namespace armature::cpython {

// Each type has its parts in an order of its own:
//   takewhile, dropwhile  the function, the iterator, whether the verdict has turned
//   filterfalse, starmap  the function, the iterator
//   compress              the iterators of the data and of the selectors
//   accumulate            the iterator, the function or None, the total, what is given first
//   pairwise              the iterator, the item that came before
//   cycle                 the iterator, the list of what it gave, whether that is complete
//   zip_longest           what fills up, how many iterators have not ended, the iterators
enum class StateKind : uint8_t { Object, Flag, Number };

// 0: its state is not known by parts.
size_t stateSize(BorrowedRef<> iterator);
StateKind stateKind(BorrowedRef<> iterator, size_t part);
// Borrowed; null where there is nothing, or no object.
PyObject* stateObject(BorrowedRef<> iterator, size_t part);
int64_t stateNumber(BorrowedRef<> iterator, size_t part);

// All parts, null for where there is nothing. What it held before is let go of when the whole of
// the new state is in its place. False with an exception set.
bool setState(BorrowedRef<> iterator, PyObject* const* parts, size_t count);

// Tries the layouts out. Iterators of which one is not as we know it have no parts from then on.
void tryIteratorStates();

// In which of its states an iterator is, but for the objects and the place: which parts it has,
// and what its flags are. Of chain, islice and iter(function, sentinel), too.
int64_t iteratorState(BorrowedRef<> iterator);

}  // namespace armature::cpython
