// The graph call, and what Python must see changed after it.
#include "codegen/graph_failure.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/pending_python_exception.h"

namespace armature {

namespace {

// Whether a call of the graph that raised can be forgotten; `mode` is the first node that sets the
// grad mode, which then has to be set back, or null.
bool canBeForgotten(const Graph& graph, const Node*& mode) {
  mode = nullptr;
  for (const auto& node : graph.nodes()) {
    bool isCall = node->operation == NodeOperation::CallFunction ||
                  node->operation == NodeOperation::CallMethod;
    if (!isCall) continue;
    const Library* library = findLibrary(node->library);
    NodeEffect effect = library ? library->effectOf(*node) : NodeEffect::Other;
    if (effect == NodeEffect::Other) return false;
    if (effect == NodeEffect::GradMode && !mode) mode = node.get();
  }
  return true;
}

}  // namespace

PyObject* graphFailure() {
  static PyObject* const failure =
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return failure;
}

void PyCodegen::callGraph() {
  if (translator_.graph->empty() && plan_.outputs().empty()) return;
  Ref<> compiled = environment_.compileGraph(*translator_.graph);
  if (!compiled) throw PendingPythonException();
  const Node* mode;
  forgetsFailure_ = canBeForgotten(*translator_.graph, mode);
  if (forgetsFailure_) {
    graphHandler_ = assembler_.newLabel();
    modeBefore_ = mode;
    assembler_.beginRegion(graphHandler_, 0, false);
  }
  assembler_.emit(Opcode::PUSH_NULL);
  assembler_.emitLoadConst(compiled);
  std::vector<Node*> inputs = translator_.graph->placeholders();
  for (Node* input : inputs) loadSource(input->source);
  assembler_.emitCall(static_cast<int32_t>(inputs.size()));
  if (forgetsFailure_) assembler_.endRegion();
  if (plan_.outputs().empty()) {
    assembler_.emit(Opcode::POP_TOP);
    return;
  }
  assembler_.emit(Opcode::UNPACK_SEQUENCE, static_cast<int32_t>(plan_.outputs().size()));
  for (Node* node : plan_.outputs()) {
    int32_t local = freshLocal("graph_out");
    outputs_[node] = local;
    assembler_.emit(Opcode::STORE_FAST, local);
  }
}

// Where the graph raised: an exception of the program is forgotten, and graphFailure() returned;
// what comes from outside (KeyboardInterrupt, MemoryError) goes on as it is.
void PyCodegen::emitGraphHandler() {
  if (!forgetsFailure_) return;
  Assembler::Label raise = assembler_.newLabel();
  assembler_.bind(graphHandler_);
  assembler_.emit(Opcode::PUSH_EXC_INFO);
  if (modeBefore_) {
    prepareCall(modeBefore_->target);
    loadConstant(modeBefore_->gradEnabled ? Py_True : Py_False);
    call(1);
    assembler_.emit(Opcode::POP_TOP);
  }
  loadConstant(PyExc_Exception);
  assembler_.emit(Opcode::CHECK_EXC_MATCH);
  assembler_.emitJump(Opcode::POP_JUMP_IF_FALSE, raise);
  loadConstant(PyExc_MemoryError);
  assembler_.emit(Opcode::CHECK_EXC_MATCH);
  assembler_.emitJump(Opcode::POP_JUMP_IF_TRUE, raise);
  assembler_.emit(Opcode::POP_TOP);
  assembler_.emit(Opcode::POP_EXCEPT);
  loadConstant(graphFailure());
  assembler_.emit(Opcode::RETURN_VALUE);
  assembler_.bind(raise);
  assembler_.emit(Opcode::SWAP, 2);
  assembler_.emit(Opcode::POP_EXCEPT);
  assembler_.emit(Opcode::RERAISE, 0);
}

void PyCodegen::requireEffects() {
  const SideEffects& effects = translator_.effects;
  for (int32_t i = 0; i < effects.size(); ++i) {
    const Effect& effect = effects[i];
    if (effect.kind == EffectKind::Cancelled) continue;
    reconstructorOf(effect.target->kind()).storedBy(*this, effect, [&](const Value& value) {
      plan_.require(value);
    });
    const Source* source = effect.target->source();
    if (source && source->kind() == SourceKind::LocalCell) writtenCells_.insert(source->index());
  }
}

void PyCodegen::replayEffects() {
  const SideEffects& effects = translator_.effects;
  for (int32_t i = 0; i < effects.size(); ++i) {
    if (effects[i].kind == EffectKind::Cancelled) continue;
    reconstructorOf(effects[i].target->kind()).replay(*this, effects[i]);
  }
}

}  // namespace armature
