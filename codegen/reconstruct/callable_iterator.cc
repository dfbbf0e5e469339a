#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/iterators.h"

namespace armature {

namespace {

class CallableIteratorReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    auto* iterator = llvm::cast<CallableIteratorVariable>(tracker);
    if (iterator->function) visit(iterator->function), visit(iterator->sentinel);
  }
  bool showsState() const override { return true; }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* iterator = llvm::cast<CallableIteratorVariable>(tracker);
    if (!iterator->function) return buildAtEnd(codegen, iterator->type());
    codegen.prepareCall(PyDict_GetItemString(PyEval_GetBuiltins(), "iter"));
    codegen.load(iterator->function);
    codegen.load(iterator->sentinel);
    codegen.call(2);
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    replayEnd(codegen, effect);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(CallableIterator)

}  // namespace armature
