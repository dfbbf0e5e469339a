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
#include <memory>
#include <string>
#include <vector>

#include "guards/array_library.h"
#include "guards/frame_locals_mapping.h"
#include "guards/guard.h"
#include "guards/identity_watch.h"
#include "guards/object_set.h"
#include "guards/weak_copies.h"

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
    const ObjectParts* parts;
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
  // What a section has loaded for several objects that it meets by turns: code that many objects
  // run (the layers of a model, behind a break in each) finds another dict each time. What was
  // loaded for an object is right as long as its version is the one of then, since no two dicts,
  // and no two types, ever have the same; what is of objects that are no more is never found.
  class SectionMemory {
   public:
    // `count`: of the registers that the section loads.
    explicit SectionMemory(size_t count) : count_(count) {}
    bool recall(const PyObject* object, uint64_t version, Register* loaded) const;
    void record(const PyObject* object, uint64_t version, const Register* loaded);

   private:
    struct Slot {
      const PyObject* object = nullptr;
      uint64_t version = 0;
    };
    size_t placeOf(const PyObject* object) const;
    void put(const Slot& slot, const Register* loaded);

    size_t count_;
    std::vector<Slot> slots_;
    std::vector<Register> loaded_;  // `count_` for each slot
  };

  // The section whose version is in register `section`, and what it loads in those behind it.
  bool recall(uint32_t section, const PyObject* object, uint64_t version) {
    if (memories.empty() || !memories[section]) return false;
    if (!memories[section]->recall(object, version, &registers[section + 1])) return false;
    registers[section].version = version;
    return true;
  }
  void record(uint32_t section, const PyObject* object, uint64_t version) {
    if (memories.empty() || !memories[section]) return;
    memories[section]->record(object, version, &registers[section + 1]);
  }

  std::vector<Register> registers;
  // What loads created, and what foreign code could otherwise destroy under our hands.
  Pins pins;
  // By section; empty, or null, until one has met a second object.
  std::vector<std::unique_ptr<SectionMemory>> memories;
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
    return {std::vector<GuardProgramState::Register>(registerCount), {}, {}};
  }

  // The instruction that failed, or `passed`. Sets no exception. Makes no object and runs no
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
  // From now on the section that this instruction enters remembers what it loads.
  void remember(const Instruction& enter, GuardProgramState& state) const;

  std::vector<Instruction> instructions;
  std::vector<Origin> origins;       // parallel to the instructions
  std::vector<uint32_t> guardOrder;  // the guards' indices in the order of evaluation
  std::vector<uint32_t> captures;    // registers
  uint32_t registerCount = 1;        // operands that an operation has no use for name register 0

  // What the instructions refer to.
  IdentityWatch identities;
  WeakCopies copies;
  std::vector<Ref<>> objects;
  std::deque<TensorExpectation> tensors;
  std::deque<GlobalStateExpectation> globalStates;
  std::deque<DistinctRegisters> distinct;
  // Borrowed from `objects`, `copies` and those watched.
  std::deque<std::vector<PyObject*>> keyLists;
  std::vector<std::shared_ptr<const SymComparison>> comparisons;
};

}  // namespace armature
