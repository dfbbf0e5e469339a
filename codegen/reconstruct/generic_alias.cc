#include "variables/objects/generic_alias.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"

namespace armature {

namespace {

class GenericAliasReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* alias = llvm::cast<GenericAliasVariable>(tracker);
    visit(alias->origin), visit(alias->arguments);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    // A class below GenericAlias may want other arguments than those that are there.
    static PyObject* const make =
        checked(
            PyObject_GetAttrString(reinterpret_cast<PyObject*>(&Py_GenericAliasType), "__new__"))
            .release();
    codegen.prepareCall(make);
    codegen.loadType(tracker->type());
    needs(codegen.translator(), tracker, [&](const Value& part) { codegen.load(part); });
    codegen.call(3);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(GenericAlias)

}  // namespace armature
