// Generators: frames that are suspended between their items.
#include <llvm/ADT/STLExtras.h>

#include "core/text.h"
#include "interpreter/except_clauses.h"
#include "interpreter/instruction_translator.h"
#include "variables/containers/composed_iterators.h"
#include "variables/containers/dict.h"
#include "variables/containers/iterators.h"
#include "variables/ends_of_objects.h"
#include "variables/objects/exception.h"
#include "variables/objects/traceback.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// Has the trace given a function that it made another name?
bool isRenamed(Translator& translator, const UserFunctionVariable& function) {
  static PyObject* const names[] = {staticName("__name__"), staticName("__qualname__")};
  return llvm::any_of(names, [&](PyObject* name) {
    return function.members && function.members->get(translator, name);
  });
}

}  // namespace

Value InstructionTranslator::makeGenerator(Frame& frame) {
  // One that the trace makes real is called what its code is called.
  if (UserFunctionVariable* function = frame.back ? frame.function : nullptr) {
    auto* existing = reinterpret_cast<PyFunctionObject*>(function->existing());
    bool isNamed = existing ? heap.isNamedAsItsCode(function->source(), existing)
                            : !isRenamed(*this, *function);
    if (!isNamed) throw GraphBreak(GraphBreakKind::AssignmentToFunction, describe(function));
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
  bool delegates = llvm::any_of(kept.code->yields, [&](const Yield& yield) {
    return yieldsForDelegate(*kept.code, yield.instruction);
  });
  if (delegates || !kept.code->regions.empty()) cleanUps_.push_back(generator);
  return generator;
}

namespace {

// Would GeneratorExit, raised at `pc`, only pass through `except` clauses of other exceptions? Then
// closing the generator does nothing else.
bool passesHandlers(Translator& translator, const Frame& frame, int32_t pc) {
  auto isCaught = [](PyObject* error) {
    return PyErr_GivenExceptionMatches(PyExc_GeneratorExit, error) != 0;
  };
  for (int32_t region; (region = frame.code->regionOf[pc]) >= 0;) {
    pc = frame.code->regions[region].target;
    if (!passesClauses(translator, frame, pc, isCaught)) return false;
  }
  return true;
}

}  // namespace

const Code* InstructionTranslator::leavesCleanUp(
    llvm::function_ref<bool(GeneratorVariable*)> isKept) {
  for (GeneratorVariable* generator : generators_) {
    if (isKept(generator) || !hasCleanUp(generator, isKept)) continue;
    return static_cast<SuspendedGenerator*>(generator->frame.get())->frame->code.get();
  }
  return nullptr;
}

bool InstructionTranslator::hasCleanUp(GeneratorVariable* generator, IsReached isReached) {
  if (generator->state != GeneratorVariable::State::Suspended) return false;
  // Asked after each instruction. That the names of exceptions mean what they meant is known as
  // long as the program has changed nothing.
  auto* suspended = static_cast<SuspendedGenerator*>(generator->frame.get());
  const Frame& frame = *suspended->frame;
  auto& known = suspended->cleanUp;
  if (known.pc != frame.pc || known.changes != effects.changeCount()) {
    known = {frame.pc, effects.changeCount(), !passesHandlers(*this, frame, frame.pc - 1)};
  }
  return known.answer || closesDelegate(generator, isReached);
}

// Would the end of the generator close what it delegates to, so that the program hears of it? A
// generator that was made for it, or that nobody else reaches, dies with it and is asked by itself;
// but of one that lives on, it is seen that it was closed.
bool InstructionTranslator::closesDelegate(GeneratorVariable* generator, IsReached isReached) {
  Value delegate = realized(delegateOf(generator));
  if (!delegate || !delegate.isTracker()) return false;
  if (auto* inner = trackerOf<GeneratorVariable>(delegate)) {
    if (inner->state == GeneratorVariable::State::Finished) return false;
    const Frame& frame = *static_cast<SuspendedGenerator*>(generator->frame.get())->frame;
    // It stands behind CALL, GET_YIELD_FROM_ITER, LOAD_CONST, SEND and YIELD_VALUE.
    int32_t maker = frame.pc - 5;
    bool isMadeForIt = maker >= 0 && frame.code->instructions[maker].opcode == Opcode::CALL;
    if (!isMadeForIt && (!newObject(delegate) || isReached(inner))) return true;
    return owned_.count(generator) && hasCleanUp(inner, isReached);
  }
  static PyObject* const closeName = staticName("close");
  return trackerOf<UserObjectVariable>(delegate) || heap.lookup(typeOf(delegate), closeName);
}

namespace {

// Is what is thrown GeneratorExit, by its class or an instance?
bool isExit(Translator& translator, Value thrown) {
  translator.realize(thrown);
  PyTypeObject* type = isExceptionClass(thrown) ? asClass(thrown) : typeOf(thrown);
  return translator.heap.isSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit));
}

