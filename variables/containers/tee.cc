// itertools.tee.
#include "variables/containers/itertools_models.h"

#include "cpython/iterators.h"
#include "variables/containers/sequence.h"
#include "variables/functions/arguments.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"
#include "variables/translator.h"

namespace armature {

namespace {

using Construction = IteratorRecipe::Construction;

// --- tee: what the tees share (the list of what was read, the iterator, whether it is being
// stepped), the position.

IteratorRecipe teeDataRecipe(Translator&, const ItertoolsVariable& self) {
  return {.construction = Construction::Tee, .arguments = {self[0], self[1]}, .iterators = {1}};
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
  int64_t count = 2;
  if (arguments.values.size() == 2 && !readMachineSize(translator, arguments.values[1], count)) {
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
  // tee_fromiterable asks for one once more.
  if (!tee) iterator = getIterator(translator, iterator);
  if (!iterator) return iterator;
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

void registerTypes() {
  teeModel.type = teeDataModel.type = cpython::itertoolsType(teeModel.name);
  if (!teeModel.type) return;
  registerSlotWrappers(teeModel.type);
  registerMethodHandler(teeModel.type, "__copy__", copyTee);
  registerFunctionHandler("itertools", "tee", makeTee);
}
ARMATURE_REGISTER_HANDLERS(registerTypes);

}  // namespace

}  // namespace armature
