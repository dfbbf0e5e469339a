// Instances of namedtuple classes, and of structseq types (torch.return_types.max), whose
// constructor takes one sequence.
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "cpython/type_lookup.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

class NamedTupleReconstructor : public Reconstructor {
 public:
  void needs(PyCodegen&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& item : llvm::cast<NamedTupleVariable>(tracker)->items()) visit(item);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    Assembler& assembler = codegen.assembler();
    const ValueVector& items = llvm::cast<NamedTupleVariable>(tracker)->items();
    bool isNamedTuple = cpython::ownAttribute(tracker->type(), "_fields") != nullptr;
    if (isNamedTuple) {
      codegen.prepareCall(builtinAttribute(&PyTuple_Type, "__new__"));
    } else {
      assembler.emit(Opcode::PUSH_NULL);
    }
    codegen.loadType(tracker->type());
    for (const Value& item : items) codegen.load(item);
    assembler.emit(Opcode::BUILD_TUPLE, static_cast<int32_t>(items.size()));
    codegen.call(isNamedTuple ? 2 : 1);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(NamedTuple)

}  // namespace armature
