// The frame of a generator that stands still: where it stands and what it holds, read and replaced.
//
// Only exact generators are known (no coroutines). Nothing here runs code of the program, but what
// the end of an object that is let go of runs.
#pragma once

#include <cstdint>
#include <span>

#include "core/ref.h"

namespace armature::cpython {

// Created: before its first instruction. Suspended: at a yield. Running: it counts as executing.
enum class GeneratorState : uint8_t { Created, Suspended, Running, Finished };
GeneratorState generatorState(BorrowedRef<> generator);

PyCodeObject* generatorCode(BorrowedRef<> generator);
// Borrowed; null once it has finished.
PyObject* generatorGlobals(BorrowedRef<> generator);
PyObject* generatorBuiltins(BorrowedRef<> generator);
// The code unit of the yield at which it is suspended; -1 if it is not.
int32_t generatorPosition(BorrowedRef<> generator);
// Its locals and then its stack, without what a resumption pushes. None in one that is running or
// has finished.
size_t generatorSlotCount(BorrowedRef<> generator);
// Borrowed; null for an empty slot, or where there is none.
PyObject* generatorSlot(BorrowedRef<> generator, size_t index);
// The exception that it is handling itself while it is suspended; null if none.
PyObject* handledByGenerator(BorrowedRef<> generator);

// Has somebody asked for its frame object, which may outlive it with what the frame holds?
bool hasFrameObject(BorrowedRef<> generator);

// Is it of the form of what describeGenerator() gives?
bool isDescriptionOfGenerator(BorrowedRef<> object);

// All of the above but the objects in its slots, of which it only says which are there. To be
// compared by standsAs(), while the globals and builtins live, which it names by their addresses.
// Null with an exception set.
Ref<> describeGenerator(BorrowedRef<> generator);
// Is the object a generator of that description? Sets no exception.
bool standsAs(BorrowedRef<> object, BorrowedRef<> description);

// Lets it stand at the yield at that code unit of its code (-1: where it was created) with these
// slots, null for an empty one, and this exception being handled, or null.
void suspendGenerator(BorrowedRef<> generator, int32_t position, std::span<PyObject* const> slots,
                      BorrowedRef<> handled);
// Lets it count as executing, with nothing in its frame.
void runGenerator(BorrowedRef<> generator);
// Lets it be at its end, without running its code. An exception that is set stays so.
void endGenerator(BorrowedRef<> generator);
// What its __next__ gives, for a frame that went on elsewhere while it counted as executing:
// `result` is what it has yielded (then it is suspended) or returned, or null with the exception
// set. Null with an exception set, StopIteration where it has returned.
Ref<> leaveGenerator(BorrowedRef<> generator, Ref<> result);
// What an iterator has returned that is at its end: the value of the StopIteration that is set, and
// is not set any more, or None. Null with another exception set.
Ref<> takeStopIteration();

// Whether the layouts are those of this interpreter.
bool generatorFramesAreRead();

}  // namespace armature::cpython
