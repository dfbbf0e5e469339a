// The state of the iterators of itertools, and what their models have in common.
#include "variables/containers/itertools.h"

#include <vector>

#include "core/checked.h"
#include "cpython/iterators.h"
#include "variables/containers/itertools_models.h"
#include "variables/ends_of_objects.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"
#include "variables/trailed.h"
#include "variables/translator.h"

namespace armature {

void ItertoolsVariable::set(Translator& translator, size_t i, Value value) {
  bool isEffect = translator.effects.concerns(this);
  if (isEffect && state_[i] && !state_[i].sameAs(value)) letGo(translator, state_[i]);
  assignTrailed(translator.trail, state_[i], std::move(value));
  // One record stands for all changes: it stores what is there in the end.
  if (isEffect && translator.effects.last(this) == SideEffects::kNone) {
    translator.effects.append({EffectKind::IteratorRewrite, this, {}, {}});
  }
}

Value makeItertools(Translator& translator, const ItertoolsModel& model, ValueVector state) {
  return translator.make<ItertoolsVariable>(model, std::move(state));
}

bool checkIterable(Translator& translator, const char* type, const CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.size() == 1) {
    return checkArgumentCount(translator, type, arguments, 1, 1);
  }
  translator.raise(PyExc_TypeError, "%s expected 1 argument, got %zu", type,
                   arguments.values.size());
  return false;
}

int64_t numberOf(const Value& value) { return PyLong_AsLongLong(value.object()); }

Value emptyTuple() { return Value::steal(checked(PyTuple_New(0)).release()); }

Value step(Translator& translator, const ItertoolsVariable& self, size_t part) {
  return iteratorNext(translator, translator.realized(self[part]));
}

IteratorRecipe callWithState(Translator&, const ItertoolsVariable& self) {
  return {.arguments = self.state()};
}

IteratorRecipe callWithFunction(Translator&, const ItertoolsVariable& self) {
  return {.arguments = self.state(), .iterators = {1}};
}

Value verdictOn(Translator& translator, const ItertoolsVariable& self, const Value& item) {
  Value function = translator.realized(self[0]);
  Value verdict = call(translator, function, {item});
  int truth = verdict ? isTrue(translator, std::move(verdict)) : -1;
  return truth < 0 ? Value() : Value::boolean(truth);
}

namespace {

std::vector<const ItertoolsModel*>& models() {
  static std::vector<const ItertoolsModel*> all;
  return all;
}

}  // namespace

void registerModel(ItertoolsModel& model, BuiltinHandler handler) {
  model.type = cpython::itertoolsType(model.name);
  if (!model.type) return;
  models().push_back(&model);
  registerObjectHandler(reinterpret_cast<PyObject*>(model.type), handler);
  // islice has those of existing ones.
  if (model.type != cpython::isliceType()) registerSlotWrappers(model.type);
}

const ItertoolsModel* itertoolsModel(const PyTypeObject* type) {
  for (const ItertoolsModel* model : models()) {
    if (model->type == type) return model;
  }
  return nullptr;
}

namespace {

Value nextOf(Translator& translator, const Value& self) {
  auto* iterator = requireKind<ItertoolsVariable>(self);
  return iterator->model.next(translator, *iterator);
}

TypeSlots makeSlots() {
  TypeSlots slots;
  slots.tp_iter = [](Translator&, const Value& self) { return self; };
  slots.tp_iternext = nextOf;
  slots.tp_hash = unimplemented::unary;
  slots.tp_repr = unimplemented::unary;
  return slots;
}

}  // namespace

const TypeSlots kItertoolsSlots = makeSlots();

}  // namespace armature
