#include "runtime/codegen_environment.h"

#include <chrono>

#include <llvm/ADT/DenseSet.h>

#include "core/checked.h"
#include "core/fault_injection.h"
#include "cpython/deferred_signals.h"
#include "runtime/break_statistics.h"
#include "runtime/python_calls.h"
#include "runtime/resumption.h"
#include "variables/tensors/array_assertion.h"

namespace armature {

namespace {

// Torch backends compile torch operations; NumPy's are executed by NumPy itself.
bool onlyTorch(const Graph& graph) {
  for (Node* input : graph.placeholders()) {
    if (input->metadata && input->metadata->library != ArrayLibraryKind::Torch) return false;
  }
  for (const auto& node : graph.nodes()) {
    if (node->library != ArrayLibraryKind::Torch || node->mixesLibraries) return false;
  }
  return true;
}

bool isForBackends(const Graph& graph, HistoryUse use) {
  return llvm::all_of(registeredLibraries(),
                      [&](const Library* library) { return library->isForBackends(graph, use); });
}

// Backends drop operations that nothing needs, and with them what they would raise. What is changed
// by an operation on the graph's own arrays counts as needed by none.
bool mayLoseFailure(const Graph& graph) {
  llvm::DenseSet<const Node*> needed;
  for (const auto& node : llvm::reverse(graph.nodes())) {
    NodeEffect effect = node->isCall() ? effectOf(*node) : NodeEffect::Other;
    if (effect == NodeEffect::Mode) continue;
    bool isKept = effect == NodeEffect::Other || isArrayAssertion(*node);
    if (isKept || needed.contains(node.get())) {
      forEachInput(*node, [&](Node* input) { needed.insert(input); });
    } else if (!node->checked) {
      return true;
    }
  }
  return false;
}

// The objects that the traced call passed, in a list; null with an exception set on failure.
Ref<> examplesOf(const Graph& graph) {
  Ref<> examples = Ref<>::steal(PyList_New(0));
  for (Node* input : graph.placeholders()) {
    if (!examples || PyList_Append(examples.get(), input->example.get()) < 0) return nullptr;
  }
  return examples;
}

// Nothing to compile.
bool onlySetsModes(const Graph& graph) {
  return !graph.empty() && llvm::all_of(graph.nodes(), [](const auto& node) {
    return !node->isCall() || effectOf(*node) == NodeEffect::Mode;
  });
}

}  // namespace

CompiledGraph RuntimeEnvironment::compileGraph(const Graph& graph, const Node* firstEffect,
                                               GraphUse use) {
  using Clock = std::chrono::steady_clock;
  faultSite();
  Clock::time_point start = Clock::now();
  CompiledGraph result;
  bool isCompiled = settings_->backend && !onlySetsModes(graph) &&
                    isForBackends(graph, use.history) && !use.changesSharedMemory &&
                    !(use.handlesFailures && mayLoseFailure(graph));
  bool isTorchs = isCompiled && onlyTorch(graph);
  result.isEager = !isTorchs;
  // A function of its own would cost each call a frame and a tuple.
  result.isInlined =
      result.isEager && use.changesNothing && !(isCompiled && settings_->mixedBackend);
  if (result.isInlined) return result;
  if (result.isEager) {
    result.callable = toFunction(graph, firstEffect ? firstEffect->index : kKeepNone);
  } else {
    result.callable = callBackend(graph);
  }
  if (isCompiled && !isTorchs && settings_->mixedBackend && result.callable) {
    Ref<> compiled = callMixedBackend(graph, result.callable);
    result.isEager = compiled.get() == Py_None;
    if (!result.isEager) result.callable = std::move(compiled);
  }
  seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

Ref<> RuntimeEnvironment::callBackend(const Graph& graph) {
  Ref<> mode;
  Ref<> module = toTorchGraphModule(graph, [&](const Node& node) -> Ref<> {
    const Library* library = node.metadata ? findLibrary(node.metadata->library) : nullptr;
    return library ? library->exampleValue(*node.metadata, mode) : nullptr;
  });
  if (!module) return module;
  Ref<> examples = examplesOf(graph);
  if (!examples) return nullptr;
  cpython::PromptSignals prompt;
  Ref<> compiled = Ref<>::steal(PyObject_CallFunctionObjArgs(settings_->backend.get(), module.get(),
                                                             examples.get(), nullptr));
  if (compiled && !PyCallable_Check(compiled.get())) {
    PyErr_Format(PyExc_TypeError,
                 "the backend must return a callable, but returned %.200s; a backend is called "
                 "with (GraphModule, list of example inputs) and returns a function of the same "
                 "inputs",
                 Py_TYPE(compiled.get())->tp_name);
    compiled = nullptr;
  }
  backendRaised_ = !compiled;
  return compiled;
}

Ref<> RuntimeEnvironment::callMixedBackend(const Graph& graph, const Ref<>& eager) {
  Ref<> fxGraph = toTorchGraph(graph);
  Ref<> examples = examplesOf(graph);
  if (!fxGraph || !examples) return nullptr;
  cpython::PromptSignals prompt;
  Ref<> compiled = Ref<>::steal(PyObject_CallFunctionObjArgs(
      settings_->mixedBackend.get(), fxGraph.get(), examples.get(), eager.get(), nullptr));
  backendRaised_ = !compiled;
  return compiled;
}

Ref<> RuntimeEnvironment::resumeFunction(const EntryPoint& traced, BorrowedRef<> globals,
                                         bool plain) {
  faultSite();
  EntryPoint entry = traced;
  entry.answersAsPython = answersAsPython_;
  if (plain) return makePlainResumeFunction(entry, globals, pythonCalls(), breakStatistics());
  CodeCache::Caches& caches = family_->caches;
  auto found = llvm::find_if(caches, [&](const std::shared_ptr<CodeCache>& cache) {
    return cache->entry() == entry && cache->globals().get() == globals.get();
  });
  std::shared_ptr<CodeCache> cache;
  if (found != caches.end()) {
    cache = *found;
  } else {
    cache = std::make_shared<CodeCache>(entry, Ref<>::create(globals),
                                        Ref<>::create(entry.builtins), settings_, family_);
    caches.push_back(cache);
  }
  if (leavesVarying_) cache->leaveVaryingToPython();
  return makeResumeFunction(std::move(cache), pythonCalls());
}

Ref<> RuntimeEnvironment::frameFunction(BorrowedRef<> function,
                                        llvm::ArrayRef<Continuation> continuations) {
  faultSite();
  std::vector<RealContinuation> steps;
  for (const Continuation& continuation : continuations) {
    steps.push_back({continuation.kind, continuation.operands.size()});
  }
  return makeFrameFunction(function, std::move(steps), pythonCalls());
}

const Ref<>& RuntimeEnvironment::breakStatistics() {
  bool measures = settings_->measuresBreaks || settings_->engine->measuresBreaks;
  if (measures && !breakStatistics_) breakStatistics_ = checked(makeBreakStatistics().release());
  return breakStatistics_;
}

BreakTimer RuntimeEnvironment::breakTimer() {
  const Ref<>& statistics = breakStatistics();
  if (!statistics) return {};
  BreakTimer timer = timerOf(statistics);
  if (!timer.end) throw PendingPythonException();
  return timer;
}

Ref<PyCodeObject> RuntimeEnvironment::rewritten(BorrowedRef<PyCodeObject> code) {
  return rewrittenCode(code, checked(pythonCalls().release()));
}

Ref<> RuntimeEnvironment::inputsOfFrame() { return Ref<>::create(armature::inputsOfFrame()); }

Ref<> RuntimeEnvironment::pythonCalls() { return pythonCallsOf(settings_, family_); }

}  // namespace armature
