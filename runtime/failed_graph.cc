// How a call goes on whose graph raised after it had changed something; see
// codegen/graph_failure.h.
#include <llvm/ADT/DenseMap.h>

#include "codegen/graph_failure.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "core/fault_injection.h"
#include "core/pending_python_exception.h"
#include "cpython/deferred_signals.h"
#include "cpython/function_layout.h"
#include "cpython/tracebacks.h"
#include "runtime/code_cache.h"
#include "runtime/codegen_environment.h"
#include "runtime/failure.h"
#include "runtime/input_guards.h"
#include "runtime/shown_frames.h"
#include "runtime/thread_state.h"
#include "variables/data_errors.h"
#include "variables/library.h"
#include "variables/objects/call_result.h"
#include "variables/operation_modes.h"

namespace armature {

namespace {

bool changesArrays(const Node& node) {
  NodeEffect effect = effectOf(node);
  return effect == NodeEffect::Own || effect == NodeEffect::Random || effect == NodeEffect::Other;
}

bool isSame(const Argument& a, const Argument& b) {
  // The graph that ran takes them as inputs, that of the second trace does not yet.
  if (a.number() && b.number()) return true;
  if (a.kind() != b.kind() || a.elements().size() != b.elements().size()) return false;
  if (a.kind() == Argument::Kind::Node) return a.node()->ordinal == b.node()->ordinal;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!isSame(a.elements()[i], b.elements()[i])) return false;
  }
  return true;
}

// A trace may make the function that it calls, of what it has traced.
bool isSameTarget(BorrowedRef<> a, BorrowedRef<> b) {
  if (a.get() == b.get()) return true;
  return PyCFunction_Check(a.get()) && PyCFunction_Check(b.get()) &&
         PyCFunction_GET_FUNCTION(a.get()) == PyCFunction_GET_FUNCTION(b.get());
}

bool isSame(const Node& a, const Node& b) {
  if (a.operation != b.operation || !isSameTarget(a.target, b.target) ||
      a.location.line != b.location.line || a.arguments.size() != b.arguments.size() ||
      a.keywordArguments.size() != b.keywordArguments.size()) {
    return false;
  }
  // Each trace has sources of its own.
  if (a.source && a.source->name() != b.source->name()) return false;
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    if (!isSame(a.arguments[i], b.arguments[i])) return false;
  }
  for (size_t i = 0; i < a.keywordArguments.size(); ++i) {
    if (!isSame(a.keywordArguments[i].second, b.keywordArguments[i].second)) return false;
  }
  return true;
}

// Whether `again`, the graph of the second trace up to its break, is what had run when the first
// one failed: all that ran and changed something is in it, and nothing else is.
bool isWhatRan(const Graph& again, const GraphFailure& failure) {
  llvm::DenseMap<int32_t, const Node*> ran;
  for (const auto& node : failure.graph->nodes()) {
    if (node->operation == NodeOperation::Output || node->ordinal >= failure.failed) continue;
    ran[node->ordinal] = node.get();
  }
  int32_t count = again.nextOrdinal();
  for (const auto& node : again.nodes()) {
    const Node* first = ran.lookup(node->ordinal);
    if (first ? !isSame(*first, *node) : changesArrays(*node)) return false;
  }
  for (const auto& [ordinal, node] : ran) {
    if (ordinal >= count && changesArrays(*node)) return false;
  }
  return true;
}

// May a handler of the program see the exception of the operation that failed?
bool isObserved(InstructionTranslator& translator, const GraphFailure& failure) {
  if (!translator.errorsAreObserved()) return false;
  auto failed = llvm::find_if(failure.graph->nodes(), [&](const auto& node) {
    return node->isCall() && node->ordinal == failure.failed;
  });
  return failed == failure.graph->nodes().end() || dataErrorsAreObserved(translator, **failed);
}

// May a generator that has not ended yet see something when it does?
bool anyGenerator(InstructionTranslator& translator, llvm::ArrayRef<FrameState> frames) {
  if (!translator.hasGenerators()) return false;
  bool any = false;
  auto look = [&](const Value& value) {
    any = any || (value && leadsTo(translator, value, [](const VariableTracker* part) {
                    auto* generator = llvm::dyn_cast<GeneratorVariable>(part);
                    return generator && generator->state != GeneratorVariable::State::Finished;
                  }));
  };
  for (const FrameState& frame : frames) {
    for (const Value& local : frame.locals) look(local);
    for (const Value& entry : frame.stack) look(entry);
  }
  for (int32_t i = 0; i < static_cast<int32_t>(translator.effects.size()); ++i) {
    const Effect& effect = translator.effects[i];
    if (effect.kind != EffectKind::Cancelled) {
      reconstructedParts().ofEffect(translator, effect, look);
    }
  }
  return any;
}

