// Writes canonical code: instructions with labels that may be bound later, deduplicated constants
// and names, exception regions. Used by codegen and by tests.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/code.h"

namespace armature {

class Assembler {
 public:
  struct Label {
    int32_t id = -1;
  };

  // Starts code with the given arguments (all plain positional parameters) and flags
  // CO_OPTIMIZED | CO_NEWLOCALS.
  Assembler(BorrowedRef<> name, BorrowedRef<> filename, int32_t firstLine);
  // It is the name until then.
  void setQualifiedName(BorrowedRef<> name) { code_.qualifiedName = Ref<>::create(name); }

  // Adds a local and returns its number, which is its index unless a parameter is added after a
  // plain local: finish() puts the parameters, in the order in which they were added, first.
  int32_t addParameter(BorrowedRef<> name);
  int32_t addLocal(BorrowedRef<> name);
  // Adds a local whose name is not taken yet: "name", else "name_1", "name_2", ….
  int32_t addFreshLocal(const char* name);
  // The local is where the code has a variable of the program's, a plain one or a cell, until this
  // is said of another one. Only what was added as a plain local can have a cell.
  void show(int32_t local, const LocalVariable& variable);
  int32_t addShownLocal(const LocalVariable& variable);
  // The code runs as a frame of the program's, with these local variables: others find those that
  // are shown in frame.f_locals, and nothing else. Where Python prints a NameError, it suggests
  // names out of all of them.
  void showFrameOf(llvm::ArrayRef<LocalVariable> variables);

  void emit(Opcode opcode, int32_t argument = 0);
  // One constant for each object: equal ones can be told apart by `is`. One or two instructions:
  // see held_constant.h.
  void emitLoadConst(BorrowedRef<> constant);
  void emitName(Opcode opcode, BorrowedRef<> name);
  void emitName(Opcode opcode, const char* name);
  void emitCall(int32_t arguments, BorrowedRef<> keywordNames = nullptr);
  void emitJump(Opcode opcode, Label target);

  Label newLabel();
  void bind(Label label);
  // Instructions emitted between begin and end are covered by a handler at `target`. Regions nest;
  // the innermost wins.
  void beginRegion(Label target, int32_t depth, bool pushLasti);
  void endRegion();

  // The position given to the instructions emitted from here on.
  void setPosition(const Position& position) { position_ = position; }

  int32_t addConstant(BorrowedRef<> constant);
  int32_t addName(BorrowedRef<> name);
  size_t size() const { return code_.instructions.size(); }
  const Instruction& last() const { return code_.instructions.back(); }
  // Takes the last instruction back; no region may begin or end behind it.
  void dropLast();

  // Resolves the labels; one that was never bound leads nowhere (-1), which lower() refuses. The
  // assembler is empty afterwards.
  CodePtr finish();

 private:
  // One that no local has; it counts as taken from then on.
  std::string freshName(const char* name);
  void putParametersFirst();
  void nameLocals();
  void markCells();
  // Closes the part of the innermost region that ends here.
  void interruptRegion();

  struct OpenRegion {
    int32_t start;  // of the part that is not closed yet
    Label target;
    int32_t depth;
    bool pushLasti;
  };
  struct ShownLocal {
    LocalVariable variable;
    int32_t local;
  };
  Code code_;
  Position position_;
  std::vector<int32_t> parameters_;
  std::vector<ShownLocal> shown_;
  bool isFrame_ = false;
  int32_t setLocals_ = 0;  // in a frame: the locals behind them are never set
  // Name -> next suffix to try, for so many of the locals. Most code asks for no fresh name.
  std::unordered_map<std::string, int32_t> localNames_;
  size_t namedLocals_ = 0;
  std::vector<int32_t> labels_;  // id -> instruction index, -1 while unbound
  std::vector<OpenRegion> openRegions_;
  std::unordered_map<PyObject*, int32_t> constants_;  // -> index
  std::unordered_map<PyObject*, Ref<>> holders_;      // of what is no constant of a code object
  std::unordered_multimap<size_t, int32_t> names_;    // hash -> index
};

}  // namespace armature
