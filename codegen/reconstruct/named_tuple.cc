// Instances of classes over tuple, and of structseq types (torch.return_types.max), whose
// constructor takes one sequence.
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "cpython/type_lookup.h"
#include "variables/containers/sequence.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"

namespace armature {

namespace {

class NamedTupleReconstructor : public Reconstructor {
 public:
  void needs(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    if (MadeClass* made = translator.madeClasses().find(tracker->type())) visit(made->variable);
    for (const Value& item : llvm::cast<NamedTupleVariable>(tracker)->items()) visit(item);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    Assembler& assembler = codegen.assembler();
    const ValueVector& items = llvm::cast<NamedTupleVariable>(tracker)->items();
    bool isStructSequence = cpython::ownAttribute(tracker->type(), "n_sequence_fields") != nullptr;
    if (!isStructSequence) {
      codegen.prepareCall(builtinAttribute(&PyTuple_Type, "__new__"));
    } else {
      assembler.emit(Opcode::PUSH_NULL);
    }
    codegen.loadType(tracker->type());
    for (const Value& item : items) codegen.load(item);
    assembler.emit(Opcode::BUILD_TUPLE, static_cast<int32_t>(items.size()));
    codegen.call(isStructSequence ? 1 : 2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(NamedTuple)

}  // namespace armature
