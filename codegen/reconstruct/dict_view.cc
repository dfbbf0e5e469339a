#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/dict.h"

namespace armature {

namespace {

class DictViewReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(llvm::cast<DictViewVariable>(tracker)->dict);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    static constexpr const char* kMethods[] = {"keys", "values", "items"};
    auto* view = llvm::cast<DictViewVariable>(tracker);
    prepareMethodCall(codegen, view->dict, kMethods[static_cast<int>(view->view)]);
    codegen.call(1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(DictView)

}  // namespace armature
