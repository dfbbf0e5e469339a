// What makes items of others: starmap, accumulate, pairwise and zip_longest of itertools.
#include "variables/containers/itertools_models.h"

#include "variables/functions/arguments.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

using Construction = IteratorRecipe::Construction;

// --- starmap: the function, the iterator.

Value starmapNext(Translator& translator, ItertoolsVariable& self) {
  Value item = step(translator, self, 1);
  CallArguments arguments;
  if (!item || !iterateInto(translator, item, arguments.values)) return Value();
  if (typeOf(item) == &PyTuple_Type) arguments.tuple = std::move(item);
  return call(translator, translator.realized(self[0]), arguments);
}
ItertoolsModel starmapModel = {"starmap", starmapNext, callWithFunction};

Value makeStarmap(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "starmap", arguments, 2, 2)) return Value();
  Value iterator = getIterator(translator, arguments.values[1]);
  if (!iterator) return iterator;
  return makeItertools(translator, starmapModel, {arguments.values[0], iterator});
}

// --- accumulate: the iterator, the function (None: add), the total so far and the first one that
// is still to be given; null for none.

Value accumulateNext(Translator& translator, ItertoolsVariable& self) {
  if (Value initial = self[3]) {
    self.set(translator, 3, Value());
    self.set(translator, 2, initial);
    return initial;
  }
  Value item = step(translator, self, 0);
  if (!item) return item;
  Value total = self[2];
  Value function = translator.realized(self[1]);
  if (total) {
    item = function.is(Py_None) ? binaryOperation(translator, nb_add, total, item)
                                : call(translator, function, {total, item});
    if (!item) return item;
  }
  self.set(translator, 2, item);
  return item;
}
IteratorRecipe accumulateRecipe(Translator&, const ItertoolsVariable& self) {
  IteratorRecipe recipe = {.arguments = {self[0], self[1]}, .iterators = {0}};
  if (self[3]) recipe.arguments.push_back(self[3]), recipe.keyword = "initial";
  if (self[2]) recipe.state = {self[2]};
  return recipe;
}
ItertoolsModel accumulateModel = {"accumulate", accumulateNext, accumulateRecipe};

Value makeAccumulate(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"accumulate", {"iterable", "func", "initial"}, 1, 2};
  Value iterable, function = Value::none(), initial;
  if (!readArguments(translator, kSignature, arguments, {&iterable, &function, &initial})) {
    return Value();
  }
  Value iterator = getIterator(translator, iterable);
  if (!iterator) return iterator;
  if (initial && translator.realized(initial).is(Py_None)) initial = Value();
  return makeItertools(translator, accumulateModel, {iterator, function, Value(), initial});
}

// --- pairwise: the iterator (null at the end), the item that came before (null at the start).

Value pairwiseNext(Translator& translator, ItertoolsVariable& self) {
  if (!self[0]) return Value();
  Value old = self[1] ? self[1] : step(translator, self, 0);
  if (old) self.set(translator, 1, old);
  Value item = old && self[0] ? step(translator, self, 0) : Value();
  self.set(translator, 1, item);
  if (item) return makeTuple(translator, {old, item});
  self.set(translator, 0, Value());
  return item;
}
IteratorRecipe pairwiseRecipe(Translator&, const ItertoolsVariable& self) {
  if (!self[0]) return {.arguments = {emptyTuple()}};
  if (!self[1]) return {.arguments = {self[0]}, .iterators = {0}};
  return {
      .construction = Construction::Pairwise, .arguments = {self[1], self[0]}, .iterators = {1}};
}
ItertoolsModel pairwiseModel = {"pairwise", pairwiseNext, pairwiseRecipe};

Value makePairwise(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkIterable(translator, "pairwise", arguments)) return Value();
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  return makeItertools(translator, pairwiseModel, {iterator, Value()});
}

// --- zip_longest: what fills up, how many iterators have not ended, the iterators, null where one
// has. At the end of the last, none is active, but it is kept.

enum ZipLongestState { kFill, kActive, kFirstIterator };

Value zipLongestNext(Translator& translator, ItertoolsVariable& self) {
  size_t count = self.state().size();
  int64_t active = numberOf(self[kActive]);
  if (active == 0) return Value();
  ValueVector items;
  for (size_t i = kFirstIterator; i < count; ++i) {
    Value item = self[i] ? step(translator, self, i) : Value();
    if (!item && self[i]) {
      --active;
      if (translator.exceptionPending()) active = 0;
      self.set(translator, kActive, Value::integer(active));
      if (active == 0) return Value();
      self.set(translator, i, Value());
    }
    items.push_back(item ? item : self[kFill]);
  }
  return makeTuple(translator, std::move(items));
}
IteratorRecipe zipLongestRecipe(Translator&, const ItertoolsVariable& self) {
  IteratorRecipe recipe = {.keyword = "fillvalue"};
  bool ended = numberOf(self[kActive]) == 0;
  for (size_t i = kFirstIterator; i < self.state().size(); ++i) {
    bool isLeft = self[i] && !ended;
    if (isLeft) recipe.iterators.push_back(recipe.arguments.size());
    recipe.arguments.push_back(isLeft ? self[i] : emptyTuple());
  }
  recipe.arguments.push_back(self[kFill]);
  return recipe;
}
ItertoolsModel zipLongestModel = {"zip_longest", zipLongestNext, zipLongestRecipe};

Value makeZipLongest(Translator& translator, const Value&, CallArguments& arguments) {
  auto active = static_cast<int64_t>(arguments.positional().size());
  ValueVector state = {Value::none(), Value::integer(active)};
  if (size_t count = arguments.keywordCount()) {
    const Value* fill = arguments.keyword("fillvalue");
    if (!fill || count > 1) {
      return translator.raise(PyExc_TypeError, "zip_longest() got an unexpected keyword argument");
    }
    state[kFill] = *fill;
  }
  for (const Value& iterable : arguments.positional()) {
    Value iterator = getIterator(translator, iterable);
    if (!iterator) return iterator;
    state.push_back(std::move(iterator));
  }
  return makeItertools(translator, zipLongestModel, std::move(state));
}

void registerTypes() {
  registerModel(starmapModel, makeStarmap);
  registerModel(accumulateModel, makeAccumulate);
  registerModel(pairwiseModel, makePairwise);
  registerModel(zipLongestModel, makeZipLongest);
}
ARMATURE_REGISTER_HANDLERS(registerTypes);

}  // namespace

}  // namespace armature
