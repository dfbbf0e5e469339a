// Iterators of itertools: made by their class, and put where they stand by their __setstate__.
#include "variables/containers/itertools.h"

#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/iterator_argument.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "cpython/iterator_state.h"
#include "cpython/iterators.h"
#include "variables/containers/iterators.h"
#include "variables/containers/sequence.h"

namespace armature {

namespace {

using Construction = IteratorRecipe::Construction;

Ref<> chained(PyObject* items, PyObject* iterator) {
  auto* chain = reinterpret_cast<PyObject*>(cpython::chainType());
  return Ref<>::steal(PyObject_CallFunctionObjArgs(chain, items, iterator, nullptr));
}

Ref<> construct(PyObject* type, Construction construction, PyObject* const* arguments, size_t count,
                PyObject* keyword) {
  switch (construction) {
    case Construction::Call: {
      Ref<> names = Ref<>::steal(keyword ? PyTuple_Pack(1, keyword) : nullptr);
      if (keyword && !names) return Ref<>();
      return Ref<>::steal(
          PyObject_Vectorcall(type, arguments, count - (keyword ? 1 : 0), names.get()));
    }
    case Construction::Pairwise: {
      Ref<> before = Ref<>::steal(PyTuple_Pack(1, arguments[0]));
      Ref<> all = before ? chained(before.get(), arguments[1]) : Ref<>();
      return all ? Ref<>::steal(PyObject_CallOneArg(type, all.get())) : Ref<>();
    }
    case Construction::Tee: {
      // Its items are those of now.
      Ref<> items = Ref<>::steal(PySequence_Tuple(arguments[0]));
      Ref<> all = items ? chained(items.get(), arguments[1]) : Ref<>();
      return all ? Ref<>::steal(PyObject_CallOneArg(type, all.get())) : Ref<>();
    }
    case Construction::TeeBranch: {
      Ref<> tee = Ref<>::steal(PyObject_CallMethod(arguments[0], "__copy__", nullptr));
      Py_ssize_t steps = PyLong_AsSsize_t(arguments[1]);
      while (tee && steps-- > 0) {
        Ref<> item = Ref<>::steal(PyIter_Next(tee.get()));
        if (!item) return Ref<>();
      }
      return tee;
    }
  }
  return Ref<>();
}

// make_iterator(class, construction, keyword, argument count, *arguments, *state)
PyObject* makeIterator(PyObject*, PyObject* const* all, Py_ssize_t count) {
  auto construction = static_cast<Construction>(PyLong_AsLong(all[1]));
  PyObject* keyword = Py_IsNone(all[2]) ? nullptr : all[2];
  Py_ssize_t given = PyLong_AsSsize_t(all[3]), states = count - 4 - given;
  Ref<> iterator = construct(all[0], construction, all + 4, static_cast<size_t>(given), keyword);
  if (!iterator || states == 0) return iterator.release();
  Ref<> state = Ref<>::create(all[4 + given]);
  if (states > 1) {
    state = Ref<>::steal(PyTuple_New(states));
    if (!state) return nullptr;
    for (Py_ssize_t i = 0; i < states; ++i) {
      PyTuple_SET_ITEM(state.get(), i, Ref<>::create(all[4 + given + i]).release());
    }
  }
  Ref<> done =
      Ref<>::steal(PyObject_CallMethod(iterator.get(), "__setstate__", "(O)", state.get()));
  return done ? iterator.release() : nullptr;
}

PyObject* makeIteratorFunction() { return privateFunction<makeIterator>("make_iterator"); }

// Behind its first round, cycle walks over the list of what it gave: of its two first parts, the
// place that the one has in the other. -1 if it is none of that.
int64_t placeInSaved(const ValueVector& state) {
  auto* iterator = state.size() > 1 ? trackerOf<SequenceIteratorVariable>(state[0]) : nullptr;
  auto* saved = iterator ? trackerOf<ListVariable>(state[1]) : nullptr;
  bool isWalk =
      saved && iterator->step == 1 && trackerOf<ListVariable>(iterator->sequence) == saved;
  if (!isWalk) return -1;
  return static_cast<size_t>(iterator->index) < saved->size() ? iterator->index : 0;
}

// The iterator over a list that stands at this place.
Ref<> iteratorAt(PyObject* list, PyObject* place) {
  Ref<> iterator = Ref<>::steal(PyObject_GetIter(list));
  if (!iterator) return iterator;
  Ref<> done = Ref<>::steal(PyObject_CallMethod(iterator.get(), "__setstate__", "O", place));
  return done ? iterator : Ref<>();
}

// set_iterator_state(iterator, which parts there are, *parts). An int in the place of a list's
// iterator: where it stands in the list behind it, which the program may have changed since.
PyObject* setState(PyObject*, PyObject* const* all, Py_ssize_t count) {
  uint64_t present = PyLong_AsUnsignedLongLong(all[1]);
  llvm::SmallVector<PyObject*, 8> parts(all + 2, all + count);
  Ref<> walk;
  if (parts.size() > 1 && PyLong_CheckExact(parts[0]) && PyList_CheckExact(parts[1])) {
    walk = iteratorAt(parts[1], parts[0]);
    if (!walk) return nullptr;
    parts[0] = walk.get();
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!(present >> i & 1)) parts[i] = nullptr;
  }
  if (!cpython::setState(all[0], parts.data(), parts.size())) return nullptr;
  Py_RETURN_NONE;
}

PyObject* setStateFunction() { return privateFunction<setState>("set_iterator_state"); }

class ItertoolsReconstructor : public Reconstructor {
 public:
  void needs(Translator& translator, VariableTracker* tracker, PartVisitor visit) const override {
    IteratorRecipe recipe = recipeOf(translator, tracker);
    for (const Value& argument : recipe.arguments) visit(argument);
    for (const Value& state : recipe.state) visit(state);
  }
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    IteratorRecipe recipe = recipeOf(codegen.translator(), tracker);
    if (recipe.impossible) throw UnsupportedReconstruction(recipe.impossible);
    auto number = [](size_t value) { return Value::integer(static_cast<int64_t>(value)); };
    codegen.prepareCall(makeIteratorFunction());
    codegen.loadConstant(reinterpret_cast<PyObject*>(tracker->type()));
    codegen.load(number(static_cast<size_t>(recipe.construction)));
    codegen.load(recipe.keyword ? Value::string(recipe.keyword) : Value::none());
    codegen.load(number(recipe.arguments.size()));
    for (size_t i = 0; i < recipe.arguments.size(); ++i) {
      if (llvm::is_contained(recipe.iterators, i)) {
        loadIteratorArgument(codegen, recipe.arguments[i]);
      } else {
        codegen.load(recipe.arguments[i]);
      }
    }
    for (const Value& state : recipe.state) codegen.load(state);
    codegen.call(static_cast<int32_t>(4 + recipe.arguments.size() + recipe.state.size()));
  }

