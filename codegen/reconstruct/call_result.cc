#include "codegen/reconstruct/call_result.h"

#include "bytecode/private_function.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/objects/call_result.h"

namespace armature {

namespace {

// What the call gives; null if it gives nothing, and the value is its argument.
CallResultVariable* resultOf(const Effect& effect) {
  return llvm::dyn_cast<CallResultVariable>(effect.value.tracker());
}

// become(object, other): both have one __dict__ from now on.
PyObject* become(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  Ref<> dict = Ref<>::steal(PyObject_GenericGetDict(arguments[1], nullptr));
  if (!dict || PyObject_GenericSetDict(arguments[0], dict.get(), nullptr) < 0) return nullptr;
  Py_RETURN_NONE;
}

void replayCallOfTwo(PyCodegen& codegen, const Effect& effect) {
  codegen.prepareCall(effect.key.object());
  codegen.load(effect.target);
  codegen.load(effect.value);
  codegen.call(2);
  codegen.assembler().emit(Opcode::POP_TOP);
}

class CallResultReconstructor : public Reconstructor {
 public:
  // The effect fills it.
  Steps steps(VariableTracker*) const override { return Steps::Two; }
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    codegen.prepareCall(builtinAttribute(tracker->type(), "__new__"));
    codegen.loadType(tracker->type());
    codegen.call(1);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen&, VariableTracker*) const override {}
  // A call with the object itself, and what is given to it.
  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    visit(Value(effect.target));
    if (effect.value) visit(effect.value);
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    if (effect.value) return replayCallOfTwo(codegen, effect);
    codegen.prepareCall(effect.key.object());
    codegen.load(effect.target);
    codegen.call(1);
    codegen.assembler().emit(Opcode::POP_TOP);
  }
};

}  // namespace

void visitCall(const Effect& effect, PartVisitor visit) {
  if (CallResultVariable* result = resultOf(effect)) {
    for (const Value& argument : result->arguments) visit(argument);
  }
  visit(effect.value);
}

void replayCall(PyCodegen& codegen, const Effect& effect) {
  CallResultVariable* result = resultOf(effect);
  if (!result) return replayCallOfTwo(codegen, effect);
  codegen.prepareCall(privateFunction<become>("become"));
  codegen.load(result);
  codegen.prepareCall(effect.key.object());
  codegen.load(effect.target);
  for (const Value& argument : result->arguments) codegen.load(argument);
  codegen.call(static_cast<int32_t>(1 + result->arguments.size()));
  codegen.call(2);
  codegen.assembler().emit(Opcode::POP_TOP);
}

ARMATURE_RECONSTRUCTOR(CallResult)

}  // namespace armature
