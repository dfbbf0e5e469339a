// What passes some items on: takewhile, dropwhile, filterfalse, compress and islice of itertools.
#include "variables/containers/itertools_models.h"

#include "variables/functions/arguments.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

// --- takewhile, dropwhile, filterfalse: the function, the iterator, whether the verdict has
// turned.

IteratorRecipe turningRecipe(Translator&, const ItertoolsVariable& self) {
  IteratorRecipe recipe = {.arguments = {self[0], self[1]}, .iterators = {1}};
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
ItertoolsModel filterfalseModel = {"filterfalse", filterfalseNext, callWithFunction};

template <ItertoolsModel& model, bool turns>
Value makeFiltering(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, model.name, arguments, 2, 2)) return Value();
  Value iterator = getIterator(translator, arguments.values[1]);
  if (!iterator) return iterator;
  ValueVector state = {arguments.values[0], iterator};
  if (turns) state.push_back(Value::boolean(false));
  return makeItertools(translator, model, std::move(state));
}

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
IteratorRecipe compressRecipe(Translator&, const ItertoolsVariable& self) {
  return {.arguments = self.state(), .iterators = {0, 1}};
}
ItertoolsModel compressModel = {"compress", compressNext, compressRecipe};

Value makeCompress(Translator& translator, const Value&, CallArguments& arguments) {
  static constexpr Signature kSignature = {"compress", {"data", "selectors"}, 2, 2};
  Value data, selectors;
  if (!readArguments(translator, kSignature, arguments, {&data, &selectors})) return Value();
  Value dataIterator = getIterator(translator, data);
  Value selectorIterator = dataIterator ? getIterator(translator, selectors) : Value();
  if (!selectorIterator) return Value();
  return makeItertools(translator, compressModel, {dataIterator, selectorIterator});
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
  return {.arguments = {self[0], self[1], self[2], self[3]}, .iterators = {0}, .state = {self[4]}};
}
ItertoolsModel isliceModel = {"islice", isliceNext, isliceRecipe};

Value makeIslice(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "islice", arguments, 2, 4)) return Value();
  Py_ssize_t start = 0, stop = -1, step = 1;
  // Whatever is wrong with an argument shows as a value out of range.
  auto read = [&](const Value& value, Py_ssize_t& number) {
    if (translator.realized(value).is(Py_None)) return false;
    if (!readMachineSize(translator, value, number)) translator.dropException(), number = -1;
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

void registerTypes() {
  registerModel(takewhileModel, makeFiltering<takewhileModel, true>);
  registerModel(dropwhileModel, makeFiltering<dropwhileModel, true>);
  registerModel(filterfalseModel, makeFiltering<filterfalseModel, false>);
  registerModel(compressModel, makeCompress);
  registerModel(isliceModel, makeIslice);
}
ARMATURE_REGISTER_HANDLERS(registerTypes);

}  // namespace

}  // namespace armature
