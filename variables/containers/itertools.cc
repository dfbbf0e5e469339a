// As Modules/itertoolsmodule.c does it.
#include "variables/containers/itertools.h"

#include "core/checked.h"
#include "cpython/iterators.h"
#include "variables/containers/combinatorics.h"
#include "variables/ends_of_objects.h"
#include "variables/functions/arguments.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/protocol/equality.h"
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

int64_t numberOf(const Value& value) { return PyLong_AsLongLong(value.object()); }

Value emptyTuple() { return Value::steal(checked(PyTuple_New(0)).release()); }

namespace {

using Construction = IteratorRecipe::Construction;

// An argument of a C function that is a Py_ssize_t. False with the exception pending.
bool readSize(Translator& translator, const Value& value, Py_ssize_t& size) {
  Value index = toIndex(translator, value);
  if (!index) return false;
  size = PyNumber_AsSsize_t(index.object(), PyExc_OverflowError);
  if (size != -1 || !PyErr_Occurred()) return true;
  translator.raiseFromPython();
  return false;
}

// A step of state[i].
Value step(Translator& translator, const ItertoolsVariable& self, size_t i) {
  return iteratorNext(translator, translator.realized(self[i]));
}

// What all of the state makes again, by a call.
IteratorRecipe callWithState(Translator&, const ItertoolsVariable& self) {
  return {.arguments = self.state()};
}

// --- count: the number, the step.

Value countNext(Translator& translator, ItertoolsVariable& self) {
  Value number = self[0];
  Value next = binaryOperation(translator, nb_add, number, self[1]);
  if (!next) return next;
  self.set(translator, 0, std::move(next));
  return number;
}
ItertoolsModel countModel = {"count", countNext, callWithState};

Value makeCount(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"count", {"start", "step"}, 0, 2};
  Value start = Value::integer(0), step = Value::integer(1);
  if (!readArguments(translator, kSignature, arguments, {&start, &step})) return Value();
  for (Value* each : {&start, &step}) {
    translator.realize(*each);
    PyObject* object = each->objectOrNull();
    if (!object) return unimplemented::unary(translator, *each);
    if (!PyNumber_Check(object)) {
      return translator.raise(PyExc_TypeError, "a number is required");
    }
  }
  return makeItertools(translator, countModel, {start, step});
}

// --- repeat: the object, how often it is still given (None: for ever).

Value repeatNext(Translator& translator, ItertoolsVariable& self) {
  if (self[1].is(Py_None)) return self[0];
  int64_t left = numberOf(self[1]);
  if (left == 0) return Value();
  self.set(translator, 1, Value::integer(left - 1));
  return self[0];
}
IteratorRecipe repeatRecipe(Translator&, const ItertoolsVariable& self) {
  if (self[1].is(Py_None)) return {.arguments = {self[0]}};
  return {.arguments = self.state()};
}
ItertoolsModel repeatModel = {"repeat", repeatNext, repeatRecipe};

Value makeRepeat(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"repeat", {"object", "times"}, 1, 2};
  Value object, times;
  if (!readArguments(translator, kSignature, arguments, {&object, &times})) return Value();
  if (!times) return makeItertools(translator, repeatModel, {object, Value::none()});
  Py_ssize_t count = 0;
  if (!readSize(translator, times, count)) return Value();
  count = std::max<Py_ssize_t>(count, 0);
  return makeItertools(translator, repeatModel, {object, Value::integer(count)});
}

// --- cycle: the iterator (behind the first round, one of the list), the list of what it gave,
// whether the first round is over.

Value cycleNext(Translator& translator, ItertoolsVariable& self) {
  for (;;) {
    Value item = step(translator, self, 0);
    auto* saved = requireKind<ListVariable>(self[1]);
    if (item && self[2].is(Py_False)) saved->append(translator, item);
    if (item || translator.exceptionPending()) return item;
    self.set(translator, 0, getIterator(translator, self[1]));
    self.set(translator, 2, Value::boolean(true));
    if (saved->size() == 0) return Value();
  }
}
IteratorRecipe cycleRecipe(Translator&, const ItertoolsVariable& self) {
  return {.arguments = {self[0]}, .state = {self[1], self[2]}};
}
ItertoolsModel cycleModel = {"cycle", cycleNext, cycleRecipe};

Value makeCycle(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "cycle", arguments, 1, 1)) return Value();
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  Value saved = translator.make<ListVariable>(ValueVector());
  return makeItertools(translator, cycleModel, {iterator, saved, Value::boolean(false)});
}

