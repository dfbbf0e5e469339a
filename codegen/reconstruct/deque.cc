#include "variables/containers/deque.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"

namespace armature {

namespace {

DequeVariable* dequeOf(VariableTracker* tracker) { return llvm::cast<DequeVariable>(tracker); }

void buildItems(PyCodegen& codegen, const DequeVariable* deque) {
  for (const Value& item : deque->items()) codegen.load(item);
  codegen.assembler().emit(Opcode::BUILD_TUPLE, static_cast<int32_t>(deque->items().size()));
}

// deque.name(…) with what `loadArguments` loads, its result dropped.
void callMethod(PyCodegen& codegen, VariableTracker* deque, const char* name, int32_t count,
                llvm::function_ref<void()> loadArguments) {
  prepareMethodCall(codegen, deque, name);
  loadArguments();
  codegen.call(1 + count);
  codegen.assembler().emit(Opcode::POP_TOP);
}

class DequeReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::OneOrTwo; }
  void holds(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    for (const Value& item : dequeOf(tracker)->items()) visit(item);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    DequeVariable* deque = dequeOf(tracker);
    codegen.prepareCall(reinterpret_cast<PyObject*>(cpython::dequeType()));
    buildItems(codegen, deque);
    loadBound(codegen, deque);
    codegen.call(2);
  }
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    codegen.prepareCall(reinterpret_cast<PyObject*>(cpython::dequeType()));
    codegen.assembler().emit(Opcode::BUILD_TUPLE, 0);
    loadBound(codegen, dequeOf(tracker));
    codegen.call(2);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    callMethod(codegen, tracker, "extend", 1, [&] { buildItems(codegen, dequeOf(tracker)); });
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    if (effect.kind == EffectKind::SequenceRewrite) {
      for (const Value& item : dequeOf(effect.target)->items()) visit(item);
    } else {
      visit(effect.value);
    }
  }

  void replay(PyCodegen& codegen, const Effect& effect) const override {
    VariableTracker* deque = effect.target;
    auto loadIndex = [&] { codegen.load(Value::integer(effect.index)); };
    auto loadValue = [&] { codegen.load(effect.value); };
    auto loadBoth = [&] {
      loadIndex();
      loadValue();
    };
    switch (effect.kind) {
      case EffectKind::SequenceAppend:
        return callMethod(codegen, deque, "append", 1, loadValue);
      case EffectKind::SequenceSetItem:
        return callMethod(codegen, deque, "__setitem__", 2, loadBoth);
      case EffectKind::SequenceInsert:
        // Not insert() at the front, which a full deque refuses.
        if (effect.index == 0) return callMethod(codegen, deque, "appendleft", 1, loadValue);
        return callMethod(codegen, deque, "insert", 2, loadBoth);
      case EffectKind::SequenceDelete:
        return callMethod(codegen, deque, "__delitem__", 1, loadIndex);
      case EffectKind::SequenceRotate:
        return callMethod(codegen, deque, "rotate", 1, loadIndex);
      case EffectKind::SequenceReverse:
        return callMethod(codegen, deque, "reverse", 0, [] {});
      case EffectKind::SequenceRewrite:
        // To empty what is empty would be no change, which iterators notice.
        callMethod(codegen, deque, "append", 1, [&] { codegen.load(Value::none()); });
        callMethod(codegen, deque, "clear", 0, [] {});
        return callMethod(codegen, deque, "extend", 1,
                          [&] { buildItems(codegen, dequeOf(deque)); });
      default:
        Reconstructor::replay(codegen, effect);
    }
  }

 private:
  static void loadBound(PyCodegen& codegen, const DequeVariable* deque) {
    codegen.load(deque->bound() < 0 ? Value::none() : Value::integer(deque->bound()));
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Deque)

}  // namespace armature