// Where no handler waits for such an exception, it ends the frames, and nobody sees again what they
// hold: what leads to a value that the graph has dropped is taken out of them, but for generators,
// which have an end of their own, and what they may see then. True if anything does.
bool takeOutDropped(InstructionTranslator& translator, const GraphFailure& failure,
                    std::vector<FrameState>& frames) {
  bool mayGoOn = llvm::any_of(frames, [](const FrameState& frame) {
    return frame.generator || !frame.continuations.empty();
  });
  if (mayGoOn || isObserved(translator, failure)) return false;
  bool anyOut = false;
  auto isDropped = [&](const VariableTracker* part) {
    bool isMade = !part->source() && !part->existing();
    const Node* node = isMade ? nodeThatGives(part) : nullptr;
    return node && !failure.values.lookup(node->ordinal);
  };
  bool hasGenerators = anyGenerator(translator, frames);
  auto isSeenByGenerators = [](const VariableTracker* part) {
    return llvm::isa<GeneratorVariable, NewCellVariable>(part);
  };
  auto takeOut = [&](Value& value, Value instead) {
    if (!value || !leadsTo(translator, value, isDropped)) return;
    if (hasGenerators && leadsTo(translator, value, isSeenByGenerators)) return;
    value = std::move(instead);
    anyOut = true;
  };
  for (FrameState& frame : frames) {
    for (Value& local : frame.locals) takeOut(local, Value());
    for (Value& entry : frame.stack) takeOut(entry, Value::none());
  }
  return anyOut;
}

// Before the traceback, the entries of these frames, which stands for what the first of them
// called. Null with an exception set.
Ref<> withFrames(Ref<> traceback, llvm::ArrayRef<FramePlace> frames) {
  for (const FramePlace& place : frames) {
    const Position& position = place.code->positions[place.pc];
    const auto& code = place.code->original;
    traceback = cpython::makeTraceback(traceback, code, place.globals,
                                       cpython::offsetOf(code, position.line, position.endLine,
                                                         position.column, position.endColumn),
                                       position.line);
    if (!traceback) return nullptr;
  }
  return traceback;
}

// Gives the values that are there instead of computing them.
class FailureEnvironment : public RuntimeEnvironment {
 public:
  FailureEnvironment(std::shared_ptr<const Settings> settings,
                     std::shared_ptr<CodeCache::Family> family, bool answersAsPython,
                     const GraphFailure& failure, llvm::ArrayRef<FramePlace> leftInBody)
      : RuntimeEnvironment(std::move(settings), std::move(family), answersAsPython),
        failure_(failure),
        leftInBody_(leftInBody) {}

  // What the operation has raised is raised again; it is not run again.
  void raiseAgain() { raisesAgain_ = true; }

  Ref<> raised() override {
    bool changes = llvm::any_of(failure_.graph->nodes(), [&](const auto& node) {
      return node->ordinal == failure_.failed && changesArrays(*node);
    });
    if (!changes && !raisesAgain_) return nullptr;
    auto inBody = [&](Ref<> traceback) { return withFrames(std::move(traceback), leftInBody_); };
    return checked(failure_.exceptionOfOperation(inBody).release());
  }

  CompiledGraph compileGraph(const Graph& graph, const Node*, GraphUse) override {
    const Node& output = *graph.nodes().back();
    const std::vector<Argument>& results = output.arguments[0].elements();
    Ref<> values = Ref<>::steal(PyTuple_New(results.size()));
    if (!values) return {};
    for (size_t i = 0; i < results.size(); ++i) {
      Ref<> value = failure_.values.lookup(results[i].node()->ordinal);
      if (!value) {
        PyErr_SetString(PyExc_LookupError, "the failed graph has dropped a value");
        return {};
      }
      PyTuple_SET_ITEM(values.get(), i, value.release());
    }
    // The handler of the failure has set the library's mode back to the graph's first.
    Ref<> changes = modeChanges(graph);
    static PyMethodDef give = {"values", giveValues, METH_VARARGS, nullptr};
    Ref<> self = Ref<>::steal(changes ? PyTuple_Pack(2, values.get(), changes.get()) : nullptr);
    return {self ? Ref<>::steal(PyCFunction_New(&give, self.get())) : nullptr, false};
  }

