// Objects that existed before the trace; weak references that it makes, tokens of context
// variables, and the descriptors of a made class's slots.
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "cpython/type_lookup.h"
#include "variables/objects/context_variable.h"
#include "variables/objects/made_class.h"
#include "variables/objects/weak_reference.h"

namespace armature {

namespace {

class OpaqueReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    if (auto* made = llvm::dyn_cast<NewWeakReferenceVariable>(tracker)) visit(made->referent);
    if (auto* token = llvm::dyn_cast<ContextTokenVariable>(tracker)) {
      if (token->previous) visit(Value(token->previous));
      visit(Value(token->variable));
      visit(token->value);
    }
    if (auto* descriptor = llvm::dyn_cast<MadeDescriptorVariable>(tracker)) {
      visit(Value(descriptor->owner));
    }
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    if (auto* token = llvm::dyn_cast<ContextTokenVariable>(tracker)) return set(codegen, token);
    if (auto* descriptor = llvm::dyn_cast<MadeDescriptorVariable>(tracker)) {
      return loadMadeDescriptor(codegen, *descriptor->owner->made(), descriptor->name.object());
    }
    auto* made = llvm::dyn_cast<NewWeakReferenceVariable>(tracker);
    if (!made) return Reconstructor::build(codegen, tracker);
    codegen.prepareCall(reinterpret_cast<PyObject*>(cpython::weakReferenceType()));
    codegen.load(made->referent);
    codegen.call(1);
  }

  // A variable was set, which is done where the token is made.
  void storedBy(Translator& translator, const Effect& effect, PartVisitor visit) const override {
    if (effect.kind != EffectKind::Call) return Reconstructor::storedBy(translator, effect, visit);
    visit(effect.value);
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    if (effect.kind != EffectKind::Call) return Reconstructor::replay(codegen, effect);
    codegen.load(effect.value);
    codegen.assembler().emit(Opcode::POP_TOP);
  }

 private:
  static void set(PyCodegen& codegen, ContextTokenVariable* token) {
    if (token->isUsed) throw UnsupportedReconstruction("a token that was used");
    if (token->previous) {
      codegen.load(Value(token->previous));
      codegen.assembler().emit(Opcode::POP_TOP);
    }
    codegen.prepareCall(cpython::ownAttribute(&PyContextVar_Type, "set"));
    codegen.load(Value(token->variable));
    codegen.load(token->value);
    codegen.call(2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Opaque)

}  // namespace armature