// --- takewhile, dropwhile, filterfalse: the function, the iterator, whether the verdict has
// turned.

// Null with the exception pending, else a bool.
Value verdictOn(Translator& translator, const ItertoolsVariable& self, const Value& item) {
  Value function = translator.realized(self[0]);
  Value verdict = call(translator, function, {item});
  int truth = verdict ? isTrue(translator, std::move(verdict)) : -1;
  return truth < 0 ? Value() : Value::boolean(truth);
}

IteratorRecipe turningRecipe(Translator&, const ItertoolsVariable& self) {
  IteratorRecipe recipe = {.arguments = {self[0], self[1]}};
  if (self[2].is(Py_True)) recipe.state = {self[2]};
  return recipe;
}

Value takewhileNext(Translator& translator, ItertoolsVariable& self) {
  if (self[2].is(Py_True)) return Value();
  Value item = step(translator, self, 1);
  Value verdict = item ? verdictOn(translator, self, item) : Value();
  if (!verdict || verdict.is(Py_True)) return verdict ? item : verdict;
  self.set(translator, 2, Value::boolean(true));
  return Value();
}
ItertoolsModel takewhileModel = {"takewhile", takewhileNext, turningRecipe};

Value dropwhileNext(Translator& translator, ItertoolsVariable& self) {
  while (Value item = step(translator, self, 1)) {
    if (self[2].is(Py_True)) return item;
    Value verdict = verdictOn(translator, self, item);
    if (!verdict) return verdict;
    if (verdict.is(Py_True)) continue;
    self.set(translator, 2, Value::boolean(true));
    return item;
  }
  return Value();
}
ItertoolsModel dropwhileModel = {"dropwhile", dropwhileNext, turningRecipe};

Value filterfalseNext(Translator& translator, ItertoolsVariable& self) {
  Value function = translator.realized(self[0]);
  bool byTruth = function.is(Py_None) || function.is(reinterpret_cast<PyObject*>(&PyBool_Type));
  while (Value item = step(translator, self, 1)) {
    int truth = byTruth ? isTrue(translator, item) : -1;
    if (byTruth && truth < 0) return Value();
    Value verdict = byTruth ? Value::boolean(truth) : verdictOn(translator, self, item);
    if (!verdict) return verdict;
    if (verdict.is(Py_False)) return item;
  }
  return Value();
}
ItertoolsModel filterfalseModel = {"filterfalse", filterfalseNext, callWithState};

template <ItertoolsModel& model, bool turns>
Value makeFiltering(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, model.name, arguments, 2, 2)) return Value();
  Value iterator = getIterator(translator, arguments.values[1]);
  if (!iterator) return iterator;
  ValueVector state = {arguments.values[0], iterator};
  if (turns) state.push_back(Value::boolean(false));
  return makeItertools(translator, model, std::move(state));
}

// --- starmap: the function, the iterator.

Value starmapNext(Translator& translator, ItertoolsVariable& self) {
  Value item = step(translator, self, 1);
  CallArguments arguments;
  if (!item || !iterateInto(translator, item, arguments.values)) return Value();
  return call(translator, translator.realized(self[0]), arguments);
}
ItertoolsModel starmapModel = {"starmap", starmapNext, callWithState};

// --- compress: the iterators of the data and of the selectors.

Value compressNext(Translator& translator, ItertoolsVariable& self) {
  for (;;) {
    Value item = step(translator, self, 0);
    Value selector = item ? step(translator, self, 1) : Value();
    int truth = selector ? isTrue(translator, std::move(selector)) : -1;
    if (truth < 0) return Value();
    if (truth) return item;
  }
}
ItertoolsModel compressModel = {"compress", compressNext, callWithState};

Value makeCompress(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"compress", {"data", "selectors"}, 2, 2};
  Value data, selectors;
  if (!readArguments(translator, kSignature, arguments, {&data, &selectors})) return Value();
  Value dataIterator = getIterator(translator, data);
  Value selectorIterator = dataIterator ? getIterator(translator, selectors) : Value();
  if (!selectorIterator) return Value();
  return makeItertools(translator, compressModel, {dataIterator, selectorIterator});
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
  IteratorRecipe recipe = {.arguments = {self[0], self[1]}};
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

// --- islice: the iterator (null at the end), the next position, the last one (None: none), the
// step, how many items were taken.