// What a generator's throw() raises, for its arguments. Null with another exception pending.
Value thrownException(Translator& translator, llvm::ArrayRef<Value> thrown) {
  Value type = translator.realized(thrown[0]);
  Value value = thrown.size() > 1 ? translator.realized(thrown[1]) : Value::none();
  Value traceback = thrown.size() > 2 ? translator.realized(thrown[2]) : Value::none();
  if (!traceback.is(Py_None) && typeOf(traceback) != &PyTraceBack_Type) {
    return translator.raise(PyExc_TypeError, "throw() third argument must be a traceback object");
  }
  Value exception;
  if (isExceptionClass(type)) {
    // PyErr_NormalizeException
    bool isInstance = translator.heap.isSubtype(typeOf(value), asClass(type));
    ValueVector arguments;
    bool isTuple = typeOf(value) == &PyTuple_Type;
    if (isTuple && !iterateInto(translator, value, arguments)) return Value();
    if (!isTuple && !value.is(Py_None)) arguments.push_back(value);
    exception = isInstance ? value : translator.realized(call(translator, type, arguments));
    // Where the class raises, that is thrown.
    if (!exception) exception = translator.takeException();
  } else if (isException(type)) {
    if (!value.is(Py_None)) {
      return translator.raise(PyExc_TypeError, "instance exception may not have a separate value");
    }
    exception = type;
  } else {
    return translator.raise(
        PyExc_TypeError,
        "exceptions must be classes or instances deriving from BaseException, not %s",
        nameOf(translator, typeOf(type)));
  }
  auto* raised = trackerOf<ExceptionVariable>(exception);
  if (!raised) throw GraphBreak(GraphBreakKind::ExistingException, describe(exception));
  if (!traceback.is(Py_None) || isExceptionClass(type)) {
    setTraceback(translator, *raised, traceback.is(Py_None) ? Value() : std::move(traceback));
  }
  return exception;
}

}  // namespace

void InstructionTranslator::recordChange(GeneratorVariable* generator) {
  effects.changes(generator);
  bool isRecorded = effects.last(generator) != SideEffects::kNone;
  if (generator->source() && !isRecorded) {
    effects.append({EffectKind::IteratorRewrite, generator, {}, {}, 0});
  }
}

Value InstructionTranslator::resumeGenerator(GeneratorVariable* generator, const Value& sent,
                                             bool tail) {
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
  return resume(generator, {sent, Value()}, tail);
}

// The frame keeps what it had: a break in what its callers do next takes the trace back to it.
void InstructionTranslator::leaveGenerator(const Frame& frame) {
  handled_ = frame.handled;
  runningGenerator_ = frame.outerGenerator;
}

void InstructionTranslator::finish(Frame& frame, Value returned) {
  using State = GeneratorVariable::State;
  assignTrailed(trail, frame.generator->state, State::Finished);
  assignTrailed(trail, frame.generator->returned, std::move(returned));
  leaveGenerator(frame);
}

void InstructionTranslator::suspend(Frame& frame) {
  using State = GeneratorVariable::State;
  auto kept = std::make_unique<Frame>(frame);
  kept->drop(1);
  ++kept->pc;
  kept->back = nullptr;
  kept->continuations.clear();
  kept->contextExit = Value();
  kept->operandCount = 0;
  kept->pushedByInstruction = kept->callersResumable = false;
  kept->handled = handled_;
  kept->outerGenerator = nullptr;
  GeneratorVariable* generator = frame.generator;
  auto* suspended = static_cast<SuspendedGenerator*>(generator->frame.get());
  std::shared_ptr<Frame> before = std::move(suspended->frame);
  suspended->frame = std::move(kept);
  recordUndo(trail, [suspended, before]() {
    suspended->frame = before ? std::make_unique<Frame>(std::move(*before)) : nullptr;
  });
  assignTrailed(trail, generator->state, State::Suspended);
  recordChange(generator);
  leaveGenerator(frame);
}

