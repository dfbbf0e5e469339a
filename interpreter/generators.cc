// Generators: frames that are suspended between their items.
#include "interpreter/instruction_translator.h"
#include "variables/objects/exception.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

class SuspendedGenerator : public SuspendedFrame {
 public:
  std::unique_ptr<Frame> frame;
};

}  // namespace

Value InstructionTranslator::makeGenerator(Frame& frame) {
  if (frame.code->flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    throw GraphBreak("Coroutine", PyUnicode_AsUTF8(frame.code->name.get()),
                     "async functions are not traced.");
  }
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

bool InstructionTranslator::leavesCleanUp() const {
  for (const GeneratorVariable* generator : generators_) {
    if (generator->state != GeneratorVariable::State::Suspended) continue;
    const Frame& frame = *static_cast<SuspendedGenerator*>(generator->frame.get())->frame;
    if (frame.code->regionOf[frame.pc - 1] >= 0) return true;
  }
  return false;
}

Value InstructionTranslator::resumeGenerator(GeneratorVariable* generator, const Value& sent) {
  using State = GeneratorVariable::State;
  if (generator->state == State::Running) {
    return raise(PyExc_ValueError, "generator already executing");
  }
  if (generator->state == State::Finished) return Value();
  bool first = generator->state == State::Created;
  if (first && sent && !sent.is(Py_None)) {
    return raise(PyExc_TypeError, "can't send non-None value to a just-started generator");
  }
  enterRecursion();
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
  Value item;
  try {
    item = run(running);
  } catch (...) {
    leaveRecursion();
    throw;
  }
  leaveRecursion();
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
    return raise(PyExc_RuntimeError, "generator raised StopIteration");
  }
  return item;
}

}  // namespace armature
