#include <algorithm>

#include "bytecode/private_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/function_layout.h"
#include "cpython/generator_frames.h"
#include "interpreter/frame.h"
#include "variables/containers/dict.h"

namespace armature {

namespace {

using State = GeneratorVariable::State;

const Frame& frameOf(VariableTracker* tracker) {
  auto* generator = llvm::cast<GeneratorVariable>(tracker);
  return *static_cast<SuspendedGenerator*>(generator->frame.get())->frame;
}

State stateOf(VariableTracker* tracker) { return llvm::cast<GeneratorVariable>(tracker)->state; }

bool isStill(VariableTracker* tracker) {
  return stateOf(tracker) == State::Created || stateOf(tracker) == State::Suspended;
}

// Which of the yields of its code one stands behind; -1: none.
int32_t yieldOf(const Frame& frame) {
  const std::vector<Yield>& yields = frame.code->yields;
  auto found = std::find_if(yields.begin(), yields.end(),
                            [&](const Yield& yield) { return yield.instruction + 1 == frame.pc; });
  return found == yields.end() ? -1 : static_cast<int32_t>(found - yields.begin());
}

// place_generator(generator, *values), which returns the generator. The self is (state, yield, for
// each slot whether it is there, whether an exception is handled): the values are those of the
// slots, then that exception.
PyObject* placeGenerator(PyObject* self, PyObject* const* arguments, Py_ssize_t) {
  PyObject* generator = *arguments++;
  auto state = static_cast<State>(PyLong_AsLong(PyTuple_GET_ITEM(self, 0)));
  auto yield = static_cast<int32_t>(PyLong_AsLong(PyTuple_GET_ITEM(self, 1)));
  PyObject* present = PyTuple_GET_ITEM(self, 2);
  if (state == State::Finished) {
    cpython::endGenerator(generator);
  } else {
    int32_t position = -1;
    if (yield >= 0) {
      CodePtr code = lift(cpython::generatorCode(generator));
      if (!code) return nullptr;
      position = code->yields[yield].unit;
    }
    llvm::SmallVector<PyObject*, 16> slots;
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(present); ++i) {
      slots.push_back(PyBytes_AS_STRING(present)[i] ? *arguments++ : nullptr);
    }
    bool isHandling = PyTuple_GET_ITEM(self, 3) == Py_True;
    cpython::suspendGenerator(generator, position, {slots.data(), slots.size()},
                              isHandling ? *arguments : nullptr);
  }
  return Py_NewRef(generator);
}

// What load() or place() has put on the stack for it is one generator, which comes to stand as the
// trace has left it; it stays on the stack.
template <class Load>
void place(PyCodegen& codegen, VariableTracker* tracker, Load load) {
  bool isHandling = false;
  int32_t yield = -1;
  std::string present;
  llvm::SmallVector<Value, 16> values;
  if (isStill(tracker)) {
    const Frame& frame = frameOf(tracker);
    if (stateOf(tracker) == State::Suspended) yield = yieldOf(frame);
    for (int32_t i = 0; i < frame.localCount + frame.depth; ++i) {
      present.push_back(frame.slots[i] ? 1 : 0);
      if (frame.slots[i]) values.push_back(frame.slots[i]);
    }
    isHandling = static_cast<bool>(frame.handled);
    if (isHandling) values.push_back(frame.handled);
  }
  Ref<> slots =
      checked(PyBytes_FromStringAndSize(present.data(), static_cast<Py_ssize_t>(present.size())));
  Ref<> self = checked(Py_BuildValue("(iiOO)", static_cast<int>(stateOf(tracker)), yield,
                                     slots.get(), isHandling ? Py_True : Py_False));
  codegen.prepareCall(
      checked(boundPrivateFunction<placeGenerator>("place_generator", self).release()));
  load();
  for (const Value& value : values) codegen.load(value);
  codegen.call(1 + static_cast<int32_t>(values.size()));
}

// A function without parameters whose call makes a generator of the code. What it puts into the
// frame does not matter.
Ref<> makerOf(PyCodegen& codegen, const Frame& frame) {
  Ref<PyCodeObject> code = codeOfGenerator(codegen, frame.code->original);
  PyObject* maker = frame.function ? frame.function->existing() : nullptr;
  Ref<> function =
      checked(cpython::makeFunction(
                  reinterpret_cast<PyObject*>(code.get()), frame.globals->existing(),
                  maker ? cpython::read(maker, cpython::FunctionField::Builtins) : nullptr)
                  .release());
  auto tupleOf = [](Py_ssize_t count, auto item) {
    Ref<> tuple = checked(PyTuple_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, item().release());
    return tuple;
  };
  auto check = [](int result) {
    if (result < 0) throw PendingPythonException();
  };
  Ref<> defaults = tupleOf(frame.code->argumentCount, [] { return Ref<>::create(Py_None); });
  check(PyFunction_SetDefaults(function.get(), defaults.get()));
  Ref<> keywordDefaults = checked(PyDict_New());
  for (int32_t i = 0; i < frame.code->keywordOnlyCount; ++i) {
    PyObject* name = frame.code->locals[frame.code->argumentCount + i].name.get();
    check(PyDict_SetItem(keywordDefaults.get(), name, Py_None));
  }
  check(PyFunction_SetKwDefaults(function.get(), keywordDefaults.get()));
  auto isFree = [](const LocalVariable& local) { return local.kind == LocalKind::Free; };
  auto freeCount = std::count_if(frame.code->locals.begin(), frame.code->locals.end(), isFree);
  if (freeCount > 0) {
    Ref<> closure = tupleOf(freeCount, [] { return checked(PyCell_New(nullptr)); });
    check(PyFunction_SetClosure(function.get(), closure.get()));
  }
  return function;
}

// A generator is made of its code, and then its frame is put in place. The frame of one that is
// running goes on elsewhere: see OnReturn::LeaveGenerator.
class GeneratorReconstructor : public Reconstructor {
 public:
  Steps steps(VariableTracker*) const override { return Steps::OneOrTwo; }