// A frame that runs lets go of what it holds, as existing objects do of what is taken out of them.
void InstructionTranslator::takeOver(GeneratorVariable* generator) {
  if (!generator->existing() || !generator->source()) return;
  if (!takenOver_.insert(generator).second) return;
  recordUndo(trail, [this, generator] { takenOver_.erase(generator); });
  if (!owned_.count(generator)) return letGoOfContents(*this, generator);
  // What is the trace's to end as well does so by itself (ends_of_generators.h).
  for (const Value& held : static_cast<SuspendedGenerator*>(generator->frame.get())->frame->slots) {
    bool isOwned = llvm::any_of(owned_, [&](const auto& one) {
      return held.isTracker() && one.first->existing() == held.tracker()->existing();
    });
    if (!isOwned) letGo(*this, held);
  }
}

// Its frame runs as a copy, so that a rewind finds the suspended one as it was.
Frame* InstructionTranslator::enter(GeneratorVariable* generator) {
  takeOver(generator);
  recordChange(generator);
  callDepth.enter();
  auto* suspended = static_cast<SuspendedGenerator*>(generator->frame.get());
  auto unused = freeFrames_ ? std::unique_ptr<Frame>(std::exchange(freeFrames_, freeFrames_->back))
                            : std::make_unique<Frame>();
  *unused = *suspended->frame;
  Frame* running = unused.release();
  assignTrailed(trail, generator->state, GeneratorVariable::State::Running);
  running->back = frame_;
  running->outerGenerator = std::exchange(runningGenerator_, running);
  std::swap(running->handled, handled_);
  frame_ = running;
  return running;
}

namespace {

// The frame is one of those that the instruction of its caller has pushed.
void leaveToInstruction(Frame& running) {
  running.pushedByInstruction = true;
  running.callersResumable = running.back->callersResumable;
  running.continuations.push_back({OnReturn::LeaveGenerator, {Value(running.generator)}});
}

}  // namespace

Value InstructionTranslator::resume(GeneratorVariable* generator, Resumption resumption,
                                    bool tail) {
  Frame* running = enter(generator);
  if (resumption.leavesDelegate) {
    running->drop(1);
    running->pc = running->code->instructions[running->pc - 2].argument;  // that of SEND
  }
  // In what its callers cannot go on in, nobody is to break.
  bool isPushed = tail && !running->code->readsOwnFrame;
  bool isRaised = static_cast<bool>(resumption.thrown);
  if (isRaised) {
    // At the yield, or at the end of the loop around it.
    --running->pc;
    if (auto* thrown = trackerOf<ExceptionVariable>(resumption.thrown); thrown && handled_) {
      chainContext(*this, *thrown, handled_);
    }
    setException(std::move(resumption.thrown));
    isPushed &= handlerOf(*running) != nullptr;
  } else {
    running->push(resumption.sent ? std::move(resumption.sent) : Value::none());
  }
  if (isPushed) {
    leaveToInstruction(*running);
    if (isRaised) {
      if (auto* thrown = trackerOf<ExceptionVariable>(exception())) addTraceback(*thrown, *running);
      enterHandler(*running);
    }
    return Value::framePushed();
  }
  RecursionGuard guard(*this);
  Value item;
  if (!isRaised || unwind(running, running)) item = run(running);
  if (!item && exceptionPending()) {
    return ::armature::leaveGenerator(*this, Value(generator), Value());
  }
  return item;
}

// _PyGen_yf: it stands at the RESUME that follows the yield of SEND's loop.
Value InstructionTranslator::delegateOf(const GeneratorVariable* generator) const {
  if (generator->state != GeneratorVariable::State::Suspended) return Value();
  Frame& frame = *static_cast<SuspendedGenerator*>(generator->frame.get())->frame;
  return yieldsForDelegate(*frame.code, frame.pc - 1) ? frame.peek(1) : Value();
}

// gen_close_iter
bool InstructionTranslator::closeDelegate(const Value& delegate) {
  Value iterator = realized(delegate);
  if (auto* generator = trackerOf<GeneratorVariable>(iterator)) return closeGenerator(generator);
  static PyObject* const closeName = staticName("close");
  Value method = getOptionalAttribute(*this, iterator, closeName);
  // CPython prints it, and goes on.
  if (exceptionPending()) throw GraphBreak(GraphBreakKind::ObservedException, describe(iterator));
  if (!method) return true;
  return static_cast<bool>(call(*this, method, llvm::ArrayRef<Value>()));
}

