#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/iterators.h"

namespace armature {

namespace {

class FilterReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* filter = llvm::cast<FilterVariable>(tracker);
    visit(filter->function), visit(filter->iterator);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyFilter_Type));
    needs(codegen.translator(), tracker, [&](const Value& part) { codegen.load(part); });
    codegen.call(2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Filter)

}  // namespace armature