Value endIslice(Translator& translator, ItertoolsVariable& self) {
  self.set(translator, 0, Value());
  return Value();
}
Value isliceNext(Translator& translator, ItertoolsVariable& self) {
  if (!self[0]) return Value();
  int64_t next = numberOf(self[1]), stop = self[2].is(Py_None) ? -1 : numberOf(self[2]);
  auto take = [&] {
    Value item = step(translator, self, 0);
    if (!item) return endIslice(translator, self);
    self.set(translator, 4, Value::integer(numberOf(self[4]) + 1));
    return item;
  };
  while (numberOf(self[4]) < next) {
    if (!take()) return Value();
  }
  if (stop != -1 && numberOf(self[4]) >= stop) return endIslice(translator, self);
  Value item = take();
  if (!item) return item;
  int64_t after = 0;
  bool overflows = __builtin_add_overflow(next, numberOf(self[3]), &after);
  if (overflows || (stop != -1 && after > stop)) after = stop;
  self.set(translator, 1, Value::integer(after));
  return item;
}
IteratorRecipe isliceRecipe(Translator&, const ItertoolsVariable& self) {
  if (!self[0]) return {.arguments = {emptyTuple(), Value::integer(0)}};
  return {.arguments = {self[0], self[1], self[2], self[3]}, .state = {self[4]}};
}
ItertoolsModel isliceModel = {"islice", isliceNext, isliceRecipe};

Value makeIslice(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "islice", arguments, 2, 4)) return Value();
  Py_ssize_t start = 0, stop = -1, step = 1;
  // Whatever is wrong with an argument shows as a value out of range.
  auto read = [&](const Value& value, Py_ssize_t& number) {
    if (translator.realized(value).is(Py_None)) return false;
    if (!readSize(translator, value, number)) translator.takeException(), number = -1;
    return true;
  };
  bool stopOnly = arguments.values.size() == 2;
  if (!stopOnly) read(arguments.values[1], start);
  if (read(arguments.values[stopOnly ? 1 : 2], stop) && stop == -1) {
    return translator.raise(PyExc_ValueError,
                            "Stop argument for islice() must be None or an integer: 0 <= x <= "
                            "sys.maxsize.");
  }
  if (start < 0 || stop < -1) {
    return translator.raise(PyExc_ValueError,
                            "Indices for islice() must be None or an integer: 0 <= x <= "
                            "sys.maxsize.");
  }
  if (arguments.values.size() == 4) read(arguments.values[3], step);
  if (step < 1) {
    return translator.raise(PyExc_ValueError,
                            "Step for islice() must be a positive integer or None.");
  }
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  return makeItertools(
      translator, isliceModel,
      {iterator, Value::integer(start), stop == -1 ? Value::none() : Value::integer(stop),
       Value::integer(step), Value::integer(0)});
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
  if (!self[1]) return {.arguments = {self[0]}};
  return {.construction = Construction::Pairwise, .arguments = {self[1], self[0]}};
}
ItertoolsModel pairwiseModel = {"pairwise", pairwiseNext, pairwiseRecipe};

template <ItertoolsModel& model, size_t rest>
Value makeOfOne(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, model.name, arguments, 1, 1)) return Value();
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  ValueVector state = {iterator};
  state.resize(1 + rest);
  return makeItertools(translator, model, std::move(state));
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
    recipe.arguments.push_back(self[i] && !ended ? self[i] : emptyTuple());
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

// --- groupby: the iterator, the key function, the key of the group at hand, the key and the value
// of the last item (the value: null once it was given), and the group. A group: its groupby, its
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
  IteratorRecipe recipe = {.arguments = {self[kIterator], self[kKeyFunction]}};
  if (!self[kCurrentKey]) return recipe;
  if (!self[kCurrentValue]) return {.impossible = "groupby amid a group"};
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

// --- tee: what the tees share (the list of what was read, the iterator, whether it is being
// stepped), the position.

IteratorRecipe teeDataRecipe(Translator&, const ItertoolsVariable& self) {
  return {.construction = Construction::Tee, .arguments = {self[0], self[1]}};
}
ItertoolsModel teeDataModel = {"_tee", nullptr, teeDataRecipe};