 private:
  // The calls that set modes, in their order: tuples of the target, for each argument the number
  // of the call whose result it is or -1, for each the constant or None, and the names of the last
  // of them, which are keywords.
  static Ref<> modeChanges(const Graph& graph) {
    llvm::DenseMap<const Node*, Py_ssize_t> numbers;
    Ref<> changes = Ref<>::steal(PyList_New(0));
    for (const auto& node : graph.nodes()) {
      if (!changes || effectOf(*node) != NodeEffect::Mode) continue;
      Ref<> results = Ref<>::steal(PyList_New(0)), constants = Ref<>::steal(PyList_New(0));
      Ref<> names = Ref<>::steal(PyTuple_New(node->keywordArguments.size()));
      if (!results || !constants || !names) return nullptr;
      auto add = [&](const Argument& argument) {
        bool isNode = argument.kind() == Argument::Kind::Node;
        Ref<> number =
            Ref<>::steal(PyLong_FromSsize_t(isNode ? numbers.lookup(argument.node()) : -1));
        PyObject* constant = isNode ? Py_None : argument.object().get();
        return number && PyList_Append(results.get(), number.get()) == 0 &&
               PyList_Append(constants.get(), constant) == 0;
      };
      for (const Argument& argument : node->arguments) {
        if (!add(argument)) return nullptr;
      }
      Py_ssize_t named = 0;
      for (const auto& [name, argument] : node->keywordArguments) {
        if (!add(argument)) return nullptr;
        PyTuple_SET_ITEM(names.get(), named++, Py_NewRef(name.get()));
      }
      numbers[node.get()] = PyList_GET_SIZE(changes.get());
      Ref<> change = Ref<>::steal(
          PyTuple_Pack(4, node->target.get(), results.get(), constants.get(), names.get()));
      if (!change || PyList_Append(changes.get(), change.get()) < 0) return nullptr;
    }
    return changes;
  }

  static PyObject* giveValues(PyObject* self, PyObject*) {
    PyObject* changes = PyTuple_GET_ITEM(self, 1);
    std::vector<Ref<>> given;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(changes); ++i) {
      PyObject* change = PyList_GET_ITEM(changes, i);
      PyObject *results = PyTuple_GET_ITEM(change, 1), *constants = PyTuple_GET_ITEM(change, 2);
      llvm::SmallVector<PyObject*, 4> arguments;
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(results); ++k) {
        Py_ssize_t number = PyLong_AsSsize_t(PyList_GET_ITEM(results, k));
        arguments.push_back(number < 0 ? PyList_GET_ITEM(constants, k) : given[number].get());
      }
      PyObject* names = PyTuple_GET_ITEM(change, 3);
      given.push_back(
          Ref<>::steal(PyObject_Vectorcall(PyTuple_GET_ITEM(change, 0), arguments.data(),
                                           arguments.size() - PyTuple_GET_SIZE(names), names)));
      if (!given.back()) return nullptr;
    }
    return Py_NewRef(PyTuple_GET_ITEM(self, 0));
  }

  const GraphFailure& failure_;
  llvm::ArrayRef<FramePlace> leftInBody_;
  bool raisesAgain_ = false;
};

}  // namespace

// What an exception leaves, the frame that called the operation first; and before them, those of
// the operation's bodies.
struct LeftFrames {
  std::vector<FramePlace> all, inBody;
};

struct CodeCache::TraceToFailure {
  std::unique_ptr<InstructionTranslator> translator;
  Outcome outcome;
  // Does the trace break where the operation failed, behind what had run by then?
  bool isToFailure(const GraphFailure& failure) const {
    bool breaks =
        outcome.kind == Outcome::Kind::Break || outcome.kind == Outcome::Kind::ResumePlain;
    return breaks && isWhatRan(*translator->graph, failure);
  }
};

CodeCache::TraceToFailure CodeCache::traceToFailure(const FrameLocalsMapping& inputs,
                                                    const GraphFailure& failure,
                                                    const CacheEntry& first) {
  OperationModesAway modesAway;
  std::unique_ptr<InstructionTranslator> translator =
      newTrace(inputs, first.profile, first.answersAsPython, first.leavesVarying, first.skipped);
  startGlobalState(*translator);
  translator->graph->makeAgain(*failure.graph, failure.failed, failure.failedInBody);
  Outcome outcome = translator->translate();
  return {std::move(translator), std::move(outcome)};
}

