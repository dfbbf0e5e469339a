// The slots of C types by the special methods that they stand for.
#pragma once

#include <Python.h>

#include <cstdint>

namespace armature::cpython {

enum class SpecialSlot : uint8_t {
  Index,      // __index__
  Int,        // __int__
  Float,      // __float__
  Hash,       // __hash__, where it is not None
  Iter,       // __iter__
  Next,       // __next__
  Call,       // __call__
  Subscript,  // __getitem__ of mappings and sequences: mp_subscript
  Item,       // __getitem__ by position: sq_item
  Concat,     // __add__ of sequences: sq_concat
  Repeat,     // __mul__ of sequences: sq_repeat
};

// The name of the special method.
const char* nameOf(SpecialSlot slot);

// Does the type have a function in the slot? A slot may be filled without a name for it. Of types
// that nothing can change: for others, Heap::hasSpecial asks for the name, and keeps the answer
// true.
bool fillsSlot(const PyTypeObject* type, SpecialSlot slot);
// Are instances of the type compared and hashed as those of object are, by their identity? It is
// asked about what generated code holds, of which no fact of the program's depends.
bool goesByIdentity(const PyTypeObject* type);

// Has the type a table of the slots of sequences (tp_as_sequence), whether any of them is filled or
// not? Classes of a program have one. Nothing can change it.
bool hasSequenceSlots(const PyTypeObject* type);

// What the type's own slot for a binary operator (NB_ADD … NB_XOR of opcode.h, not an in-place one)
// says, which may be NotImplemented: also where it has none. A new reference; null with an
// exception set.
PyObject* callBinarySlot(const PyTypeObject* type, int number, PyObject* left, PyObject* right);

}  // namespace armature::cpython
