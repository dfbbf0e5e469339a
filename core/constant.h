// What a constant is: the one definition by which traces, guards, generated code and printers go.
//
// A constant is an object that nothing can change and whose operations run no code of the
// program's. Which objects those are is known by exact type: the builtin ones here, and those that
// a library registers. A composite (tuple, frozenset, slice, …) is a constant if all its parts are;
// one that is nested very deep or has very many parts is treated as any other object, so that every
// walk over a constant is bounded.
//
// Value: the object itself. Hash, equality, text: below. Code: LOAD_CONST of the object, which a
// code object may hold because nothing can change it.
#pragma once

#include <cstddef>
#include <string>

#include <llvm/ADT/STLFunctionalExtras.h>

#include "core/ref.h"

namespace armature {

// None, Ellipsis, NotImplemented, a bool, int, float, complex, str, bytes, range, a tuple,
// frozenset, slice or code object of constants, or an instance of a registered type.
bool isConstant(BorrowedRef<> object);

// Is the exact type one of constants? Of a composite type, not all instances are.
bool isConstantType(const PyTypeObject* type);

// Equal as constants: no program could tell them apart, except by `is`, or by == and hash() where
// goesByIdentity(). Of the same exact types throughout (True is not 1, nor 1.0), floats by their
// bits (0.0 is not -0.0), frozensets with their order; within another constant, what goes by
// identity is equal only to itself (`in` and == look at that first). Any two objects may be asked
// about; those that are not constants are equal only to themselves.
bool sameConstant(BorrowedRef<> a, BorrowedRef<> b);

// Do == and hash() tell the constant from others that are equal as constants? A nan, and instances
// of the types that say so.
bool goesByIdentity(BorrowedRef<> constant);

// Goes with sameConstant; any object may be asked about. Never fails.
size_t hashConstant(BorrowedRef<> object);

// An expression that makes the constant, in the same words in every run, cut short if long; of
// other objects "<type object>".
std::string constantText(BorrowedRef<> object);

// How the instances of a type are constants.
struct ConstantType {
  // Whether two instances are the same but for their parts. Null: only if they are one object.
  bool (*same)(PyObject* a, PyObject* b) = nullptr;
  // Goes with `same`. Null: PyObject_Hash, or by identity where `same` is null.
  size_t (*hash)(PyObject* object) = nullptr;
  // Calls visit with each part in order, while that returns true; whether all did. The parts of two
  // instances that are `same` correspond. Null: there are none.
  bool (*forEachPart)(PyObject* object, llvm::function_ref<bool(PyObject*)> visit) = nullptr;
  // Of a type whose instances Python compares and hashes by their identity: a callable without
  // arguments that makes another one that is the same, new; null, without an exception, if there is
  // none. Null for all other types.
  Ref<> (*maker)(PyObject* object) = nullptr;
  // Null: repr().
  std::string (*text)(PyObject* object) = nullptr;
};

bool hasMaker(const PyTypeObject* type);
// What ConstantType::maker, which the type has, says of the constant.
Ref<> makerOf(BorrowedRef<> constant);

// For a library: its `type`, whose functions in `constant` run no code of the program's, and set no
// exception. The type must live as long as the process.
void registerConstantType(PyTypeObject* type, const ConstantType& constant);
// One that adds nothing to tuple but its repr.
void registerConstantTuple(PyTypeObject* type);

}  // namespace armature
