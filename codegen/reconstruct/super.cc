#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/functions/functions.h"

namespace armature {

namespace {

class SuperReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* super = llvm::cast<SuperVariable>(tracker);
    visit(super->startClass), visit(super->self);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PySuper_Type));
    needs(codegen.translator(), tracker, [&](const Value& part) { codegen.load(part); });
    codegen.call(2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Super)

}  // namespace armature
