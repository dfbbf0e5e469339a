// The graph call, and what Python must see changed after it.
#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <limits>

#include "codegen/graph_failure.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/set_exception.h"
#include "graph/eager_code.h"
#include "variables/containers/dict.h"
#include "variables/operation_modes.h"
#include "variables/outside_exceptions.h"

namespace armature {

namespace {

// What a graph changes, in the order of its nodes.
struct GraphEffects {
  const Node* random = nullptr;  // the first that draws a random number, if they are put back
  const Node* first = nullptr;   // the first that changes more than a library's mode, or null
  const Node* mode = nullptr;    // the first that sets a library's mode, or null
  Library::ModeState modeState;  // how the mode is put back, if not by that node's target
};

GraphEffects effectsOf(const Graph& graph, bool restoresRandomNumbers, bool isForeign) {
  GraphEffects effects;
  for (const auto& node : graph.nodes()) {
    NodeEffect effect = effectOf(*node);
    // Where a graph cannot be looked into, it is better to hear a warning twice than to lose what
    // came before a failure.
    bool onlyWarns = isForeign && effect == NodeEffect::Other && !node->mixesLibraries &&
                     findLibrary(node->library)->onlyWarns(*node);
    if (onlyWarns) continue;
    bool isRandom = effect == NodeEffect::Random;
    if (isRandom && restoresRandomNumbers && !effects.random) effects.random = node.get();
    if (isRandom && !restoresRandomNumbers) effect = NodeEffect::Other;
    if (effect == NodeEffect::Other && !effects.first) effects.first = node.get();
    if (effect != NodeEffect::Mode) continue;
    if (!effects.mode) effects.mode = node.get();
    Library::ModeState state = findLibrary(node->library)->modeState(*node);
    if (!effects.modeState.get || state.extent > effects.modeState.extent) {
      effects.modeState = state;
    }
  }
  return effects;
}

// What the frames do that go on behind the graph.
HistoryUse historyUseOf(llvm::ArrayRef<FrameState> frames) {
  HistoryUse use = HistoryUse::None;
  for (const FrameState& frame : frames) {
    for (const Library* library : registeredLibraries()) {
      use = std::max(use, library->historyUse(*frame.code, frame.globals->existing()));
    }
  }
  return use;
}

bool isPure(const Node& node) {
  const Library* library = findLibrary(node.library);
  return library && library->isPure(node);
}

// What an iterator holds in the end may show other effects.
bool comesLast(const Effect& effect) { return effect.kind == EffectKind::IteratorRewrite; }

// Have the arrays that are passed for the graph no memory in common? Then that is guarded.
bool inputsAreApart(InstructionTranslator& translator) {
  std::vector<Node*> arrays = translator.graph->placeholders();
  llvm::erase_if(arrays, [](const Node* input) { return input->number; });
  return arrays.size() < 2 || translator.areApart(arrays);
}

}  // namespace

void PyCodegen::callGraph() {
  if (translator_.graph->empty() && plan_.outputs().empty()) return;
  GraphEffects effects = effectsOf(*translator_.graph, translator_.restoresRandomNumbers(),
                                   translator_.usesForeignBackend());
  Ref<> mode;
  if (effects.modeState.get) mode = checked(PyObject_CallNoArgs(effects.modeState.get));
  translator_.graph->liftNumbers();
  GraphUse use;
  if (translator_.usesForeignBackend()) {
    use.history = historyUseOf(outcome_.frames);
    use.handlesFailures = translator_.failureIsHandled();
    use.changesSharedMemory = effects.first && !inputsAreApart(translator_);
  }
  use.changesNothing = !effects.first && !effects.mode && !effects.random;
  if (withoutOperationModes(Py_None)) use.changesNothing = false;  // It needs a function.
  // While it compiles, a backend may do what the graph does, and leave it done.
  llvm::SmallVector<std::shared_ptr<void>, 2> modes;
  if (translator_.usesForeignBackend()) {
    for (const Library* library : registeredLibraries()) {
      modes.push_back(library->enterMode(library->currentMode()));
    }
  }
  CompiledGraph compiled = environment_.compileGraph(*translator_.graph, effects.first, use);
  if (!compiled.callable && !compiled.isInlined) {
    // A backend that raises may have run half of the graph.
    {
      SetException kept;
      Ref<> isSet =
          Ref<>::steal(mode ? PyObject_CallOneArg(effects.modeState.set, mode.get()) : nullptr);
      if (!isSet) clearException();
    }
    throw PendingPythonException();
  }
  modes.clear();
  if (mode && translator_.usesForeignBackend()) {
    Ref<> isSet = checked(PyObject_CallOneArg(effects.modeState.set, mode.get()));
  }
  if (effects.first && compiled.isEager) {
    failureRecorder_ =
        graphFailureRecorder(compiled.callable, translator_.graph, effects.first->ordinal);
    if (!failureRecorder_) throw PendingPythonException();
  }
  if (compiled.callable) {
    if (Ref<> alone = withoutOperationModes(compiled.callable)) {
      compiled.callable = std::move(alone);
    }
  }
  graphHasEffects_ = effects.first;
  modeBefore_ = effects.mode;
  handlesFailure_ = !graphHasEffects_ || failureRecorder_ || modeBefore_ || interruptHandler_;
  if (effects.random) {
    randomState_ = findLibrary(effects.random->library)->randomState();
    randomStateLocal_ = freshLocal("random_state");
    prepareCall(randomState_.get);
    call(0);
    assembler_.emit(Opcode::STORE_FAST, randomStateLocal_);
  }
  if (effects.modeState.get) {
    modeState_ = effects.modeState;
    modeStateLocal_ = freshLocal("mode_state");
    prepareCall(modeState_.get);
    call(0);
    assembler_.emit(Opcode::STORE_FAST, modeStateLocal_);
  }
  if (handlesFailure_) {
    graphHandler_ = assembler_.newLabel();
    assembler_.beginRegion(graphHandler_, 0, false);
  }
  if (compiled.isInlined) {
    inlineGraph();
    return assembler_.endRegion();
  }
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(compiled.callable);
  std::vector<Node*> inputs = translator_.graph->placeholders();
  for (Node* input : inputs) {
    if (input->number) {
      compute(*input->number);
    } else {
      loadSource(input->source);
    }
  }
  assembler_.emitCall(static_cast<int32_t>(inputs.size()));
  if (handlesFailure_) assembler_.endRegion();
  if (effects.mode && translator_.usesForeignBackend()) setModeBehindGraph(*effects.mode);
  if (plan_.outputs().empty()) {
    assembler_.emit(Opcode::POP_TOP);
    return enterContexts();
  }
  size_t count = plan_.outputs().size() + unusedFailures_;
  assembler_.emit(Opcode::UNPACK_SEQUENCE, static_cast<int32_t>(count));
  for (Node* node : plan_.outputs()) {
    int32_t local = freshLocal("graph_out");
    outputs_[node] = local;
    assembler_.emit(Opcode::STORE_FAST, local);
  }
  for (size_t i = 0; i < unusedFailures_; ++i) assembler_.emit(Opcode::POP_TOP);
  enterContexts();
}

// Compilers drop what nobody uses, and with it the exception that it might raise.
void PyCodegen::addUnusedFailures(const Graph& graph, std::vector<Node*>& results) {
  llvm::DenseSet<const Node*> used(results.begin(), results.end());
  for (const auto& node : graph.nodes()) {
    forEachInput(*node, [&](Node* input) { used.insert(input); });
  }
  size_t before = results.size();
  for (const auto& node : graph.nodes()) {
    bool mayFail = node->isCall() && !node->checked && node->metadata;
    if (mayFail && !used.contains(node.get()) && effectOf(*node) == NodeEffect::None) {
      results.push_back(node.get());
    }
  }
  unusedFailures_ = results.size() - before;
}

void PyCodegen::finishGraph() {
  Graph& graph = *translator_.graph;
  graph.breakAt(-1);  // What is added now is not the program's.
  std::vector<Node*> results = plan_.outputs().vec();
  for (const Library* library : registeredLibraries()) {
    for (Node* enter : library->leaveContexts(graph)) contexts_.push_back({enter});
  }
  if (translator_.usesForeignBackend()) {
    for (const Library* library : registeredLibraries()) library->finishForBackend(graph, results);
    addUnusedFailures(graph, results);
  }
  graph.finish(results, isPure);
}

// The mode that a graph leaves set, a backend may have set while it compiled, and never again, or
// each time: so it is set anew, from what it was before.
void PyCodegen::setModeBehindGraph(const Node& first) {
  const Library& library = *findLibrary(first.library);
  uint32_t mode = translator_.mode(library);
  if (mode == first.mode) return;
  std::vector<Library::ModeCall> calls = library.callsInto(mode);
  if (calls.empty()) return;
  if (modeState_.set) putModeBack();
  for (const Library::ModeCall& each : calls) callModeFunction(each);
}

void PyCodegen::callModeFunction(const Library::ModeCall& modeCall) {
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(modeCall.function);
  assembler_.emitLoadConst(modeCall.arguments);
  if (modeCall.keywords) assembler_.emitLoadConst(modeCall.keywords);
  assembler_.emit(Opcode::CALL_FUNCTION_EX, modeCall.keywords ? 1 : 0);
  assembler_.emit(Opcode::POP_TOP);
}

// The modes as the program has them behind the graph, which has left the contexts.
void PyCodegen::enterContexts() {
  if (contexts_.empty()) return;
  const Library& library = *findLibrary(contexts_.front().enter->library);
  uint32_t mode = contexts_.front().enter->mode;
  auto change = [&](uint32_t to) {
    Library::ModeCall between = library.callBetween(mode, to);
    if (between.function) callModeFunction(between);
    mode = to;
  };
  for (Context& context : contexts_) {
    change(context.enter->mode);
    prepareCall(context.enter->target);
    for (const Argument& argument : context.enter->arguments) {
      assembler_.emitLoadConst(argument.object());
    }
    call(static_cast<int32_t>(context.enter->arguments.size()));
    context.local = freshLocal("context");
    assembler_.emit(Opcode::STORE_FAST, context.local);
    mode = *context.enter->newMode;
  }
  change(translator_.mode(library));
}

void PyCodegen::loadContext(const Node* enter) {
  auto context = llvm::find_if(contexts_, [&](const Context& each) { return each.enter == enter; });
  context->isLoaded = true;
  assembler_.emit(Opcode::LOAD_FAST, context->local);
}

// The mode as it was before the graph.
void PyCodegen::putModeBack() {
  bool isState = modeStateLocal_ >= 0;
  prepareCall(isState ? modeState_.set : modeBefore_->target.get());
  if (isState) {
    assembler_.emit(Opcode::LOAD_FAST, modeStateLocal_);
  } else {
    // What the program calls may begin in a mode that no node has set, as it makes no difference.
    loadConstant(findLibrary(modeBefore_->library)->currentMode() ? Py_True : Py_False);
  }
  call(1);
  assembler_.emit(Opcode::POP_TOP);
}

// The operations of a graph that changes nothing. What the code needs besides is in locals of its
// own, as without them.
void PyCodegen::inlineGraph() {
  InlinedLocals locals;
  for (Node* input : translator_.graph->placeholders()) {
    size_t before = assembler_.size();
    if (input->number) {
      compute(*input->number);
    } else {
      loadSource(input->source);
    }
    if (assembler_.size() == before + 1 && assembler_.last().opcode == Opcode::LOAD_FAST) {
      locals[input] = assembler_.last().argument;
      assembler_.dropLast();
    } else {
      locals[input] = freshLocal("graph_in");
      assembler_.emit(Opcode::STORE_FAST, locals[input]);
    }
  }
  for (Node* node : plan_.outputs()) {
    int32_t local = outputs_[node] = freshLocal("graph_out");
    if (node->operation == NodeOperation::Placeholder) {
      assembler_.emit(Opcode::LOAD_FAST, locals[node]);
      assembler_.emit(Opcode::STORE_FAST, local);
    } else {
      locals[node] = local;
    }
  }
  const Code& code = *translator_.entry().code;
  armature::inlineGraph(*translator_.graph, assembler_, locals, code.filename);
  assembler_.setPosition(startPosition());
}

// Where the graph raised: graphFailure() is returned for an exception of the program, if the call
// can go on. Where it cannot, the exception leaves the frame: none of the graph's operations is
// inside of a handler that would see it (Translator::checkFailure), wherever the frame stood
// before. Only what comes from outside (KeyboardInterrupt, outsideExceptions()) is raised there.
void PyCodegen::emitGraphHandler() {
  Assembler::Label outside = assembler_.newLabel(), leave = assembler_.newLabel();
  auto emitRaise = [&](Assembler::Label& label) {
    assembler_.bind(label);
    assembler_.emit(Opcode::SWAP, 2);
    assembler_.emit(Opcode::POP_EXCEPT);
    assembler_.emit(Opcode::RERAISE, 0);
  };
  beginInterruptible();
  assembler_.bind(graphHandler_);
  assembler_.emit(Opcode::PUSH_EXC_INFO);
  if (modeBefore_) putModeBack();
  loadConstant(PyExc_Exception);
  assembler_.emit(Opcode::CHECK_EXC_MATCH);
  assembler_.emitJump(Opcode::POP_JUMP_IF_FALSE, outside);
  loadConstant(outsideExceptions());
  assembler_.emit(Opcode::CHECK_EXC_MATCH);
  assembler_.emitJump(Opcode::POP_JUMP_IF_TRUE, outside);
  bool isForgotten = failureRecorder_ || !graphHasEffects_;
  if (!isForgotten) assembler_.emitJump(Opcode::JUMP, leave);
  if (failureRecorder_) {
    assembler_.emit(Opcode::PUSH_NULL);
    loadConstant(failureRecorder_);
    assembler_.emit(Opcode::COPY, 3);
    call(1);
    assembler_.emitJump(Opcode::POP_JUMP_IF_FALSE, leave);
  }
  if (isForgotten) {
    if (randomStateLocal_ >= 0) {
      prepareCall(randomNumbersRestorer());
      loadConstant(randomState_.set);
      assembler_.emit(Opcode::LOAD_FAST, randomStateLocal_);
      call(2);
      assembler_.emit(Opcode::POP_TOP);
    }
    assembler_.emit(Opcode::POP_TOP);
    assembler_.emit(Opcode::POP_EXCEPT);
    loadConstant(graphFailure());
    assembler_.emit(Opcode::RETURN_VALUE);
  }
  emitRaise(outside);
  endInterruptible();
  if (failureRecorder_ || !isForgotten) emitRaise(leave);
}

void PyCodegen::requireEffects() {
  const SideEffects& effects = translator_.effects;
  for (int32_t i = 0; i < effects.size(); ++i) {
    const Effect& effect = effects[i];
    if (effect.kind == EffectKind::Cancelled) continue;
    reconstructorOf(effect.target->kind()).storedBy(translator_, effect, [&](const Value& value) {
      comesLast(effect) ? plan_.require(value) : plan_.requireForEffect(value, i);
    });
    const Source* source = effect.target->source();
    if (source && source->kind() == SourceKind::LocalCell) writtenCells_.insert(source->index());
  }
}

void PyCodegen::replayEffects() {
  const SideEffects& effects = translator_.effects;
  llvm::SmallVector<int32_t, 4> last;
  for (int32_t i = 0; i < effects.size();) {
    makeLateObjects(i);
    bool isLast = comesLast(effects[i]);
    if (isLast) last.push_back(i);
    bool isPassed = isLast || effects[i].kind == EffectKind::Cancelled;
    i = isPassed ? i + 1 : reconstructorOf(effects[i].target->kind()).replayRun(*this, effects, i);
  }
  makeLateObjects(std::numeric_limits<int32_t>::max());
  for (const auto& [value, local] : lateStores_) {
    load(value);
    assembler_.emit(Opcode::STORE_FAST, local);
  }
  for (int32_t number : last) {
    reconstructorOf(effects[number].target->kind()).replay(*this, effects[number]);
  }
  if (PyObject* setter = translator_.errorOnGraphBreakSetter()) {
    prepareCall(setter);
    loadConstant(translator_.errorOnGraphBreak() ? Py_True : Py_False);
    call(1);
    assembler_.emit(Opcode::POP_TOP);
  }
}

}  // namespace armature
