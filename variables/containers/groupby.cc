// itertools.groupby.
#include "variables/containers/itertools_models.h"

#include "cpython/iterators.h"
#include "variables/functions/arguments.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"
#include "variables/translator.h"

namespace armature {

namespace {

// --- groupby: the iterator, the key function, the key of the group at hand, the key and the value
// of the last item (both: null once it was given), and the group. A group: its groupby, its
// key.

enum GroupState { kIterator, kKeyFunction, kTargetKey, kCurrentKey, kCurrentValue, kGroup };

bool stepGroups(Translator& translator, ItertoolsVariable& self) {
  Value value = step(translator, self, kIterator);
  if (!value) return false;
  Value function = translator.realized(self[kKeyFunction]);
  Value key = function.is(Py_None) ? value : call(translator, function, {value});
  if (!key) return false;
  self.set(translator, kCurrentValue, std::move(value));
  self.set(translator, kCurrentKey, std::move(key));
  return true;
}

Value groupNext(Translator& translator, ItertoolsVariable& group) {
  auto& groups = *requireKind<ItertoolsVariable>(group[0]);
  if (!groups[kGroup].sameAs(&group)) return Value();
  if (!groups[kCurrentValue] && !stepGroups(translator, groups)) return Value();
  if (areEqual(translator, group[1], groups[kCurrentKey]) <= 0) return Value();
  Value value = groups[kCurrentValue];
  groups.set(translator, kCurrentValue, Value());
  groups.set(translator, kCurrentKey, Value());
  return value;
}
IteratorRecipe groupRecipe(Translator&, const ItertoolsVariable& group) {
  // To make one is to make it the group at hand.
  auto& groups = *requireKind<ItertoolsVariable>(group[0]);
  if (!groups[kGroup].sameAs(const_cast<ItertoolsVariable*>(&group))) {
    return {.impossible = "a group that groupby has left behind"};
  }
  return {.arguments = group.state()};
}
ItertoolsModel groupModel = {"_grouper", groupNext, groupRecipe};

Value groupbyNext(Translator& translator, ItertoolsVariable& self) {
  self.set(translator, kGroup, Value());
  for (;;) {
    if (self[kCurrentKey]) {
      if (!self[kTargetKey]) break;
      int equal = areEqual(translator, self[kTargetKey], self[kCurrentKey]);
      if (equal < 0) return Value();
      if (equal == 0) break;
    }
    if (!stepGroups(translator, self)) return Value();
  }
  Value key = self[kCurrentKey];
  self.set(translator, kTargetKey, key);
  Value group = makeItertools(translator, groupModel, {Value(&self), key});
  self.set(translator, kGroup, group);
  return makeTuple(translator, {key, group});
}
IteratorRecipe groupbyRecipe(Translator&, const ItertoolsVariable& self) {
  IteratorRecipe recipe = {.arguments = {self[kIterator], self[kKeyFunction]}, .iterators = {0}};
  if (!self[kCurrentKey] && !self[kTargetKey]) return recipe;
  if (!self[kCurrentKey]) return {.impossible = "groupby amid a group"};
  recipe.state = {self[kCurrentKey], self[kCurrentValue], self[kTargetKey]};
  return recipe;
}
ItertoolsModel groupbyModel = {"groupby", groupbyNext, groupbyRecipe};

Value makeGroupby(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"groupby", {"iterable", "key"}, 1, 2};
  Value iterable, key = Value::none();
  if (!readArguments(translator, kSignature, arguments, {&iterable, &key})) return Value();
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  return makeItertools(translator, groupbyModel,
                       {iterator, key, Value(), Value(), Value(), Value()});
}

void registerTypes() {
  registerModel(groupbyModel, makeGroupby);
  groupModel.type = cpython::itertoolsType(groupModel.name);
  if (groupModel.type) registerSlotWrappers(groupModel.type);
}
ARMATURE_REGISTER_HANDLERS(registerTypes);

}  // namespace

}  // namespace armature
