#include "variables/objects/traceback.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/text.h"
#include "cpython/generator_frames.h"
#include "cpython/tracebacks.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Py_ssize_t offsetIn(BorrowedRef<PyCodeObject> code, const Position& position) {
  return cpython::offsetOf(code, position.line, position.endLine, position.column,
                           position.endColumn);
}

bool isSuspended(const GeneratorVariable* generator) {
  return generator && generator->state == GeneratorVariable::State::Suspended;
}

// The code of the frame object that stands for the frame.
Ref<PyCodeObject> shownCode(PyCodegen& codegen, const TracedFrameVariable& frame) {
  PyCodeObject* original = frame.code->original;
  if (!isSuspended(frame.generator)) return Ref<PyCodeObject>::create(original);
  PyObject* existing = frame.generator->existing();
  if (!existing) return codeOfGenerator(codegen, original);
  return Ref<PyCodeObject>::create(
      reinterpret_cast<PyCodeObject*>(cpython::generatorCode(existing)));
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
    codegen.load(Value::integer(offsetIn(code, frame->code->positions[frame->pc])));
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
    return isSuspended(frameOf(tracker)->generator);
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
    if (!traceback->frame->code->original) {
      throw UnsupportedReconstruction(describe(Value(tracker)));
    }
    Ref<PyCodeObject> code = shownCode(codegen, *traceback->frame);
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyTraceBack_Type));
    codegen.load(traceback->next ? traceback->next : Value::none());
    codegen.load(traceback->frame);
    codegen.load(Value::integer(offsetIn(code, traceback->position())));
    codegen.load(Value::integer(traceback->position().line));
    codegen.call(4);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(TracedFrame)
ARMATURE_RECONSTRUCTOR(Traceback)

}  // namespace armature
