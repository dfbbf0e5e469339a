#include "variables/objects/generic_alias.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class GenericAliasReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* alias = llvm::cast<GenericAliasVariable>(tracker);
    visit(alias->origin), visit(alias->arguments);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.prepareCall(reinterpret_cast<PyObject*>(&Py_GenericAliasType));
    needs(codegen.translator(), tracker, [&](const Value& part) { codegen.load(part); });
    codegen.call(2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(GenericAlias)

}  // namespace armature
