// The code that codegen makes of a trace, ready to be called.
#pragma once

#include <string>
#include <vector>

#include "codegen/py_codegen.h"
#include "tests/interpreter/trace.h"

namespace armature {

// Runs graphs eagerly, and resumes in plain Python: what a test sees is one translation.
class PlainEnvironment : public CodegenEnvironment {
 public:
  CompiledGraph compileGraph(const Graph& graph, const Node*, GraphUse) override {
    return {toFunction(graph), true};
  }
  Ref<> resumeFunction(const EntryPoint& entry, BorrowedRef<> globals, bool plain) override;
  // Of frames whose result is their caller's as it is.
  Ref<> frameFunction(BorrowedRef<> function, llvm::ArrayRef<Continuation> continuations) override {
    return continuations.empty() ? Ref<>::create(function) : nullptr;
  }
  Ref<> pythonCalls() override { return nullptr; }

  // In the order in which codegen asked for them.
  std::vector<EntryPoint> resumed;
};

class GeneratedFunction {
 public:
  // Traces f(*arguments) of the program and generates its code.
  explicit GeneratedFunction(const std::string& program);

  Trace& trace() { return trace_; }
  const GeneratedCode& code() const { return generated_; }
  const std::vector<EntryPoint>& resumed() const { return environment_.resumed; }
  // The generated instructions, one a line, without line numbers.
  std::string text() const;

  // Calls the code with the traced call's own inputs. repr() of the result, or "KeyError: …".
  std::string call();

 private:
  Trace trace_;
  PlainEnvironment environment_;
  GeneratedCode generated_;
};

// That the generated code does what plain Python does: the result of f(*arguments), and afterwards
// repr() of the arguments and of the global `state`, if the program has one. "" or the difference.
std::string difference(const std::string& program);

}  // namespace armature
