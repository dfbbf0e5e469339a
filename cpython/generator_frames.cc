#include "cpython/generator_frames.h"

#include <utility>
#include <vector>

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

#include "core/set_exception.h"
#include "cpython/specimens.h"
#include "cpython/tracebacks.h"

namespace armature::cpython {

namespace {

PyGenObject* as(BorrowedRef<> generator) { return reinterpret_cast<PyGenObject*>(generator.get()); }

_PyInterpreterFrame* frameOf(BorrowedRef<> generator) {
  return reinterpret_cast<_PyInterpreterFrame*>(as(generator)->gi_iframe);
}

bool isStill(BorrowedRef<> generator) {
  GeneratorState state = generatorState(generator);
  return state == GeneratorState::Created || state == GeneratorState::Suspended;
}

// Takes what the frame holds out of it. To be let go of when the frame is as it is to be.
std::vector<Ref<>> takeSlots(_PyInterpreterFrame* frame) {
  std::vector<Ref<>> taken;
  taken.reserve(frame->stacktop);
  for (int i = 0; i < frame->stacktop; ++i) {
    taken.push_back(Ref<>::steal(std::exchange(frame->localsplus[i], nullptr)));
  }
  frame->stacktop = frame->f_code->co_nlocalsplus;
  return taken;
}

Ref<> takeHandled(BorrowedRef<> generator) {
  return Ref<>::steal(std::exchange(as(generator)->gi_exc_state.exc_value, nullptr));
}

}  // namespace

GeneratorState generatorState(BorrowedRef<> generator) {
  switch (as(generator)->gi_frame_state) {
    case FRAME_CREATED:
      return GeneratorState::Created;
    case FRAME_SUSPENDED:
      return GeneratorState::Suspended;
    case FRAME_EXECUTING:
      return GeneratorState::Running;
    default:
      return GeneratorState::Finished;
  }
}

PyCodeObject* generatorCode(BorrowedRef<> generator) { return as(generator)->gi_code; }

PyObject* generatorGlobals(BorrowedRef<> generator) {
  bool isLive = generatorState(generator) != GeneratorState::Finished;
  return isLive ? frameOf(generator)->f_globals : nullptr;
}

PyObject* generatorBuiltins(BorrowedRef<> generator) {
  bool isLive = generatorState(generator) != GeneratorState::Finished;
  return isLive ? frameOf(generator)->f_builtins : nullptr;
}

int32_t generatorPosition(BorrowedRef<> generator) {
  bool isSuspended = generatorState(generator) == GeneratorState::Suspended;
  return isSuspended ? _PyInterpreterFrame_LASTI(frameOf(generator)) : -1;
}

size_t generatorSlotCount(BorrowedRef<> generator) {
  return isStill(generator) ? static_cast<size_t>(frameOf(generator)->stacktop) : 0;
}

PyObject* generatorSlot(BorrowedRef<> generator, size_t index) {
  return index < generatorSlotCount(generator) ? frameOf(generator)->localsplus[index] : nullptr;
}

PyObject* handledByGenerator(BorrowedRef<> generator) {
  PyObject* handled = as(generator)->gi_exc_state.exc_value;
  return handled == Py_None ? nullptr : handled;
}

bool hasFrameObject(BorrowedRef<> generator) {
  return isStill(generator) && frameOf(generator)->frame_obj;
}

// (state, code, the addresses of globals and builtins, position, for each slot whether it is there,
// whether an exception is handled); of one that is running or has finished only the state.
Ref<> describeGenerator(BorrowedRef<> generator) {
  auto state = static_cast<int>(generatorState(generator));
  if (!isStill(generator)) return Ref<>::steal(Py_BuildValue("(i)", state));
  size_t count = generatorSlotCount(generator);
  Ref<> slots = Ref<>::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(count)));
  if (!slots) return slots;
  for (size_t i = 0; i < count; ++i) {
    PyBytes_AS_STRING(slots.get())[i] = generatorSlot(generator, i) ? 1 : 0;
  }
  Ref<> globals = Ref<>::steal(PyLong_FromVoidPtr(generatorGlobals(generator)));
  Ref<> builtins = Ref<>::steal(PyLong_FromVoidPtr(generatorBuiltins(generator)));
  if (!globals || !builtins) return nullptr;
  return Ref<>::steal(Py_BuildValue("(iOOOiOi)", state, generatorCode(generator), globals.get(),
                                    builtins.get(), generatorPosition(generator), slots.get(),
                                    handledByGenerator(generator) != nullptr));
}

