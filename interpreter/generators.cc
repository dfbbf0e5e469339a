// Generators: frames that are suspended between their items.
#include "core/text.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/dict.h"
#include "variables/objects/exception.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/trailed.h"

namespace armature {

namespace {

class SuspendedGenerator : public SuspendedFrame {
 public:
  std::unique_ptr<Frame> frame;
};

}  // namespace

Value InstructionTranslator::makeGenerator(Frame& frame) {
  auto suspended = std::make_unique<SuspendedGenerator>();
  suspended->frame = std::make_unique<Frame>();
  Frame& kept = *suspended->frame;
  kept.code = frame.code;
  kept.globals = frame.globals;
  kept.function = frame.function;
  kept.localCount = frame.localCount;
  kept.slots = frame.slots;
  kept.depth = frame.depth;
  kept.pc = frame.pc + 1;
  auto* generator = make<GeneratorVariable>(std::move(suspended));
  kept.generator = generator;
  static constexpr Trail::Operation kGrowth = {
      [](void* generators, uintptr_t) {
        static_cast<std::vector<GeneratorVariable*>*>(generators)->pop_back();
      },
      nullptr};
  trail.record(kGrowth, &generators_, 0);
  generators_.push_back(generator);
  return generator;
}

namespace {

// Is the name in this frame a builtin exception that an `except` clause of GeneratorExit's passes
// by?
bool isOtherException(Translator& translator, const Frame& frame, PyObject* name) {
  if (frame.globals->has(translator, Value::constant(name))) return false;
  PyObject* object = PyDict_GetItemWithError(PyEval_GetBuiltins(), name);
  return object && PyExceptionClass_Check(object) &&
         !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit),
                           reinterpret_cast<PyTypeObject*>(object));
}

// Would GeneratorExit, raised at `pc`, only pass through `except` clauses of other exceptions? Then
// closing the generator does nothing else. Follows what the compiler makes of such clauses.
bool passesHandlers(Translator& translator, const Frame& frame, int32_t pc) {
  const std::vector<Instruction>& instructions = frame.code->instructions;
  for (int32_t region; (region = frame.code->regionOf[pc]) >= 0;) {
    pc = frame.code->regions[region].target;
    bool isClause = instructions[pc].opcode == Opcode::PUSH_EXC_INFO;
    if (isClause) ++pc;
    while (isClause && instructions[pc].opcode == Opcode::LOAD_GLOBAL &&
           instructions[pc + 1].opcode == Opcode::CHECK_EXC_MATCH &&
           instructions[pc + 2].opcode == Opcode::POP_JUMP_IF_FALSE) {
      PyObject* name = frame.code->names[instructions[pc].argument].get();
      if (!isOtherException(translator, frame, name)) return false;
      pc = instructions[pc + 2].argument;
    }
    // The end of a clause that restores the exception that was handled before.
    if (!isClause && instructions[pc].opcode == Opcode::COPY) pc += 2;
    if (instructions[pc].opcode != Opcode::RERAISE) return false;
  }
  return true;
}

}  // namespace

const Code* InstructionTranslator::leavesCleanUp() {
  for (const GeneratorVariable* generator : generators_) {
    if (generator->state != GeneratorVariable::State::Suspended) continue;
    const Frame& frame = *static_cast<SuspendedGenerator*>(generator->frame.get())->frame;
    if (!passesHandlers(*this, frame, frame.pc - 1)) return frame.code.get();
  }
  return nullptr;
}

Value InstructionTranslator::resumeGenerator(GeneratorVariable* generator, const Value& sent) {
  using State = GeneratorVariable::State;
  if (generator->state == State::Running) {
    return raise(PyExc_ValueError, "generator already executing");
  }
  if (generator->state == State::Finished) {
    // What it returned is told once.
    assignTrailed(trail, generator->returned, Value());
    return Value();
  }
  bool first = generator->state == State::Created;
  if (first && sent && !sent.is(Py_None)) {
    return raise(PyExc_TypeError, "can't send non-None value to a just-started generator");
  }
  RecursionGuard guard(*this);
  // The frame runs as a copy, so that a rewind finds the suspended one as it was.
  auto* suspended = static_cast<SuspendedGenerator*>(generator->frame.get());
  Frame* running = new Frame(*suspended->frame);
  assignTrailed(trail, generator->state, State::Running);
  running->back = frame_;
  running->pushedByInstruction = false;
  running->callersResumable = false;
  running->push(sent ? sent : Value::none());
  frame_ = running;
  ++frameCount_;
  Value item = run(running);
  if (item) {
    // run() left the frame, suspended again, to us.
    std::unique_ptr<Frame> previous = std::move(suspended->frame);
    suspended->frame.reset(running);
    recordUndo(trail, [suspended, old = std::shared_ptr<Frame>(std::move(previous))]() mutable {
      suspended->frame = std::make_unique<Frame>(std::move(*old));
    });
    return item;
  }
  if (exceptionPending() &&
      heap.isSubtype(typeOf(exception()), reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))) {
    Value cause = takeException();
    raise(PyExc_RuntimeError, "generator raised StopIteration");
    auto* error = requireKind<ExceptionVariable>(exception());
    error->cause = error->context = cause;
    error->suppressContext = true;
    return Value();
  }
  return item;
}

// PyIter_Send: what is no generator is asked by __next__ or send(), and says by StopIteration what
// it returns.
Value InstructionTranslator::send(const Value& receiver, const Value& sent, Value& returned) {
  auto* generator = trackerOf<GeneratorVariable>(receiver);
  Value item;
  if (generator) {
    item = resumeGenerator(generator, sent);
  } else if (!sent.is(Py_None)) {
    item = callMethod(*this, receiver, "send", {sent});
  } else if (trackerOf<UserObjectVariable>(receiver)) {
    static PyObject* const next = PyUnicode_InternFromString("__next__");
    Value method = lookupSpecial(*this, receiver, next);
    if (!method) return iteratorNext(*this, receiver);  // Raises.
    item = call(*this, method, llvm::ArrayRef<Value>());
  } else {
    item = iteratorNext(*this, receiver);
  }
  if (item) return item;
  if (!exceptionPending()) {
    returned = generator && generator->returned ? generator->returned : Value::none();
  } else if (heap.isSubtype(typeOf(exception()),
                            reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))) {
    static PyObject* const value = PyUnicode_InternFromString("value");
    returned = getAttribute(*this, takeException(), value);
  }
  return Value();
}

}  // namespace armature
