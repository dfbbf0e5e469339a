// A code object in canonical form: what the interpreter walks and what codegen writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bytecode/instruction.h"
#include "core/ref.h"

namespace armature {

// What a slot of the frame's locals is when the frame starts (CO_FAST_LOCAL, _CELL, _FREE).
enum class LocalKind : uint8_t {
  Local,  // an argument or a plain local
  Cell,   // MAKE_CELL turns it (and the argument that it may hold) into a cell
  Free,   // COPY_FREE_VARS puts the closure's cell there
};

// One row of the exception table. An exception raised in [start, end) unwinds the stack to `depth`
// entries, pushes the index of the raising instruction if `pushLasti`, pushes the exception, and
// goes on at `target`.
struct ExceptionRegion {
  int32_t start = 0;
  int32_t end = 0;
  int32_t target = 0;
  int32_t depth = 0;
  bool pushLasti = false;

  bool operator==(const ExceptionRegion&) const = default;
};

struct LocalVariable {
  Ref<> name;  // str
  LocalKind kind = LocalKind::Local;
};

struct Code;
class Liveness;

// What livenessOf() keeps with a Code. A copy of the Code may go on to be changed: it has none.
class LivenessOfCode {
 public:
  LivenessOfCode() = default;
  LivenessOfCode(const LivenessOfCode&) {}
  LivenessOfCode& operator=(const LivenessOfCode&) {
    known_.reset();
    return *this;
  }

 private:
  friend const Liveness& livenessOf(const Code& code);
  std::shared_ptr<const Liveness> known_;
};

// A place at which a generator is suspended.
struct Yield {
  int32_t instruction = 0;  // the YIELD_VALUE
  int32_t unit = 0;         // its code unit in the code object
};

struct Code {
  std::vector<Instruction> instructions;
  std::vector<Position> positions;       // one for each instruction
  std::vector<ExceptionRegion> regions;  // sorted by start, disjoint: the innermost region wins
  std::vector<int32_t> regionOf;         // one for each instruction: index in regions, or -1
  std::vector<LocalVariable> locals;     // arguments first, in the order in which they bind
  std::vector<Ref<>> constants;
  std::vector<Ref<>> names;   // str
  std::vector<Yield> yields;  // in their order; set by lift()

  int32_t argumentCount = 0;  // co_argcount: positional, positional-only included
  int32_t positionalOnlyCount = 0;
  int32_t keywordOnlyCount = 0;
  int32_t flags = 0;  // co_flags
  int32_t firstLine = 0;
  Ref<> name;
  Ref<> qualifiedName;
  Ref<> filename;
  // It calls locals, eval or their like, or lets a debugger in: all its variables are read by name,
  // so it can only run whole, in a frame of its own. Set by lift().
  bool readsOwnFrame = false;
  // The code object that this was lifted from; null for code made by codegen. Borrowed, because the
  // code object owns its lifted form; every CodePtr to that keeps the code object alive.
  BorrowedRef<PyCodeObject> original;

  bool hasVarPositional() const { return (flags & CO_VARARGS) != 0; }
  bool hasVarKeyword() const { return (flags & CO_VARKEYWORDS) != 0; }
  // How many leading locals are bound by a call: positional, keyword-only, *args, **kwargs.
  int32_t boundCount() const {
    return argumentCount + keywordOnlyCount + hasVarPositional() + hasVarKeyword();
  }
  bool isGenerator() const {
    return (flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
  }
  mutable LivenessOfCode liveness;

  // The local that is the free variable __class__, or -1. super() without arguments reads it, and
  // the first argument (super_init_without_args of typeobject.c).
  int32_t classCell() const;

  // Fills regionOf from regions; call once after instructions and regions are complete.
  void indexRegions();
};

using CodePtr = std::shared_ptr<const Code>;

// Where a traceback shows a frame that stands at the instruction. CPython's own instructions
// between the program's have no line: at the next that has one, or the function's own.
Position shownPosition(const Code& code, int32_t instruction);

// Is the yield at the instruction one of `yield from` or `await`?
bool yieldsForDelegate(const Code& code, int32_t instruction);

// Lifts a code object of the running CPython version to canonical form. The code object owns its
// lifted form (in co_extra): the same code object gives the same Code for as long as it lives.
// Returns null with a Python exception set (ValueError) if the code object is malformed.
// The GIL must be held here, and where the last CodePtr dies.
CodePtr lift(BorrowedRef<PyCodeObject> code);

// Lowers canonical code to a code object of the running version: EXTENDED_ARG, caches, jump
// directions, exception table, line table (co_positions), co_stacksize. Returns null with a Python
// exception set (ValueError) if the code is inconsistent (unbound label, unbalanced stack) or the
// version cannot express it (FOR_ITER, SEND and JUMP_IF_…_OR_POP only jump forward). The constants
// are the very objects given. Instructions that cannot be reached are kept as they are.
Ref<PyCodeObject> lower(const Code& code);

// Says that `made` has the instructions of `original`, but that it makes its calls in another way
// (codegen/call_rewriting.h): same locals, same yields. `made` keeps it alive. False with an
// exception set.
bool setOriginal(BorrowedRef<PyCodeObject> made, BorrowedRef<PyCodeObject> original);
// What was said; else the code object itself.
BorrowedRef<PyCodeObject> originalOf(BorrowedRef<PyCodeObject> code);

// Was the code object made by lower()?
bool isLowered(BorrowedRef<PyCodeObject> code);

// How an instruction uses the stack: `before` entries must be there (some may only be looked at),
// and in their place it leaves `next` entries if control goes on, `jump` if it jumps.
struct StackUse {
  int64_t before;
  int64_t next;
  int64_t jump;

  StackUse(int64_t before, int64_t next) : StackUse(before, next, next) {}
  StackUse(int64_t before, int64_t next, int64_t jump) : before(before), next(next), jump(jump) {}
};
StackUse stackUse(Opcode opcode, int32_t argument);

// What an instruction does to the stack on its fall-through path, from the top: it takes `taken`
// entries, looks at `borrowed` ones below them, which stay as they are, and leaves `left` new ones.
struct Operands {
  int32_t taken = 0;
  int32_t left = 0;
  int32_t borrowed = 0;
};

Operands operandsOf(const Instruction& instruction);

// The net effect of an instruction on the depth of the stack; `jump` selects the branch taken.
int stackEffect(const Code& code, const Instruction& instruction, bool jump);

// Depth of the stack before each instruction, -1 where unreachable. Throws nothing; an
// inconsistency makes the result empty and `error` say where.
std::vector<int32_t> stackDepths(const Code& code, std::string* error);

// The textual form, one instruction a line:  `   12  LOAD_FAST  0 (x)   # line 3`. A jump target
// is marked by `>>`. It is the same in every run, and prints constants without running user code.
std::string toString(const Code& code);
std::string toString(const Code& code, size_t index);

}  // namespace armature
