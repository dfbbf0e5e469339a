// Where a translation starts: at the beginning of a function, or inside one, for a resume function.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/code.h"

namespace armature {

// The inputs of a translation are, in this order, the stack entries that are not null, the
// exception that the frame is handling, if it is, the frame object that shows it, if it is shown,
// the generator whose frame it is, if it is one's, and the locals listed. A FrameLocalsMapping of a
// call has one slot for each.
struct EntryPoint {
  CodePtr code;
  int32_t start = 0;
  // The instruction that Python ran before `start`, where that has another handler: an interrupt
  // that arrives in between was noticed by that one. -1: it has the same.
  int32_t ranLast = -1;
  // One for each entry of the stack at `start`, from below: is it the NULL that PUSH_NULL pushes?
  std::vector<bool> stackIsNull;
  // How many handlers of the frame are at work, one inside the other. (Its callers' are not the
  // entry's business.)
  int32_t openHandlers = 0;
  // Tracebacks show the program's frame, by frame objects of code that has run before. The frame
  // that goes on has to be told to them: see cpython::continueFrameFunction.
  bool isShown = false;
  // It is the frame of a generator, which counts as running: the frame's result is what the
  // generator yields, and then it stands there, or returns.
  bool isGenerator = false;
  // Locals that are bound (and, inside a function, alive), ascending.
  std::vector<int32_t> locals;
  // For each of `locals`: it holds a cell object.
  std::vector<bool> localIsCell;
  // Code from here on may let go of an input before its frame ends. A further argument of generated
  // code is then what else holds the inputs: inverted (`~`), it lets go of them.
  bool movesInputs = false;

  // The builtins that the function chose when it was made; null: those that its globals name.
  // Borrowed: who keeps the entry keeps them.
  PyObject* builtins = nullptr;

  // What ran before was told by is_compiling() that it is not, and so is what follows: a program
  // that hears both may mix what it made by the one with the other.
  bool answersAsPython = false;

  // Where the frame stands for an exception that is not its own doing; the handler there, or null.
  int32_t interruptedAt() const { return ranLast >= 0 ? ranLast : start; }
  const ExceptionRegion* interruptRegion() const {
    int32_t region = code->regionOf[interruptedAt()];
    return region < 0 ? nullptr : &code->regions[region];
  }
  bool handlesException() const { return openHandlers > 0; }
  bool isFunctionStart() const { return start == 0; }
  // Whoever calls holds the inputs until the frame ends.
  bool inputsAreHeld() const { return isFunctionStart() && !movesInputs; }
  size_t inputCount() const {
    size_t count = locals.size() + handlesException() + isShown + isGenerator;
    for (bool isNull : stackIsNull) count += !isNull;
    return count;
  }
  size_t firstLocalInput() const { return inputCount() - locals.size(); }
  size_t generatorInput() const { return firstLocalInput() - 1; }
  size_t shownInput() const { return firstLocalInput() - isGenerator - 1; }
  size_t handledInput() const { return firstLocalInput() - isGenerator - isShown - 1; }
  // What a call passes to generated code before the captures.
  size_t argumentCount() const { return inputCount() + movesInputs; }
  bool operator==(const EntryPoint&) const = default;
};

}  // namespace armature