bool isDescriptionOfGenerator(BorrowedRef<> object) {
  if (!object || !PyTuple_CheckExact(object.get())) return false;
  constexpr Py_ssize_t kState = 0, kCode = 1, kSlots = 5, kSize = 7;
  Py_ssize_t size = PyTuple_GET_SIZE(object.get());
  if (size != 1 && size != kSize) return false;
  for (Py_ssize_t i = kState; i < size; ++i) {
    PyObject* part = PyTuple_GET_ITEM(object.get(), i);
    bool fits = i == kCode    ? PyCode_Check(part)
                : i == kSlots ? PyBytes_CheckExact(part)
                              : PyLong_CheckExact(part) && _PyLong_NumBits(part) < 63;
    if (!fits) return false;
  }
  return true;
}

bool standsAs(BorrowedRef<> object, BorrowedRef<> description) {
  if (!PyGen_CheckExact(object.get())) return false;
  auto item = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(description.get(), i); };
  auto number = [&](Py_ssize_t i) { return PyLong_AsLong(item(i)); };
  if (number(0) != static_cast<long>(generatorState(object))) return false;
  if (PyTuple_GET_SIZE(description.get()) == 1) return true;
  PyObject* slots = item(5);
  size_t count = generatorSlotCount(object);
  if (item(1) != reinterpret_cast<PyObject*>(generatorCode(object)) ||
      PyLong_AsVoidPtr(item(2)) != generatorGlobals(object) ||
      PyLong_AsVoidPtr(item(3)) != generatorBuiltins(object) ||
      number(4) != generatorPosition(object) ||
      number(6) != (handledByGenerator(object) != nullptr) ||
      static_cast<size_t>(PyBytes_GET_SIZE(slots)) != count) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if ((PyBytes_AS_STRING(slots)[i] != 0) != (generatorSlot(object, i) != nullptr)) return false;
  }
  return true;
}

void suspendGenerator(BorrowedRef<> generator, int32_t position, std::span<PyObject* const> slots,
                      BorrowedRef<> handled) {
  _PyInterpreterFrame* frame = frameOf(generator);
  std::vector<Ref<>> before = takeSlots(frame);
  Ref<> handledBefore = takeHandled(generator);
  for (size_t i = 0; i < slots.size(); ++i) frame->localsplus[i] = Py_XNewRef(slots[i]);
  frame->stacktop = static_cast<int>(slots.size());
  as(generator)->gi_exc_state.exc_value = Py_XNewRef(handled.get());
  if (position >= 0) frame->prev_instr = _PyCode_CODE(frame->f_code) + position;
  as(generator)->gi_frame_state =
      static_cast<int8_t>(position >= 0 ? FRAME_SUSPENDED : FRAME_CREATED);
}

void runGenerator(BorrowedRef<> generator) {
  _PyInterpreterFrame* frame = frameOf(generator);
  std::vector<Ref<>> before = takeSlots(frame);
  Ref<> handledBefore = takeHandled(generator);
  // Behind a yield, gi_yieldfrom would look for an iterator on its stack.
  frame->prev_instr = _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable - 1;
  as(generator)->gi_frame_state = FRAME_EXECUTING;
}

// close() of one that has not begun: GeneratorExit is raised before all handlers.
void endGenerator(BorrowedRef<> generator) {
  if (generatorState(generator) == GeneratorState::Finished) return;
  SetException kept;
  _PyInterpreterFrame* frame = frameOf(generator);
  std::vector<Ref<>> before = takeSlots(frame);
  Ref<> handledBefore = takeHandled(generator);
  frame->prev_instr = _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable - 1;
  as(generator)->gi_frame_state = FRAME_CREATED;
  // It fails where the stack is used up; the generator has ended all the same.
  Ref<> closed = Ref<>::steal(PyObject_CallMethod(generator, "close", nullptr));
  if (!closed) PyErr_Clear();
}

