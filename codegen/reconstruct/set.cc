// set and frozenset.
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/text.h"
#include "variables/containers/dict.h"

namespace armature {

namespace {

SetVariable* setOf(VariableTracker* tracker) { return llvm::cast<SetVariable>(tracker); }

// Pushes a set or frozenset of the items.
void buildItems(PyCodegen& codegen, SetVariable* set, PyTypeObject* type = &PySet_Type) {
  llvm::SmallVector<Value, 8> keys;
  set->forEach([&](const Value& key) { keys.push_back(key); });
  buildSet(codegen, type, keys);
}

// set.name(key), its result dropped.
void callWith(PyCodegen& codegen, SetVariable* set, const char* name, const Value& key) {
  prepareMethodCall(codegen, set, name);
  codegen.load(key);
  codegen.call(2);
  codegen.assembler().emit(Opcode::POP_TOP);
}

void addKey(PyCodegen& codegen, SetVariable* set, const Value& key) {
  if (!isKeyByMethods(key)) return callWith(codegen, set, "add", key);
  codegen.load(set);
  buildSet(codegen, &PySet_Type, key);
  codegen.assembler().emit(Opcode::SET_UPDATE, 1);
  codegen.assembler().emit(Opcode::POP_TOP);
}

class SetReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker* tracker) const override {
    return tracker->type() == &PySet_Type ? Steps::OneOrTwo : Steps::One;
  }
  void holds(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    setOf(tracker)->forEach(visit);
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    buildItems(codegen, setOf(tracker), tracker->type());
  }
  void allocate(PyCodegen& codegen, VariableTracker*, int32_t local) const override {
    codegen.assembler().emit(Opcode::BUILD_SET, 0);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.load(tracker);
    buildItems(codegen, setOf(tracker));
    codegen.assembler().emit(Opcode::SET_UPDATE, 1);
    codegen.assembler().emit(Opcode::POP_TOP);
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    if (effect.kind == EffectKind::SetRewrite) {
      setOf(effect.target)->forEach(visit);
    } else {
      visit(effect.key);
    }
  }

  void replay(PyCodegen& codegen, const Effect& effect) const override {
    SetVariable* set = setOf(effect.target);
    Assembler& assembler = codegen.assembler();
    switch (effect.kind) {
      case EffectKind::SetAdd:
        return addKey(codegen, set, effect.key);
      case EffectKind::SetDiscard:
        return callWith(codegen, set, "discard", effect.key);
      case EffectKind::SetMethod: {
        prepareMethodCall(codegen, set, printable(effect.key.object()).c_str());
        PyObject* arguments = effect.value.object();
        auto count = static_cast<int32_t>(PyTuple_GET_SIZE(arguments));
        for (int32_t i = 0; i < count; ++i) {
          codegen.loadConstant(PyTuple_GET_ITEM(arguments, i));
        }
        codegen.call(1 + count);
        assembler.emit(Opcode::POP_TOP);
        return;
      }
      case EffectKind::SetRewrite:
        prepareMethodCall(codegen, set, "clear");
        codegen.call(1);
        assembler.emit(Opcode::POP_TOP);
        set->forEach([&](const Value& key) { addKey(codegen, set, key); });
        return;
      default:
        Reconstructor::replay(codegen, effect);
    }
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Set)

}  // namespace armature
