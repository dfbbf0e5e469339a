#include "variables/objects/traceback.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/text.h"
#include "cpython/tracebacks.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Py_ssize_t originalOffset(PyCodeObject* code, const Position& position) {
  return cpython::offsetOf(code, position.line, position.endLine, position.column,
                           position.endColumn);
}

// Made first: its locals may hold the traceback that shows it. The frame of a generator that has
// been suspended is the generator's own.
class TracedFrameReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker* tracker) const override {
    return isGenerators(tracker) ? Steps::One : Steps::Two;
  }
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    if (isGenerators(tracker)) visit(Value(frameOf(tracker)->generator));
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.load(Value(frameOf(tracker)->generator));
    codegen.assembler().emitName(Opcode::LOAD_ATTR, "gi_frame");
  }
  void holds(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& local : frameOf(tracker)->locals) {
      if (local) visit(local);
    }
  }
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    const TracedFrameVariable* frame = frameOf(tracker);
    PyCodeObject* code = frame->code->original;
    PyObject* globals = frame->globals->existing();
    if (!code || !globals) throw UnsupportedReconstruction(describe(Value(tracker)));
    codegen.prepareCall(cpython::makeFrameFunction());
    codegen.loadConstant(reinterpret_cast<PyObject*>(code));
    codegen.loadConstant(globals);
    codegen.load(Value::integer(originalOffset(code, frame->code->positions[frame->pc])));
    codegen.call(3);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    const std::vector<Value>& locals = frameOf(tracker)->locals;
    for (size_t i = 0; i < locals.size(); ++i) {
      if (!locals[i]) continue;
      codegen.prepareCall(cpython::setFrameLocalFunction());
      codegen.load(tracker);
      codegen.load(Value::integer(static_cast<int64_t>(i)));
      codegen.load(locals[i]);
      codegen.call(3);
      codegen.assembler().emit(Opcode::POP_TOP);
    }
  }

 private:
  static TracedFrameVariable* frameOf(VariableTracker* tracker) {
    return llvm::cast<TracedFrameVariable>(tracker);
  }
  static bool isGenerators(VariableTracker* tracker) {
    const GeneratorVariable* generator = frameOf(tracker)->generator;
    return generator && generator->state == GeneratorVariable::State::Suspended;
  }
};

class TracebackReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* traceback = llvm::cast<TracebackVariable>(tracker);
    visit(traceback->next);
    visit(traceback->frame);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* traceback = llvm::cast<TracebackVariable>(tracker);
    PyCodeObject* code = traceback->frame->code->original;
    if (!code) throw UnsupportedReconstruction(describe(Value(tracker)));
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyTraceBack_Type));
    codegen.load(traceback->next ? traceback->next : Value::none());
    codegen.load(traceback->frame);
    codegen.load(Value::integer(originalOffset(code, traceback->position())));
    codegen.load(Value::integer(traceback->position().line));
    codegen.call(4);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(TracedFrame)
ARMATURE_RECONSTRUCTOR(Traceback)

}  // namespace armature
