#include "variables/containers/mapping_proxy.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class MappingProxyReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(llvm::cast<MappingProxyVariable>(tracker)->mapping);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyDictProxy_Type));
    codegen.load(llvm::cast<MappingProxyVariable>(tracker)->mapping);
    codegen.call(1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(MappingProxy)

}  // namespace armature
