// One call of a small program, traced by the interpreter alone: no code is generated or run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interpreter/instruction_translator.h"

namespace armature {

class Trace {
 public:
  // Runs the program, which defines `f` and may define `arguments` (a tuple), and traces
  // f(*arguments).
  explicit Trace(const std::string& program);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  // Traces a call that starts inside a function, with these inputs.
  Trace(const EntryPoint& entry, BorrowedRef<> globals, std::vector<Ref<>> inputs);

  InstructionTranslator& translator() { return *translator_; }
  Outcome& outcome() { return outcome_; }
  const EntryPoint& entry() const { return entry_; }
  FrameLocalsMapping inputs() const;
  const std::vector<Ref<>>& inputObjects() const { return owned_; }
  PyObject* globals() const { return globals_.get(); }
  PyObject* named(const char* name) const { return PyDict_GetItemString(globals_.get(), name); }

  // repr() of what f(*arguments) returns in plain Python, or "KeyError: …".
  std::string plain() const;
  // repr() of a constant, or of an object that existed before the trace; the kind of others.
  static std::string text(const Value& value);
  // The innermost frame's instruction, and the text of a local of it ("" if unbound).
  const FrameState& innermost() const { return outcome_.frames.back(); }
  Opcode brokenAt() const { return innermost().code->instructions[innermost().pc].opcode; }
  static std::string local(const FrameState& frame, const char* name);
  static int32_t lineOf(const FrameState& frame) { return frame.code->positions[frame.pc].line; }

 private:
  void translate();

  Ref<> globals_;
  EntryPoint entry_;
  std::vector<Ref<>> owned_;
  std::vector<PyObject*> slots_;
  std::unique_ptr<bool[]> isCell_;
  std::unique_ptr<InstructionTranslator> translator_;
  Outcome outcome_;
};

}  // namespace armature