  void storedBy(Translator&, const Effect& effect, PartVisitor visit) const override {
    const ValueVector& state = llvm::cast<ItertoolsVariable>(effect.target)->state();
    for (size_t i = placeInSaved(state) < 0 ? 0 : 1; i < state.size(); ++i) {
      visit(state[i] ? state[i] : Value::none());
    }
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    const ValueVector& state = llvm::cast<ItertoolsVariable>(effect.target)->state();
    int64_t present = 0;
    for (size_t i = 0; i < state.size(); ++i) present |= int64_t{bool(state[i])} << i;
    codegen.prepareCall(setStateFunction());
    codegen.load(effect.target);
    codegen.load(Value::integer(present));
    int64_t place = placeInSaved(state);
    for (size_t i = 0; i < state.size(); ++i) {
      codegen.load(i == 0 && place >= 0 ? Value::integer(place)
                   : state[i]           ? state[i]
                                        : Value::none());
    }
    codegen.call(static_cast<int32_t>(2 + state.size()));
    codegen.assembler().emit(Opcode::POP_TOP);
  }

 private:
  static IteratorRecipe recipeOf(Translator& translator, VariableTracker* tracker) {
    auto* iterator = llvm::cast<ItertoolsVariable>(tracker);
    return iterator->model.recipe(translator, *iterator);
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Itertools)

}  // namespace armature