// _gen_throw
Value InstructionTranslator::throwInto(GeneratorVariable* generator, llvm::ArrayRef<Value> thrown,
                                       bool tail) {
  using State = GeneratorVariable::State;
  if (generator->state == State::Running) {
    return raise(PyExc_ValueError, "generator already executing");
  }
  if (Value delegate = realized(delegateOf(generator))) {
    bool closes = isExit(*this, thrown[0]);
    const Frame& suspended = *static_cast<SuspendedGenerator*>(generator->frame.get())->frame;
    // The delegate's frame does not see what this one handles.
    bool waits = tail && !closes && !suspended.handled && !suspended.code->readsOwnFrame;
    if (waits) {
      // At SEND, until the delegate's frame returns.
      Frame* frame = enter(generator);
      leaveToInstruction(*frame);
      frame->pc -= 2;
      frame->push(Value::none());
    } else {
      assignTrailed(trail, generator->state, State::Running);
    }
    Value item, returned;
    bool isAsked = true;
    if (closes) {
      bool closed = closeDelegate(delegate);
      assignTrailed(trail, generator->state, State::Suspended);
      if (!closed) return resume(generator, {Value(), takeException()}, tail);
      isAsked = false;
    } else if (auto* inner = trackerOf<GeneratorVariable>(delegate)) {
      item = throwInto(inner, thrown, waits);
      if (!item && !exceptionPending()) returned = inner->returned;
    } else {
      static PyObject* const throwName = staticName("throw");
      Value method = getOptionalAttribute(*this, delegate, throwName);
      isAsked = static_cast<bool>(method);
      if (method) {
        CallArguments arguments;
        arguments.values.append(thrown.begin(), thrown.end());
        arguments.tail = waits;
        item = call(*this, method, arguments);
      }
    }
    if (item.isFramePushed()) {
      return then(*this, std::move(item), {OnReturn::EndDelegation, {}});
    }
    if (waits) {
      leaveGenerator(*frame_);
      dropFrame();
    }
    if (!isAsked && !closes && exceptionPending()) {
      assignTrailed(trail, generator->state, State::Suspended);
      return Value();
    }
    assignTrailed(trail, generator->state, State::Suspended);
    if (item) return item;
    if (isAsked) {
      Resumption onward;
      onward.leavesDelegate = true;
      if (!takeStopIteration(*this, returned)) {
        onward.thrown = takeException();
      } else {
        onward.sent = returned;
      }
      return resume(generator, std::move(onward), tail);
    }
  }
  Value exception = thrownException(*this, thrown);
  if (!exception) return Value();
  if (generator->state == State::Finished) {
    setException(std::move(exception));
    return Value();
  }
  return resume(generator, {Value(), std::move(exception)}, tail);
}

// gen_close
bool InstructionTranslator::closeGenerator(GeneratorVariable* generator) {
  using State = GeneratorVariable::State;
  if (generator->state == State::Running) {
    raise(PyExc_ValueError, "generator already executing");
    return false;
  }
  if (generator->state == State::Finished) return true;
  bool closed = true;
  if (Value delegate = delegateOf(generator)) {
    assignTrailed(trail, generator->state, State::Running);
    closed = closeDelegate(delegate);
    assignTrailed(trail, generator->state, State::Suspended);
  }
  if (closed) raiseWithArguments(PyExc_GeneratorExit, {});
  if (resume(generator, {Value(), takeException()}, false)) {
    raise(PyExc_RuntimeError, "generator ignored GeneratorExit");
    return false;
  }
  assignTrailed(trail, generator->returned, Value());
  if (!exceptionPending()) return true;
  for (PyObject* type : {PyExc_StopIteration, PyExc_GeneratorExit}) {
    if (heap.isSubtype(typeOf(exception()), reinterpret_cast<PyTypeObject*>(type))) {
      dropException();
      return true;
    }
  }
  return false;
}

// PyIter_Send: what is no generator is asked by __next__ or send(), and says by StopIteration what
// it returns.
Value InstructionTranslator::send(const Value& receiver, const Value& sent) {
  auto* generator = trackerOf<GeneratorVariable>(receiver);
  Value item;
  if (generator) {
    item = resumeGenerator(generator, sent, true);
    if (!item && !exceptionPending()) {
      Value returned = generator->returned ? generator->returned : Value::none();
      return makeTuple(*this, {Value::boolean(true), std::move(returned)});
    }
  } else if (!sent.is(Py_None)) {
    item = callMethod(*this, receiver, "send", {sent}, true);
  } else if (trackerOf<UserObjectVariable>(receiver) || trackerOf<ExceptionVariable>(receiver)) {
    item = objectNext(*this, receiver, true);
  } else if (isComposed(receiver)) {
    item = composedNext(*this, receiver, true);
  } else {
    item = iteratorNext(*this, receiver);
  }
  return then(*this, std::move(item), {OnReturn::EndDelegation, {}});
}

}  // namespace armature
