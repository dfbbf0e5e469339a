#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "variables/objects/context_manager.h"

namespace armature {

namespace {

// The __exit__ of a context manager that does nothing.
PyObject* endOfNothing() {
  static PyObject* const exit = [] {
    Ref<> module = checked(cpython::importModule("contextlib"));
    Ref<> manager = checked(PyObject_CallMethod(module.get(), "nullcontext", nullptr));
    return checked(PyObject_GetAttrString(manager.get(), "__exit__")).release();
  }();
  return exit;
}

class ContextExitReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    ContextManagerVariable* manager = llvm::cast<ContextExitVariable>(tracker)->manager;
    if (!manager->model.isLeftOut()) visit(manager);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    ContextManagerVariable* manager = llvm::cast<ContextExitVariable>(tracker)->manager;
    if (manager->model.isLeftOut()) return codegen.loadConstant(endOfNothing());
    codegen.load(manager);
    codegen.assembler().emitName(Opcode::LOAD_ATTR, "__exit__");
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(ContextExit)

}  // namespace armature
