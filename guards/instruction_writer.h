// Writes a guard program instruction by instruction: gives registers to nodes, knows how each kind
// of source is loaded, and keeps sections apart from the main code.
#pragma once

#include <memory>
#include <vector>

#include "cpython/function_layout.h"
#include "guards/guard_program.h"
#include "guards/guard_tree.h"

namespace armature {

class InstructionWriter {
 public:
  // Makes room for about so many instructions.
  explicit InstructionWriter(size_t instructions);

  // What the instructions refer to is put here.
  GuardProgram& program() { return *program_; }
  // The program, with its sections behind the main code.
  std::unique_ptr<GuardProgram> finish();

  // `source` and `guard` (or -1) say what the instruction is there for. The reference is good until
  // the next call.
  Instruction& emit(Operation operation, const Source* source, int64_t guard = -1);

  // --- Sections. What is written between enter and leave belongs to the section of the node.
  void enter(Instruction enter, const GuardNode* node, int64_t guard);
  void leave();

  // What was written last where instructions are written now; null if nothing was.
  Instruction* last() {
    return code_->instructions.empty() ? nullptr : &code_->instructions.back();
  }

  // --- Loads: give the node a register. Its parent must be loaded.
  void load(GuardNode* node);
  void loadWithKey(GuardNode* node, Operation operation);

  // Keeps the node's object alive beyond the run.
  void pin(const GuardNode* node);
  // Pin everything that is loaded in the main code.
  bool pinning = false;

  // The program shares in the ownership.
  PyObject* own(BorrowedRef<> object);
  // One that does what the descriptor does, and does not keep its class alive.
  PyObject* ownDescriptor(BorrowedRef<> descriptor);
  // The same, but what goes by its identity is watched, also in a tuple: no guard keeps it alive.
  PyObject* ownKey(BorrowedRef<> key);
  // Throws std::invalid_argument if user code would have to run for it.
  static int64_t hashOf(BorrowedRef<> key);

 private:
  struct Code {
    std::vector<Instruction> instructions;
    std::vector<GuardProgram::Origin> origins;
  };

  Instruction& loadAs(GuardNode* node, Operation operation);
  void loadMember(GuardNode* node, BorrowedRef<> descriptor);
  void loadFunctionField(GuardNode* node, cpython::FunctionField field);

  std::unique_ptr<GuardProgram> program_;
  Code main_, sections_;
  Code* code_ = &main_;
  Instruction leave_{};  // what ends the open section
};

}  // namespace armature
