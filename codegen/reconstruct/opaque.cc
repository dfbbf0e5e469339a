// Objects that existed before the trace, and weak references that it makes.
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/objects/weak_reference.h"

namespace armature {

namespace {

class OpaqueReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    if (auto* made = llvm::dyn_cast<NewWeakReferenceVariable>(tracker)) visit(made->referent);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* made = llvm::dyn_cast<NewWeakReferenceVariable>(tracker);
    if (!made) return Reconstructor::build(codegen, tracker);
    codegen.prepareCall(reinterpret_cast<PyObject*>(cpython::weakReferenceType()));
    codegen.load(made->referent);
    codegen.call(1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Opaque)

}  // namespace armature
