#include "codegen/plain_function.h"
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "codegen/unsupported.h"
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "interpreter/frame.h"
#include "variables/containers/dict.h"

namespace armature {

namespace {

using State = GeneratorVariable::State;

// make_generator(*values): the self is (code, globals, class cell, state). One that has begun goes
// to the yield at which it stands, and nowhere else.
PyObject* makeGenerator(PyObject* self, PyObject* const* values, Py_ssize_t count) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyTuple_GET_ITEM(self, 0));
  PyObject* globals = PyTuple_GET_ITEM(self, 1);
  auto classCell = static_cast<int32_t>(PyLong_AsLong(PyTuple_GET_ITEM(self, 2)));
  Ref<> function = plainFunction({Ref<PyCodeObject>::create(code), classCell}, globals, values);
  if (!function) return nullptr;
  Ref<> generator = Ref<>::steal(PyObject_Vectorcall(function.get(), values, count, nullptr));
  if (!generator) return nullptr;
  auto state = static_cast<State>(PyLong_AsLong(PyTuple_GET_ITEM(self, 3)));
  if (state == State::Created) return generator.release();
  Ref<> result =
      Ref<>::steal(state == State::Suspended ? PyIter_Next(generator.get())
                                             : PyObject_CallMethod(generator.get(), "close", ""));
  return result ? generator.release() : nullptr;
}

PyMethodDef makeGeneratorMethod = {
    "make_generator", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(makeGenerator)),
    METH_FASTCALL, nullptr};

// A generator is made of its code, from the instruction at which it stands, and of the values in
// its frame. One that has ended has none, and never runs.
class GeneratorReconstructor : public Reconstructor {
 public:
  void needs(Translator&, VariableTracker* tracker, PartVisitor visit) const override {
    const Frame& frame = frameOf(tracker);
    if (stateOf(tracker) == State::Finished) return;
    for (int32_t i = 0; i < frame.localCount + frame.depth; ++i) {
      if (frame.slots[i]) visit(frame.slots[i]);
    }
    visit(frame.handled);
  }

  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    const Frame& frame = frameOf(tracker);
    State state = stateOf(tracker);
    EntryPoint entry;
    entry.code = frame.code;
    // The yield itself runs again, and yields None to what makes the generator; one that has not
    // begun drops what is sent first, which is None.
    entry.start = state == State::Suspended ? frame.pc - 1 : frame.pc;
    int32_t depth = state == State::Finished ? 0 : frame.depth;
    for (int32_t i = 0; i < depth; ++i) {
      entry.stackIsNull.push_back(!frame.slots[frame.localCount + i]);
    }
    entry.stackIsNull.push_back(false);
    if (state == State::Suspended && frame.handled) entry.openHandlers = frame.openHandlers;
    for (int32_t i = 0; i < frame.localCount && state != State::Finished; ++i) {
      if (!frame.slots[i]) continue;
      entry.locals.push_back(i);
      entry.localIsCell.push_back(frame.code->locals[i].kind != LocalKind::Local);
    }
    if (state == State::Finished) entry.start = firstInstruction(*frame.code);
    PlainCode plain = plainCode(entry, codegen.pythonCalls());
    if (!plain.code) throw PendingPythonException();
    Ref<> self = checked(Py_BuildValue("(OOii)", plain.code.get(), frame.globals->existing(),
                                       plain.classCell, static_cast<int>(state)));
    codegen.prepareCall(checked(PyCFunction_New(&makeGeneratorMethod, self.get())));
    for (int32_t i = 0; i < depth; ++i) {
      const Value& value = frame.slots[frame.localCount + i];
      if (value) codegen.load(value);
    }
    codegen.loadConstant(Py_None);
    if (entry.handlesException()) codegen.load(frame.handled);
    for (int32_t local : entry.locals) codegen.load(frame.slots[local]);
    codegen.call(static_cast<int32_t>(entry.inputCount()));
  }

 private:
  static State stateOf(VariableTracker* tracker) {
    return llvm::cast<GeneratorVariable>(tracker)->state;
  }
  // Behind RETURN_GENERATOR, where what is sent first is on the stack.
  static int32_t firstInstruction(const Code& code) {
    int32_t pc = 0;
    while (code.instructions[pc].opcode != Opcode::RETURN_GENERATOR) ++pc;
    return pc + 1;
  }
  static const Frame& frameOf(VariableTracker* tracker) {
    if (stateOf(tracker) == State::Running) {
      throw UnsupportedReconstruction("a generator that is running");
    }
    auto* generator = llvm::cast<GeneratorVariable>(tracker);
    return *static_cast<SuspendedGenerator*>(generator->frame.get())->frame;
  }
};

}  // namespace

ARMATURE_RECONSTRUCTOR(Generator)

}  // namespace armature
