// What codegen asks of the runtime: the backend's callable for a graph, and resume functions.
#pragma once

#include <memory>
#include <vector>

#include "codegen/py_codegen.h"
#include "runtime/code_cache.h"

namespace armature {

class RuntimeEnvironment : public CodegenEnvironment {
 public:
  RuntimeEnvironment(std::shared_ptr<const Settings> settings,
                     std::shared_ptr<CodeCache::Family> family, bool answersAsPython = false)
      : settings_(std::move(settings)),
        family_(std::move(family)),
        answersAsPython_(answersAsPython) {}

  // CodeCache::leaveVaryingToPython() of what goes on behind the code.
  void leaveVaryingToPython() { leavesVarying_ = true; }

  CompiledGraph compileGraph(const Graph& graph, const Node* firstEffect, GraphUse use) override;
  Ref<> resumeFunction(const EntryPoint& entry, BorrowedRef<> globals, bool plain) override;
  Ref<> frameFunction(BorrowedRef<> function, llvm::ArrayRef<Continuation> continuations) override;
  Ref<> inputsOfFrame() override;
  Ref<> pythonCalls() override;
  Ref<PyCodeObject> rewritten(BorrowedRef<PyCodeObject> code) override;
  BreakTimer breakTimer() override;

  // Of the break in this code; null where breaks are not measured. Throws PendingPythonException.
  const Ref<>& breakStatistics();

  // How long the backend took.
  double backendSeconds() const { return seconds_; }
  // The exception that is set is what the user's backend raised.
  bool backendRaised() const { return backendRaised_; }

 private:
  // Null with an exception set on failure.
  Ref<> callBackend(const Graph& graph);
  // May be None. `eager`: what NumPy runs.
  Ref<> callMixedBackend(const Graph& graph, const Ref<>& eager);

  std::shared_ptr<const Settings> settings_;
  std::shared_ptr<CodeCache::Family> family_;
  bool answersAsPython_;  // EntryPoint's, of what goes on behind the code
  bool leavesVarying_ = false;
  Ref<> breakStatistics_;  // made when it is needed
  double seconds_ = 0;
  bool backendRaised_ = false;
};

}  // namespace armature
