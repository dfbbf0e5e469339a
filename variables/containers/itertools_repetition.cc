// count, repeat and cycle of itertools.
#include "variables/containers/itertools_models.h"

#include "variables/functions/arguments.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

namespace {

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
  // With a step of 1 it counts in C: from the number of a bool, too (count_new).
  if (PyBool_Check(start.object()) && PyLong_Check(step.object()) &&
      PyObject_RichCompareBool(step.object(), Py_True, Py_EQ) == 1) {
    start = Value::integer(start.is(Py_True));
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
  int64_t count = 0;
  if (!readMachineSize(translator, times, count)) return Value();
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
  return {.arguments = {self[0]}, .iterators = {0}, .state = {self[1], self[2]}};
}
ItertoolsModel cycleModel = {"cycle", cycleNext, cycleRecipe};

Value makeCycle(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkIterable(translator, "cycle", arguments)) return Value();
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  Value saved = translator.make<ListVariable>(ValueVector());
  return makeItertools(translator, cycleModel, {iterator, saved, Value::boolean(false)});
}

void registerTypes() {
  registerModel(countModel, makeCount);
  registerModel(repeatModel, makeRepeat);
  registerModel(cycleModel, makeCycle);
}
ARMATURE_REGISTER_HANDLERS(registerTypes);

}  // namespace

}  // namespace armature
