#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

class TupleReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& item : llvm::cast<TupleVariable>(tracker)->items()) visit(item);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    const ValueVector& items = llvm::cast<TupleVariable>(tracker)->items();
    for (const Value& item : items) codegen.load(item);
    codegen.assembler().emit(Opcode::BUILD_TUPLE, static_cast<int32_t>(items.size()));
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Tuple)

}  // namespace armature
