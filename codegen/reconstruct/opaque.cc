// Objects that existed before the trace; weak references that it makes, tokens of context
// variables, and the descriptors of a made class's slots.
#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/objects/context_variable.h"
#include "variables/objects/made_class.h"
#include "variables/objects/weak_reference.h"

namespace armature {

namespace {

// own_attribute(class, name)
PyObject* ownAttributeOf(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  auto* type = reinterpret_cast<PyTypeObject*>(arguments[0]);
  PyObject* attribute = cpython::ownAttribute(type, arguments[1]);
  if (!attribute) PyErr_SetObject(PyExc_AttributeError, arguments[1]);
  return Py_XNewRef(attribute);
}

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
      return find(codegen, descriptor);
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
  // In the class that this call makes, as long as that holds it.
  static void find(PyCodegen& codegen, MadeDescriptorVariable* descriptor) {
    DictVariable* attributes = descriptor->owner->made()->attributes;
    Value held = attributes->get(codegen.translator(), descriptor->name.object());
    if (trackerOf<MadeDescriptorVariable>(held) != descriptor) {
      throw UnsupportedReconstruction("a descriptor that its class has lost");
    }
    codegen.prepareCall(privateFunction<ownAttributeOf>("own_attribute"));
    codegen.load(Value(descriptor->owner));
    codegen.load(descriptor->name);
    codegen.call(2);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Opaque)

}  // namespace armature
