#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "variables/functions/functions.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

class SuperReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* super = llvm::cast<SuperVariable>(tracker);
    visit(super->startClass), visit(super->self);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* super = llvm::cast<SuperVariable>(tracker);
    // Which would be asked once more what its class is (supercheck).
    bool isOfProxy =
        super->selfType != typeOf(super->self) && super->selfType != asClass(super->self);
    if (isOfProxy) throw UnsupportedReconstruction("super() of a proxy");
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PySuper_Type));
    needs(codegen.translator(), tracker, [&](const Value& part) { codegen.load(part); });
    codegen.call(2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Super)

}  // namespace armature
