// Guards in executable form: one flat array of instructions over registers that hold borrowed
// references, run by one loop.
//
// The hot path is dense: what is skipped as long as nothing changes lies at the array's end.
//
// The array is the program that check() runs and that explains a failure: a run answers with the
// instruction that failed, and the registers then say what was found.
//
// Registers outlive a run. What a section loads (see operations.def) stays in its registers, and is
// right as long as the version in the section's own register is that of the dict or type at hand:
// the dict or type owns what was loaded from it, and has not changed.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "guards/array_library.h"
#include "guards/frame_locals_mapping.h"
#include "guards/guard.h"
#include "guards/identity_watch.h"
#include "guards/object_set.h"

namespace armature {

enum class Operation : uint8_t {
#define OPERATION(name) name,
#include "guards/operations.def"
};
const char* operationName(Operation operation);

struct TensorExpectation {
  const ArrayLibrary* library;
  PyTypeObject* type;
  TensorMetadata metadata;
};

struct GlobalStateExpectation {
  const ArrayLibrary* library;
  std::string state;
};

// Registers whose objects are to be different: those of `written` pairwise and from each of `read`.
// Or the objects' instance dicts are meant, where they have one.
struct DistinctRegisters {
  struct Member {
    const Source* source;
    uint32_t index;
    bool instanceDict;
  };
  std::vector<Member> written;
  std::vector<Member> read;
  ObjectSet seen;
  // Instead: arrays that are to have no memory in common.
  bool inMemory = false;
};

struct Instruction {
  Operation operation;
  bool negated = false;
  bool ordered = false;  // of sections: the order of the dict's keys matters
  uint32_t input = 0;
  uint32_t output = 0;
  uint32_t target = 0;  // of jumps: an index
  union {
    PyObject* object = nullptr;
    const TensorExpectation* tensor;
    const GlobalStateExpectation* globalState;
    DistinctRegisters* distinct;
    const SymComparison* comparison;
    const std::vector<PyObject*>* keys;
  };
  int64_t number = 0;
};
static_assert(sizeof(Instruction) <= 32);

// The mutable part of a program: what one run leaves to the next.
struct GuardProgramState {
  union Register {
    PyObject* object;
    uint64_t version;
  };
  std::vector<Register> registers;
  // What loads created, and what foreign code could otherwise destroy under our hands.
  std::vector<Ref<>> pins;
};

class GuardProgram {
 public:
  // What an instruction is there for: a guard, by its number in the order of evaluation, or only a
  // source on the way (`guard` is negative).
  struct Origin {
    const Source* source;
    int64_t guard;
  };
  static constexpr size_t passed = static_cast<size_t>(-1);
  using Meeting = std::pair<const Source*, const Source*>;

  GuardProgramState freshState() const {
    return {std::vector<GuardProgramState::Register>(registerCount), {}};
  }

  // The instruction that failed, or `passed`. Sets no exception. Allocates nothing and runs no
  // Python code, except that LoadDescriptor calls a C function which may do both, and that what
  // LoadComputed gives and the items of some iterators have to be made (numbers, strings).
  size_t run(const FrameLocalsMapping& locals, GuardProgramState& state) const;

  // Where `distinct` does not hold in the state: the first two sources that have met; or one, and
  // null, where there is no dict.
  static Meeting firstMeeting(const DistinctRegisters& distinct, const GuardProgramState& state);

  // The instructions, one a line.
  std::string text() const;
  // Visits the objects held, for the garbage collector.
  int traverse(visitproc visit, void* arg) const;

  std::vector<Instruction> instructions;
  std::vector<Origin> origins;       // parallel to the instructions
  std::vector<uint32_t> guardOrder;  // the guards' indices in the order of evaluation
  std::vector<uint32_t> captures;    // registers
  uint32_t registerCount = 1;        // operands that an operation has no use for name register 0

  // What the instructions refer to.
  IdentityWatch identities;
  std::vector<Ref<>> objects;
  std::deque<TensorExpectation> tensors;
  std::deque<GlobalStateExpectation> globalStates;
  std::deque<DistinctRegisters> distinct;
  std::deque<std::vector<PyObject*>> keyLists;  // borrowed from `objects` and from those watched
  std::vector<std::shared_ptr<const SymComparison>> comparisons;
};

}  // namespace armature
