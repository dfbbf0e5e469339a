#include "codegen/py_codegen.h"
#include "codegen/reconstruct/iterator_argument.h"
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
    auto* filter = llvm::cast<FilterVariable>(tracker);
    codegen.load(filter->function);
    loadIteratorArgument(codegen, filter->iterator);
    codegen.call(2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Filter)

}  // namespace armature
