#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

const ValueVector& itemsOf(VariableTracker* tracker) {
  return llvm::cast<ListVariable>(tracker)->items();
}

void buildItems(PyCodegen& codegen, VariableTracker* tracker) {
  const ValueVector& items = itemsOf(tracker);
  for (const Value& item : items) codegen.load(item);
  codegen.assembler().emit(Opcode::BUILD_LIST, static_cast<int32_t>(items.size()));
}

class ListReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::OneOrTwo; }
  void holds(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& item : itemsOf(tracker)) visit(item);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    buildItems(codegen, tracker);
  }
  void allocate(PyCodegen& codegen, VariableTracker*, int32_t local) const override {
    codegen.assembler().emit(Opcode::BUILD_LIST, 0);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.load(tracker);
    buildItems(codegen, tracker);
    codegen.assembler().emit(Opcode::LIST_EXTEND, 1);
    codegen.assembler().emit(Opcode::POP_TOP);
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    if (effect.kind == EffectKind::ListRewrite) {
      for (const Value& item : itemsOf(effect.target)) visit(item);
    } else {
      visit(effect.value);
    }
  }

  void replay(PyCodegen& codegen, const Effect& effect) const override {
    Assembler& assembler = codegen.assembler();
    Value index = Value::integer(effect.index);
    switch (effect.kind) {
      case EffectKind::ListAppend:
        codegen.load(effect.target);
        codegen.load(effect.value);
        assembler.emit(Opcode::LIST_APPEND, 1);
        assembler.emit(Opcode::POP_TOP);
        return;
      case EffectKind::ListSetItem:
        codegen.load(effect.value);
        codegen.load(effect.target);
        codegen.load(index);
        assembler.emit(Opcode::STORE_SUBSCR);
        return;
      case EffectKind::ListInsert:
        prepareMethodCall(codegen, effect.target, "insert");
        codegen.load(index);
        codegen.load(effect.value);
        codegen.call(3);
        assembler.emit(Opcode::POP_TOP);
        return;
      case EffectKind::ListDelete:
        codegen.load(effect.target);
        codegen.load(index);
        assembler.emit(Opcode::DELETE_SUBSCR);
        return;
      case EffectKind::ListRewrite:
        buildItems(codegen, effect.target);
        codegen.load(effect.target);
        codegen.loadConstant(checked(PySlice_New(nullptr, nullptr, nullptr)));
        assembler.emit(Opcode::STORE_SUBSCR);
        return;
      default:
        Reconstructor::replay(codegen, effect);
    }
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(List)

}  // namespace armature