Ref<> leaveGenerator(BorrowedRef<> generator, Ref<> result) {
  if (result && generatorState(generator) != GeneratorState::Running) return result;
  endGenerator(generator);
  if (result) {
    if (result.get() == Py_None) {
      PyErr_SetNone(PyExc_StopIteration);
    } else {
      _PyGen_SetStopIterationValue(result.get());
    }
    return nullptr;
  }
  forgetCallerOfGenerator(generatorCode(generator));
  if (PyErr_ExceptionMatches(PyExc_StopIteration)) {
    _PyErr_FormatFromCause(PyExc_RuntimeError, "generator raised StopIteration");
  }
  return nullptr;
}

Ref<> takeStopIteration() {
  PyObject* value = nullptr;
  return _PyGen_FetchStopIterationValue(&value) == 0 ? Ref<>::steal(value) : nullptr;
}

namespace {

constexpr const char* kProgram = R"(
def generator(a, b):
    captured = b
    total = a
    for step in (1, 2, 3):
        total = total + step + (yield (total, lambda: captured))
    return total
def other(a, b):
    yield a
created, suspended, target, finished = (generator(10, 20) for _ in range(4))
next(suspended)
next(target)
target.send(5)
finished.close()
simple = other(1, 2)
)";

bool holds(PyObject* generator, size_t slot, long number) {
  PyObject* object = generatorSlot(generator, slot);
  return object && PyLong_Check(object) && PyLong_AsLong(object) == number;
}

// The item, first of a pair, that the generator gives for a number; -1 for none.
long sent(PyObject* generator, int number) {
  Ref<> item = Ref<>::steal(PyObject_CallMethod(generator, "send", "i", number));
  if (!item || !PyTuple_Check(item.get())) return -1;
  return PyLong_AsLong(PyTuple_GET_ITEM(item.get(), 0));
}

bool framesAreRead(PyObject* names) {
  auto named = [&](const char* name) { return PyDict_GetItemString(names, name); };
  PyObject *created = named("created"), *suspended = named("suspended"), *target = named("target");
  PyObject *finished = named("finished"), *simple = named("simple");
  if (!created || !suspended || !target || !finished || !simple) return false;
  bool states = generatorState(created) == GeneratorState::Created &&
                generatorState(suspended) == GeneratorState::Suspended &&
                generatorState(finished) == GeneratorState::Finished;
  // a, b, total, step, captured; and the iterator of the loop, on the stack below `total` and `+`.
  bool slots = states && generatorSlotCount(created) == 5 && holds(created, 0, 10) &&
               !generatorSlot(created, 2) && generatorSlotCount(suspended) == 7 &&
               holds(suspended, 2, 10) && holds(suspended, 3, 1) &&
               PyCell_Check(generatorSlot(suspended, 4)) && holds(suspended, 6, 11);
  if (!slots || generatorGlobals(created) != names || generatorPosition(created) != -1) {
    return false;
  }
  Ref<> description = describeGenerator(suspended);
  if (!description || !standsAs(suspended, description) || standsAs(created, description) ||
      generatorPosition(suspended) != generatorPosition(target)) {
    return false;
  }
  // What is put in place goes on from there.
  std::vector<PyObject*> copied;
  for (size_t i = 0; i < generatorSlotCount(target); ++i)
    copied.push_back(generatorSlot(target, i));
  runGenerator(suspended);
  bool runs = generatorState(suspended) == GeneratorState::Running && sent(suspended, 1) == -1;
  PyErr_Clear();
  suspendGenerator(suspended, generatorPosition(target), copied, nullptr);
  if (!runs || !standsAs(suspended, description) || sent(suspended, 100) != 118) return false;
  endGenerator(simple);
  return generatorState(simple) == GeneratorState::Finished && !PyIter_Next(simple);
}

}  // namespace

bool generatorFramesAreRead() {
  Unseen unseen;
  Ref<> names = makeSpecimens(kProgram);
  return names && framesAreRead(names.get());
}

}  // namespace armature::cpython
