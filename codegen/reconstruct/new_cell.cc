#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/functions/functions.h"

namespace armature {

namespace {

class NewCellReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::Two; }
  void holds(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    visit(llvm::cast<NewCellVariable>(tracker)->contents());
  }
  const char* localName() const override { return "cell"; }
  Opcode loadOpcode() const override { return Opcode::LOAD_CLOSURE; }
  void allocate(PyCodegen& codegen, VariableTracker*, int32_t local) const override {
    codegen.assembler().emit(Opcode::MAKE_CELL, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    const Value& contents = llvm::cast<NewCellVariable>(tracker)->contents();
    if (contents) store(codegen, tracker, contents);
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    visit(llvm::cast<NewCellVariable>(effect.target)->contents());
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    const Value& contents = llvm::cast<NewCellVariable>(effect.target)->contents();
    if (contents) return store(codegen, effect.target, contents);
    codegen.load(effect.target);
    codegen.assembler().emitName(Opcode::DELETE_ATTR, "cell_contents");
  }

 private:
  static void store(PyCodegen& codegen, VariableTracker* cell, const Value& contents) {
    codegen.load(contents);
    codegen.load(cell);
    codegen.assembler().emitName(Opcode::STORE_ATTR, "cell_contents");
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(NewCell)

}  // namespace armature
