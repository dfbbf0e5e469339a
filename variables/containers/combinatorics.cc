// product, permutations and combinations of itertools: what they give follows from indexes alone,
// which the real iterator over ranges gives.
#include "variables/containers/itertools_models.h"

#include "core/checked.h"
#include "variables/functions/arguments.h"
#include "variables/protocol/indexing.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

PyObject* IndexTuples::at(size_t position) {
  while (given_.size() <= position) {
    Ref<> next = Ref<>::steal(PyIter_Next(iterator_.get()));
    if (!next && PyErr_Occurred()) throw PendingPythonException();
    if (!next) return nullptr;
    given_.push_back(std::move(next));
  }
  return given_[position].get();
}

namespace {

// The state: how many tuples were given, whether that were all, the length of each (null for
// product), and the pools, which are tuples.
enum State { kPosition, kEnded, kLength, kFirstPool };

llvm::ArrayRef<Value> poolsOf(const ItertoolsVariable& self) {
  return llvm::ArrayRef<Value>(self.state()).drop_front(kFirstPool);
}

Value combinationNext(Translator& translator, ItertoolsVariable& self) {
  if (self[kEnded].is(Py_True)) return Value();
  int64_t position = PyLong_AsLongLong(self[kPosition].object());
  PyObject* indexes = self.indexes->at(static_cast<size_t>(position));
  if (!indexes) {
    self.set(translator, kEnded, Value::boolean(true));
    return Value();
  }
  self.set(translator, kPosition, Value::integer(position + 1));
  ValueVector items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(indexes); ++i) {
    Value item = getItem(translator, poolsOf(self)[self[kLength] ? 0 : i],
                         Value::constant(PyTuple_GET_ITEM(indexes, i)));
    if (!item) return item;
    items.push_back(std::move(item));
  }
  return makeTuple(translator, std::move(items));
}

// The class, called with the pools as ranges.
Ref<> overIndexes(Translator& translator, const ItertoolsModel& model, const Value& length,
                  llvm::ArrayRef<Value> pools) {
  Ref<> arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(pools.size()) + bool(length)));
  for (size_t i = 0; i < pools.size(); ++i) {
    Value size = lengthOf(translator, pools[i], false);
    auto* range = reinterpret_cast<PyObject*>(&PyRange_Type);
    PyTuple_SET_ITEM(arguments.get(), i,
                     checked(PyObject_CallOneArg(range, size.object())).release());
  }
  if (length) {
    PyTuple_SET_ITEM(arguments.get(), 1, Ref<>::create(length.object()).release());
  }
  return checked(PyObject_Call(reinterpret_cast<PyObject*>(model.type), arguments.get(), nullptr));
}

IteratorRecipe combinationRecipe(Translator& translator, const ItertoolsVariable& self) {
  IteratorRecipe recipe;
  bool ended = self[kEnded].is(Py_True);
  recipe.arguments.assign(poolsOf(self).begin(), poolsOf(self).end());
  // One that has ended is one of nothing: of an empty pool no tuple is made, unless of length 0.
  static const Value nothing = Value::steal(checked(PyTuple_New(0)).release());
  if (ended) recipe.arguments = {nothing};
  if (self[kLength]) {
    recipe.arguments.push_back(ended ? Value::integer(1) : self[kLength]);
  }
  int64_t position = PyLong_AsLongLong(self[kPosition].object());
  if (ended || position == 0) return recipe;
  Ref<> real = overIndexes(translator, self.model, self[kLength], poolsOf(self));
  for (int64_t i = 0; i < position; ++i) checked(PyIter_Next(real.get()));
  Ref<> reduced = checked(PyObject_CallMethod(real.get(), "__reduce__", nullptr));
  recipe.state = {
      Value::constant(checked(Ref<>::create(PyTuple_GetItem(reduced.get(), 2)).release()))};
  return recipe;
}

ItertoolsModel productModel = {"product", combinationNext, combinationRecipe};
ItertoolsModel permutationsModel = {"permutations", combinationNext, combinationRecipe};
ItertoolsModel combinationsModel = {"combinations", combinationNext, combinationRecipe};
ItertoolsModel replacementModel = {"combinations_with_replacement", combinationNext,
                                   combinationRecipe};

Value makeOver(Translator& translator, const ItertoolsModel& model, const Value& length,
               llvm::ArrayRef<Value> pools) {
  ValueVector state = {Value::integer(0), Value::boolean(false), length};
  state.append(pools.begin(), pools.end());
  auto indexes = std::make_unique<IndexTuples>(overIndexes(translator, model, length, pools));
  return translator.make<ItertoolsVariable>(model, std::move(state), std::move(indexes));
}

// tuple(iterable)
Value poolOf(Translator& translator, const Value& iterable) {
  ValueVector items;
  if (!collectInto(translator, iterable, items)) return Value();
  return makeTuple(translator, std::move(items));
}

Value makeProduct(Translator& translator, const Value&, CallArguments& arguments) {
  int64_t repeat = 1;
  if (size_t count = arguments.keywordCount()) {
    const Value* given = arguments.keyword("repeat");
    if (!given || count > 1) return unimplemented::call(translator, Value::none(), arguments);
    if (!readMachineSize(translator, *given, repeat)) return Value();
    if (repeat < 0) {
      return translator.raise(PyExc_ValueError, "repeat argument cannot be negative");
    }
  }
  ValueVector once, pools;
  for (const Value& iterable : arguments.positional()) {
    Value pool = poolOf(translator, iterable);
    if (!pool) return pool;
    once.push_back(std::move(pool));
  }
  if (static_cast<int64_t>(once.size()) * repeat > 1000) {
    return unimplemented::call(translator, Value::none(), arguments);
  }
  for (Py_ssize_t i = 0; i < repeat; ++i) pools.append(once.begin(), once.end());
  return makeOver(translator, productModel, Value(), pools);
}

template <ItertoolsModel& model>
Value makeCombinations(Translator& translator, const Value&, CallArguments& arguments) {
  constexpr bool isPermutations = &model == &permutationsModel;
  const Signature signature = {model.name, {"iterable", "r"}, isPermutations ? size_t{1} : 2, 2};
  Value iterable, length;
  if (!readArguments(translator, signature, arguments, {&iterable, &length})) return Value();
  Value pool;
  auto gather = [&] {
    pool = poolOf(translator, iterable);
    return bool(pool);
  };
  // Which comes first differs.
  if (isPermutations && !gather()) return Value();
  bool isWhole = isPermutations && (!length || translator.realized(length).is(Py_None));
  if (isWhole) {
    length = lengthOf(translator, pool, false);
  } else if (isPermutations && !PyType_IsSubtype(typeOf(length), &PyLong_Type)) {
    return translator.raise(PyExc_TypeError, "Expected int as r");
  }
  int64_t r = 0;
  if (!readMachineSize(translator, length, r)) return Value();
  if (!isPermutations && !gather()) return Value();
  if (r < 0) return translator.raise(PyExc_ValueError, "r must be non-negative");
  if (r > 1000) return unimplemented::call(translator, Value::none(), arguments);
  return makeOver(translator, model, Value::integer(r), {pool});
}

void registerTypes() {
  registerModel(productModel, makeProduct);
  registerModel(permutationsModel, makeCombinations<permutationsModel>);
  registerModel(combinationsModel, makeCombinations<combinationsModel>);
  registerModel(replacementModel, makeCombinations<replacementModel>);
}
ARMATURE_REGISTER_HANDLERS(registerTypes);

}  // namespace

}  // namespace armature
