#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/builtin_part.h"
#include "codegen/reconstruct/builtin_types.h"
#include "codegen/reconstruct/call_result.h"
#include "codegen/reconstruct/reconstructor.h"
#include "cpython/random_state.h"
#include "variables/objects/user_defined.h"

namespace armature {

namespace {

// skip_draws(random, words)
PyObject* skipDraws(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  if (!cpython::skipDraws(arguments[0], PyLong_AsLong(arguments[1]))) return nullptr;
  Py_RETURN_NONE;
}

// Of a random.Random.
void replayDraws(PyCodegen& codegen, const Effect& effect) {
  codegen.prepareCall(privateFunction<skipDraws>("skip_draws"));
  codegen.load(effect.target);
  codegen.load(Value::integer(effect.index));
  codegen.call(2);
  codegen.assembler().emit(Opcode::POP_TOP);
}

class UserObjectReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::Two; }
  void needs(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    visit(objectOf(tracker)->classVariable);
    if (VariableTracker* part = objectOf(tracker)->container) visitNeeded(translator, part, visit);
  }
  void holds(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    UserObjectVariable* object = objectOf(tracker);
    if (object->container) visitHeld(translator, object->container, visit);
    for (DictVariable* dict : {object->dict, object->memberValues}) {
      if (!dict) continue;
      dict->forEach(translator, [&](const OrderedValueMap::Entry& entry) {
        visit(entry.key);
        visit(entry.value);
      });
    }
  }

  // By __new__ without __init__, which has been traced.
  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    UserObjectVariable* object = objectOf(tracker);
    if (object->container) {
      makeInstance(codegen, object->container, [&] { codegen.load(object->classVariable); });
    } else {
      codegen.prepareCall(builtinAttribute(object->type(), "__new__"));
      codegen.load(object->classVariable);
      if (object->data) codegen.load(object->data);
      codegen.call(object->data ? 2 : 1);
    }
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }

  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    UserObjectVariable* object = objectOf(tracker);
    if (object->container) fillPart(codegen, object->container);
    if (object->dict) fillInstanceDict(codegen, object, object->dict);
    if (object->memberValues) {
      object->memberValues->forEach(codegen.translator(), [&](const OrderedValueMap::Entry& entry) {
        setThroughDescriptor(codegen, entry.key.object(), object, entry.value);
      });
    }
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    if (effect.kind == EffectKind::IteratorAdvance) return;
    if (effect.kind == EffectKind::Call) return visitCall(effect, visit);
    visit(objectOf(effect.target)->memberValues->written(effect.key));
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    if (effect.kind == EffectKind::IteratorAdvance) return replayDraws(codegen, effect);
    if (effect.kind == EffectKind::Call) return replayCall(codegen, effect);
    const Value value = objectOf(effect.target)->memberValues->written(effect.key);
    // A slot that is set first can be deleted, whatever it held before.
    setThroughDescriptor(codegen, effect.key.object(), effect.target,
                         value ? value : Value::none());
    if (!value) deleteThroughDescriptor(codegen, effect.key.object(), effect.target);
  }

 private:
  static UserObjectVariable* objectOf(VariableTracker* tracker) {
    return llvm::cast<UserObjectVariable>(tracker);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(UserObject)

}  // namespace armature
