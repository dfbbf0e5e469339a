#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "cpython/list_layout.h"
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

// Of an instance of a subclass, the builtin type's own functions.
bool isOfSubclass(VariableTracker* list) { return list->type() != &PyList_Type; }

void setItem(PyCodegen& codegen, VariableTracker* list, const Value& key,
             llvm::function_ref<void()> loadValue) {
  if (!isOfSubclass(list)) {
    loadValue();
    codegen.load(list);
    codegen.load(key);
    codegen.assembler().emit(Opcode::STORE_SUBSCR);
    return;
  }
  prepareMethodCall(codegen, list, "__setitem__");
  codegen.load(key);
  loadValue();
  codegen.call(3);
  codegen.assembler().emit(Opcode::POP_TOP);
}

// touch_list(list)
PyObject* touchList(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  cpython::noteListChange(arguments[0]);
  Py_RETURN_NONE;
}

void touch(PyCodegen& codegen, VariableTracker* list) {
  codegen.prepareCall(privateFunction<touchList>("touch_list"));
  codegen.load(list);
  codegen.call(1);
  codegen.assembler().emit(Opcode::POP_TOP);
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
    if (effect.kind == EffectKind::SequenceRewrite) {
      for (const Value& item : itemsOf(effect.target)) visit(item);
    } else {
      visit(effect.value);
    }
  }

  void replay(PyCodegen& codegen, const Effect& effect) const override {
    Assembler& assembler = codegen.assembler();
    Value index = Value::integer(effect.index);
    switch (effect.kind) {
      case EffectKind::SequenceAppend:
        codegen.load(effect.target);
        codegen.load(effect.value);
        assembler.emit(Opcode::LIST_APPEND, 1);
        assembler.emit(Opcode::POP_TOP);
        return;
      case EffectKind::SequenceSetItem:
        setItem(codegen, effect.target, index, [&] { codegen.load(effect.value); });
        return;
      case EffectKind::SequenceInsert:
        prepareMethodCall(codegen, effect.target, "insert");
        codegen.load(index);
        codegen.load(effect.value);
        codegen.call(3);
        assembler.emit(Opcode::POP_TOP);
        return;
      case EffectKind::SequenceDelete:
        if (isOfSubclass(effect.target)) {
          prepareMethodCall(codegen, effect.target, "__delitem__");
          codegen.load(index);
          codegen.call(2);
          assembler.emit(Opcode::POP_TOP);
          return;
        }
        codegen.load(effect.target);
        codegen.load(index);
        assembler.emit(Opcode::DELETE_SUBSCR);
        return;
      case EffectKind::SequenceTouch:
        touch(codegen, effect.target);
        return;
      case EffectKind::SequenceRewrite:
        // Emptying what is empty is no change.
        if (itemsOf(effect.target).empty()) touch(codegen, effect.target);
        setItem(codegen, effect.target,
                Value::steal(checked(PySlice_New(nullptr, nullptr, nullptr)).release()),
                [&] { buildItems(codegen, effect.target); });
        return;
      default:
        Reconstructor::replay(codegen, effect);
    }
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(List)

}  // namespace armature
