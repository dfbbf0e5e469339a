#include "variables/objects/context_manager.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

class ContextManagerReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* manager = llvm::cast<ContextManagerVariable>(tracker);
    if (manager->model.isLeftOut()) {
      throw UnsupportedReconstruction(describe(Value(tracker)));
    }
    visit(manager->instance ? manager->instance : manager->classValue);
    if (!manager->model.isMadeByCall()) return;
    for (const Value& argument : manager->arguments) visit(argument);
  }
  // Not by its constructor, which may set the mode.
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* manager = llvm::cast<ContextManagerVariable>(tracker);
    if (manager->instance) return codegen.load(manager->instance);
    if (manager->model.isMadeByCall()) return make(codegen, *manager);
    codegen.prepareCall(builtinAttribute(&PyBaseObject_Type, "__new__"));
    codegen.load(manager->classValue);
    codegen.call(1);
    for (const auto& [name, value] : manager->model.attributes(*manager)) {
      codegen.load(value);
      codegen.assembler().emit(Opcode::COPY, 2);
      codegen.assembler().emitName(Opcode::STORE_ATTR, name);
    }
  }

 private:
  static void make(PyCodegen& codegen, const ContextManagerVariable& manager) {
    if (manager.node) return codegen.loadContext(manager.node);
    codegen.assembler().emit(Opcode::PUSH_NULL);
    codegen.load(manager.classValue);
    for (const Value& argument : manager.arguments) codegen.load(argument);
    codegen.call(static_cast<int32_t>(manager.arguments.size()));
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(ContextManager)

}  // namespace armature