Value teeNext(Translator& translator, ItertoolsVariable& self) {
  auto& data = *requireKind<ItertoolsVariable>(self[0]);
  auto* items = requireKind<ListVariable>(data[0]);
  auto position = static_cast<size_t>(numberOf(self[1]));
  Value item;
  if (position < items->size()) {
    item = items->item(position);
  } else {
    if (data[2].is(Py_True)) {
      return translator.raise(PyExc_RuntimeError, "cannot re-enter the tee iterator");
    }
    data.set(translator, 2, Value::boolean(true));
    item = step(translator, data, 1);
    data.set(translator, 2, Value::boolean(false));
    if (item) items->append(translator, item);
  }
  if (!item) return item;
  self.set(translator, 1, Value::integer(static_cast<int64_t>(position + 1)));
  return item;
}
IteratorRecipe teeRecipe(Translator&, const ItertoolsVariable& self) {
  return {.construction = Construction::TeeBranch, .arguments = self.state()};
}
ItertoolsModel teeModel = {"_tee", teeNext, teeRecipe};

Value makeTee(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "tee", arguments, 1, 2)) return Value();
  Py_ssize_t count = 2;
  if (arguments.values.size() == 2 && !readSize(translator, arguments.values[1], count)) {
    return Value();
  }
  if (count < 0) return translator.raise(PyExc_ValueError, "n must be >= 0");
  if (count == 0) return makeTuple(translator, {});
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  // Of what is a tee, or has another __copy__ of its own, copies are made.
  auto* tee = trackerOf<ItertoolsVariable>(iterator);
  if (tee && &tee->model != &teeModel) tee = nullptr;
  static PyObject* const copy = staticName("__copy__");
  if (!tee && translator.heap.lookup(typeOf(iterator), copy)) {
    return unimplemented::unary(translator, iterator);
  }
  ValueVector tees;
  if (tee) {
    tees.push_back(iterator);
  } else {
    Value items = translator.make<ListVariable>(ValueVector());
    Value data = makeItertools(translator, teeDataModel, {items, iterator, Value::boolean(false)});
    tees.push_back(makeItertools(translator, teeModel, {data, Value::integer(0)}));
    tee = requireKind<ItertoolsVariable>(tees[0]);
  }
  while (tees.size() < static_cast<size_t>(count)) {
    tees.push_back(makeItertools(translator, teeModel, tee->state()));
  }
  return makeTuple(translator, std::move(tees));
}

Value copyTee(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "__copy__", arguments, 0, 0)) return Value();
  return makeItertools(translator, teeModel, requireKind<ItertoolsVariable>(self)->state());
}

// ---

std::vector<const ItertoolsModel*>& models() {
  static std::vector<const ItertoolsModel*> all;
  return all;
}

void registerModel(ItertoolsModel& model, BuiltinHandler handler) {
  model.type = cpython::itertoolsType(model.name);
  if (!model.type) return;
  models().push_back(&model);
  registerObjectHandler(reinterpret_cast<PyObject*>(model.type), handler);
  // islice has those of existing ones.
  if (model.type != cpython::isliceType()) registerSlotWrappers(model.type);
}

void registerItertools() {
  registerModel(countModel, makeCount);
  registerModel(repeatModel, makeRepeat);
  registerModel(cycleModel, makeCycle);
  registerModel(takewhileModel, makeFiltering<takewhileModel, true>);
  registerModel(dropwhileModel, makeFiltering<dropwhileModel, true>);
  registerModel(filterfalseModel, makeFiltering<filterfalseModel, false>);
  registerModel(starmapModel, makeFiltering<starmapModel, false>);
  registerModel(compressModel, makeCompress);
  registerModel(accumulateModel, makeAccumulate);
  registerModel(isliceModel, makeIslice);
  registerModel(pairwiseModel, makeOfOne<pairwiseModel, 1>);
  registerModel(zipLongestModel, makeZipLongest);
  registerModel(groupbyModel, makeGroupby);
  groupModel.type = cpython::itertoolsType(groupModel.name);
  if (groupModel.type) registerSlotWrappers(groupModel.type);
  teeModel.type = teeDataModel.type = cpython::itertoolsType(teeModel.name);
  if (teeModel.type) {
    registerSlotWrappers(teeModel.type);
    registerMethodHandler(teeModel.type, "__copy__", copyTee);
    registerFunctionHandler("itertools", "tee", makeTee);
  }
  for (const auto& [model, handler] : combinatorics()) registerModel(*model, handler);
}
ARMATURE_REGISTER_HANDLERS(registerItertools);

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

const ItertoolsModel* itertoolsModel(const PyTypeObject* type) {
  for (const ItertoolsModel* model : models()) {
    if (model->type == type) return model;
  }
  return nullptr;
}

const TypeSlots kItertoolsSlots = makeSlots();

}  // namespace armature
