// set and frozenset.
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "core/text.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/containers/set_operations.h"

namespace armature {

namespace {

SetVariable* setOf(VariableTracker* tracker) { return llvm::cast<SetVariable>(tracker); }

// Adds an item to the set on the stack, which stays there.
void addToTop(PyCodegen& codegen, const Value& key) {
  bool byMethods = isKeyByMethods(key);
  if (byMethods) {
    buildSet(codegen, &PySet_Type, key);
  } else {
    codegen.load(key);
  }
  codegen.assembler().emit(byMethods ? Opcode::SET_UPDATE : Opcode::SET_ADD, 1);
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
  addToTop(codegen, key);
  codegen.assembler().emit(Opcode::POP_TOP);
}

class SetReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker* tracker) const override {
    return tracker->type() == &PySet_Type ? Steps::OneOrTwo : Steps::One;
  }
  void holds(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    setOf(tracker)->forEach(translator, visit);
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    SetVariable* set = setOf(tracker);
    Ref<> table = set->type() == &PySet_Type ? ownTable(codegen.translator(), set) : nullptr;
    if (!table) return buildSet(codegen, set->type(), itemsOf(codegen.translator(), set));
    prepareTakeTable(codegen);
    codegen.assembler().emit(Opcode::BUILD_SET, 0);
    takeTable(codegen, table);
  }
  void allocate(PyCodegen& codegen, VariableTracker*, int32_t local) const override {
    codegen.assembler().emit(Opcode::BUILD_SET, 0);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    codegen.load(tracker);
    for (const Value& item : itemsOf(codegen.translator(), setOf(tracker))) addToTop(codegen, item);
    codegen.assembler().emit(Opcode::POP_TOP);
  }

  void storedBy(Translator& translator, const Effect& effect, PartVisitor visit) const override {
    if (effect.kind == EffectKind::SetRewrite) {
      setOf(effect.target)->forEach(translator, visit);
    } else {
      visit(effect.key);
    }
  }

  // Many changes by data in a row are one call.
  int32_t replayRun(PyCodegen& codegen, const SideEffects& effects, int32_t first) const override {
    constexpr int32_t kFewest = 8;
    VariableTracker* set = effects[first].target;
    llvm::SmallVector<PyObject*, 16> items;
    std::string adds;
    int32_t end = first;
    for (; end < effects.size(); ++end) {
      const Effect& effect = effects[end];
      bool isAdd = effect.kind == EffectKind::SetAdd;
      bool isChange = isAdd || effect.kind == EffectKind::SetDiscard;
      if (effect.target != set || !isChange || !isConstantData(effect.key)) break;
      items.push_back(effect.key.object());
      adds.push_back(isAdd ? 1 : 0);
    }
    if (end - first < kFewest) return Reconstructor::replayRun(codegen, effects, first);
    Ref<> tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i) {
      PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(items[i]));
    }
    Ref<> bytes =
        checked(PyBytes_FromStringAndSize(adds.data(), static_cast<Py_ssize_t>(adds.size())));
    changeSet(codegen, setOf(set), tuple, bytes);
    return end;
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
        for (const Value& key : itemsOf(codegen.translator(), set)) addKey(codegen, set, key);
        return;
      default:
        Reconstructor::replay(codegen, effect);
    }
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Set)

}  // namespace armature