Ref<> CodeCache::functionBehindFailure(const FrameLocalsMapping& inputs,
                                       const GraphFailure& failure, std::vector<Ref<>>& captures,
                                       LeftFrames& left) {
  CompilingScope scope;
  cpython::DeferredSignals deferred;
  NoInjectedBreaks noBreaks;
  Walk walk(*this);  // The trace refers to the entry.
  // Whose guards have held: what its graph has changed since is not asked again.
  auto found =
      llvm::find_if(entries_, [&](const auto& entry) { return entry->graph == failure.graph; });
  if (found == entries_.end()) return nullptr;
  const CacheEntry* first = found->get();
  std::optional<TraceToFailure> trace = traceToFailure(inputs, failure, *first);
  left = {std::move(trace->outcome.left), std::move(trace->outcome.leftInBody)};
  if (!left.all.empty() || !trace->isToFailure(failure)) return nullptr;
  InstructionTranslator& translator = *trace->translator;
  std::optional<OperationModesAway> modesAway(std::in_place);
  FailureEnvironment environment(settings_, family_, first->answersAsPython, failure, left.inBody);
  if (takeOutDropped(translator, failure, trace->outcome.frames)) environment.raiseAgain();
  GeneratedCode generated = PyCodegen(translator, trace->outcome, environment).generate();
  if (!generated.code) return nullptr;
  modesAway.reset();
  addFinalGuards(translator);
  std::vector<Guard> held = translator.takeGuards();
  llvm::erase_if(held, [](const Guard& guard) { return guard.type == GuardType::TENSOR_MATCH; });
  CheckFunctionManager guards(translator.sources, std::move(held), generated.captures, inputs);
  trace.reset();  // That nothing else holds an input may be among the guards.
  std::vector<PyObject*> borrowed(generated.captures.size() + 1);
  if (!guards.check(inputs, borrowed.data())) return nullptr;
  for (size_t i = 0; i < generated.captures.size(); ++i) {
    captures.push_back(Ref<>::create(borrowed[i]));
  }
  return cpython::makeFunction(reinterpret_cast<PyObject*>(generated.code.get()), globals_,
                               builtins_);
}

std::string CodeCache::whyNotGoneOn(const FrameLocalsMapping& inputs, const CacheEntry& entry) {
  if (!entry.graph) return "";
  GraphFailure failure;
  failure.graph = entry.graph;
  bool hasChanged = false;
  for (const auto& node : entry.graph->nodes()) {
    if (!node->isCall()) continue;
    if (hasChanged && !node->checked) {
      failure.failed = node->ordinal;
      TraceToFailure trace = traceToFailure(inputs, failure, entry);
      if (trace.outcome.left.empty() && !trace.isToFailure(failure)) {
        return "if " + node->name + " failed, another trace would not come to it:\n" +
               toString(*trace.translator->graph) + "\nof\n" + toString(*entry.graph);
      }
    }
    NodeEffect effect = effectOf(*node);
    hasChanged |= effect == NodeEffect::Random || effect == NodeEffect::Other;
  }
  return "";
}

namespace {

// Raises what the operation has raised, out of these frames.
void leaveFrames(const GraphFailure& failure, const LeftFrames& left) {
  Ref<> take = failure.exceptionOfOperation(
      [&](Ref<> traceback) { return withFrames(std::move(traceback), left.inBody); });
  Ref<> exception = take ? Ref<>::steal(PyObject_CallNoArgs(take.get())) : Ref<>();
  if (!exception) return;
  Ref<> traceback = withFrames(Ref<>::steal(PyException_GetTraceback(exception.get())), left.all);
  if (!traceback) return;
  PyErr_Restore(Py_NewRef(Py_TYPE(exception.get())), Py_NewRef(exception.get()),
                traceback.release());
}

}  // namespace

PyObject* CodeCache::goOn(const FrameLocalsMapping& inputs, const GraphFailure& failure) {
  failure.clearFrames();
  std::vector<PyObject*> arguments(inputs.slots, inputs.slots + entry_.argumentCount());
  Ref<> function;
  std::vector<Ref<>> captures;
  LeftFrames left;
  try {
    function = functionBehindFailure(inputs, failure, captures, left);
    for (const Ref<>& capture : captures) arguments.push_back(capture.get());
  } catch (...) {
    std::string message;
    if (isForUser(message)) return nullptr;
  }
  if (!left.all.empty()) {
    leaveFrames(failure, left);
    return nullptr;
  }
  if (!function) {
    // The effects before the operation are lost, and a handler that waits for what leaves past it.
    clearException();
    recordInternalError("a graph that failed cannot be gone on with");
    if (PyErr_Occurred()) return nullptr;
    PyObject* exception = failure.exception.get();
    Ref<> traceback = Ref<>::steal(PyException_GetTraceback(exception));
    PyErr_Restore(Py_NewRef(Py_TYPE(exception)), Py_NewRef(exception), traceback.release());
    return nullptr;
  }
  return showingFrame(
      PyObject_Vectorcall(function.get(), arguments.data(), arguments.size(), nullptr));
}

}  // namespace armature
