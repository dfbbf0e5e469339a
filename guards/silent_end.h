// Whether code of the program hears of the end of an object: a finalizer, the callback of a weak
// reference.
#pragma once

#include <Python.h>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <array>
#include <vector>

#include "core/ref.h"
#include "guards/frame_locals_mapping.h"

namespace armature {

// How many references to an object the program has.
using ReferenceCount = llvm::function_ref<Py_ssize_t(PyObject*)>;

// Numbers, ranges' iterators and the like: nobody can hear of their ends, and they lead nowhere.
bool isPlainData(const PyTypeObject* type);

// Who lets go of what.
enum class LettingGo : uint8_t {
  Object,   // an existing object, of one that it refers to
  Content,  // an existing object, of all that it refers to
  Input,    // the frame, of an input
  Last,     // whoever has the last reference, to it and to what it refers to
  Owned,    // the frame, of an input with generators: see ownedGenerators()
};

// As the `number` of a guard (guards/guard.h): somebody hears of the end
// of what the source gives; of all inputs that the operand counts up.
constexpr int64_t kEndIsHeard = -1;
constexpr int64_t kEndsAreHeard = -2;
// Distinguishes guards of one source that lets go several times: times this, plus LettingGo.
constexpr int64_t kTimesLetGo = 8;

// What is let go of, one after the other. What several of these objects hold dies with the last.
//
// Runs no code of the program, allocates nothing.
class Ends {
 public:
  Ends() {}
  Ends(const Ends& other) { *this = other; }
  Ends& operator=(const Ends& other);

  // May `object` be let go of, after all that was before, without any code of the program hearing
  // of an end: its own, or that of what dies with it? False too where very much dies. Where an
  // existing object lets go of one that has a finalizer or the like, other references to that are
  // not counted on: they may go as well. `times`: how many references are given up.
  //
  // After false the object is to have no further question.
  bool letGo(PyObject* object, LettingGo by, ReferenceCount references, Py_ssize_t times = 1);

 private:
  friend class Walk;
  struct Shared {
    PyObject* object;
    Py_ssize_t met;
  };
  std::array<Shared, 32> shared_;
  size_t sharedCount_ = 0;
};

// Of nothing but `object`.
inline bool endsSilently(PyObject* object, LettingGo by, ReferenceCount references) {
  return Ends().letGo(object, by, references);
}
// Are these the number and the operand of a guard ENDS_SILENTLY?
bool isAboutEnds(int64_t number, BorrowedRef<> operand);
// Of the guard ENDS_SILENTLY on `object`: does it hold in a call with these inputs, while nothing
// but the program, they and the pins hold it? `ends`: of the other such guards of the program.
bool endHolds(PyObject* object, int64_t number, PyObject* operand, const FrameLocalsMapping& inputs,
              llvm::ArrayRef<Ref<>> pins, Ends& ends);

// A step from an object to one that it refers to: the attribute of that name that it keeps itself;
// the slot of a generator's frame; or, without either, the `__self__` of a method.
struct PartStep {
  PyObject* attribute = nullptr;  // borrowed
  int32_t slot = -1;
};
using PartPath = llvm::SmallVector<PartStep, 4>;

// The generators whose ends run code of the program, of which the trace takes care itself: nothing
// refers to them but, on the way from `input`, objects of which that is true as well. Empty, too,
// where another end is heard of if the frame lets go of the input. `references`: without those of
// the inputs, any of which the frame may let go of as well.
std::vector<PartPath> ownedGenerators(PyObject* input, ReferenceCount references);
// The operand of a guard that they are these. Null with an exception set.
Ref<> describePaths(const std::vector<PartPath>& paths);
}  // namespace armature
