// Writes a guard program instruction by instruction: gives registers to nodes, knows how each kind
// of source is loaded, and keeps sections apart from the main code.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cpython/function_layout.h"
#include "guards/guard_program.h"
#include "guards/guard_tree.h"

namespace armature {

class InstructionWriter {
 public:
  InstructionWriter() : program_(std::make_unique<GuardProgram>()) {}

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

  // --- Loads. The node's parent must be loaded.
  void load(const GuardNode* node);
  void loadWithKey(const GuardNode* node, Operation operation);
  // The node's object is at hand as that of another one.
  void share(const GuardNode* node, const GuardNode* other) {
    registers_.emplace(node, registerOf(other));
  }
  bool isLoaded(const GuardNode* node) const { return registers_.count(node); }
  uint32_t registerOf(const GuardNode* node) const { return registers_.at(node); }

  // Keeps the node's object alive beyond the run.
  void pin(const GuardNode* node);
  // Pin everything that is loaded in the main code.
  bool pinning = false;

  // The program shares in the ownership.
  PyObject* own(BorrowedRef<> object);
  // Throws std::invalid_argument if user code would have to run for it.
  static int64_t hashOf(BorrowedRef<> key);

 private:
  struct Code {
    std::vector<Instruction> instructions;
    std::vector<GuardProgram::Origin> origins;
  };

  Instruction& loadAs(const GuardNode* node, Operation operation);
  void loadMember(const GuardNode* node, BorrowedRef<> descriptor);
  void loadFunctionField(const GuardNode* node, cpython::FunctionField field);

  std::unique_ptr<GuardProgram> program_;
  Code main_, sections_;
  Code* code_ = &main_;
  Instruction leave_{};  // what ends the open section
  std::unordered_map<const GuardNode*, uint32_t> registers_;
};

}  // namespace armature
