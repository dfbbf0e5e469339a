#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/iterator_argument.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/iterators.h"

namespace armature {

namespace {

class EnumerateReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(llvm::cast<EnumerateVariable>(tracker)->iterator);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* enumerate = llvm::cast<EnumerateVariable>(tracker);
    codegen.prepareCall(reinterpret_cast<PyObject*>(&PyEnum_Type));
    loadIteratorArgument(codegen, enumerate->iterator);
    codegen.load(enumerate->count);
    codegen.call(2);
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    replayAdvance(codegen, effect);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Enumerate)

}  // namespace armature
