#include "variables/functions/partial.h"

#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_part.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

class PartialReconstructor : public Reconstructor {
 public:
  // Its tuple and its dict are objects that the program may have seen.
  Steps steps(VariableTracker*) const override { return Steps::Two; }
  void needs(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    visitNeeded(translator, tracker, visit);
  }
  void holds(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    visitHeld(translator, tracker, visit);
    if (DictVariable* dict = llvm::cast<PartialVariable>(tracker)->dict) {
      dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
        visit(entry.key);
        visit(entry.value);
      });
    }
  }
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    makeInstance(codegen, tracker,
                 [&] { codegen.loadConstant(reinterpret_cast<PyObject*>(partialType())); });
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    fillPart(codegen, tracker);
    DictVariable* dict = llvm::cast<PartialVariable>(tracker)->dict;
    if (dict) fillInstanceDict(codegen, tracker, dict);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Partial)

}  // namespace armature