  void holds(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    if (!isStill(tracker)) return;
    const Frame& frame = frameOf(tracker);
    for (int32_t i = 0; i < frame.localCount + frame.depth; ++i) {
      if (frame.slots[i]) visit(frame.slots[i]);
    }
    if (frame.handled) visit(frame.handled);
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    if (stateOf(tracker) == State::Running) return make(codegen, tracker);
    place(codegen, tracker, [&] { make(codegen, tracker); });
  }

  void allocate(PyCodegen& codegen, VariableTracker* tracker, int32_t local) const override {
    make(codegen, tracker);
    codegen.assembler().emit(Opcode::STORE_FAST, local);
  }
  void fill(PyCodegen& codegen, VariableTracker* tracker) const override {
    if (stateOf(tracker) == State::Running) return;
    place(codegen, tracker, [&] { codegen.load(Value(tracker)); });
    codegen.assembler().emit(Opcode::POP_TOP);
  }

  void storedBy(Translator& translator, const Effect& effect, PartVisitor visit) const override {
    holds(translator, effect.target, visit);
  }
  void replay(PyCodegen& codegen, const Effect& effect) const override {
    fill(codegen, effect.target);
  }

 private:
  static void make(PyCodegen& codegen, VariableTracker* tracker) {
    codegen.prepareCall(makerOf(codegen, frameOf(tracker)));
    codegen.call(0);
  }
};

}  // namespace

Ref<PyCodeObject> codeOfGenerator(PyCodegen& codegen, BorrowedRef<PyCodeObject> original) {
  Ref<PyCodeObject> rewritten = codegen.environment().rewritten(original);
  if (!rewritten && PyErr_Occurred()) throw PendingPythonException();
  return rewritten ? std::move(rewritten) : Ref<PyCodeObject>::create(original);
}

ARMATURE_RECONSTRUCTOR(Generator)

}  // namespace armature
