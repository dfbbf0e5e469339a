// Generators that existed before the trace: their frames, read where they stand.
#include "core/checked.h"
#include "core/constant.h"
#include "cpython/generator_frames.h"
#include "interpreter/instruction_translator.h"
#include "variables/variable_builder.h"

namespace armature {

namespace {

// The instruction with which a generator goes on that stands there; -1: nobody knows.
int32_t nextInstruction(BorrowedRef<> generator, const Code& code) {
  int32_t unit = cpython::generatorPosition(generator);
  if (unit < 0) {
    for (size_t pc = 0; pc < code.instructions.size(); ++pc) {
      if (code.instructions[pc].opcode != Opcode::RETURN_GENERATOR) continue;
      return static_cast<int32_t>(pc) + 1;
    }
    return -1;
  }
  CodePtr own = lift(cpython::generatorCode(generator));
  for (size_t i = 0; own && i < own->yields.size() && i < code.yields.size(); ++i) {
    if (own->yields[i].unit == unit) return code.yields[i].instruction + 1;
  }
  return -1;
}

}  // namespace

Value InstructionTranslator::existingGenerator(const Source* source, BorrowedRef<> object) {
  using State = GeneratorVariable::State;
  auto* generatorType = reinterpret_cast<PyObject*>(&PyGen_Type);
  cpython::GeneratorState state = cpython::generatorState(object);
  if (state == cpython::GeneratorState::Running) return Value();
  Ref<> description = checked(cpython::describeGenerator(object).release());
  if (state == cpython::GeneratorState::Finished) {
    addGuard(source, GuardType::TYPE_MATCH, generatorType);
    addGuard(source, GuardType::GENERATOR_MATCH, description);
    auto* finished =
        make<GeneratorVariable>(std::make_unique<SuspendedGenerator>(), source, object);
    finished->state = State::Finished;
    return finished;
  }
  // What a handler puts aside is not told apart from what it handles.
  if (cpython::handledByGenerator(object) ||
      cpython::generatorBuiltins(object) != PyEval_GetBuiltins()) {
    return Value();
  }
  BorrowedRef<PyCodeObject> original = originalOf(cpython::generatorCode(object));
  // Code that the program has put together may load anything.
  CodePtr code = isConstant(reinterpret_cast<PyObject*>(original.get())) ? lift(original) : nullptr;
  int32_t next = code ? nextInstruction(object, *code) : -1;
  size_t count = cpython::generatorSlotCount(object);
  if (next < 0 || code->readsOwnFrame || count < code->locals.size()) {
    clearUnlessInterrupted();
    return Value();
  }
  PyObject* globals = cpython::generatorGlobals(object);
  if (skipped_ && skipped_->modules && skipped_->modules->contains(globals)) return Value();
  addGuard(source, GuardType::TYPE_MATCH, generatorType);
  addGuard(source, GuardType::GENERATOR_MATCH, description);

  auto suspended = std::make_unique<SuspendedGenerator>();
  suspended->frame = std::make_unique<Frame>();
  Frame& frame = *suspended->frame;
  frame.globals = moduleDict(globals);
  frame.localCount = static_cast<int32_t>(code->locals.size());
  frame.depth = static_cast<int32_t>(count) - frame.localCount;
  frame.slots.resize(count + code->original->co_stacksize + 1);
  frame.pc = next;
  frame.code = std::move(code);
  auto* generator = make<GeneratorVariable>(std::move(suspended), source, object);
  generator->state = state == cpython::GeneratorState::Created ? State::Created : State::Suspended;
  frame.generator = generator;
  const Code* own = lift(cpython::generatorCode(object)).get();
  for (size_t i = 0; i < count; ++i) {
    PyObject* held = cpython::generatorSlot(object, i);
    // What makes the calls of generated code stands where the program's has nothing.
    bool isCaller = own != frame.code.get() && held == own->constants.back().get();
    if (!held || isCaller) continue;
    const Source* path = sources->item(SourceKind::GeneratorSlot, source, static_cast<int64_t>(i));
    bool isCell = static_cast<int32_t>(i) < frame.localCount &&
                  frame.code->locals[i].kind != LocalKind::Local && PyCell_Check(held);
    frame.slots[i] = isCell ? VariableBuilder(*this, path, held).build() : wrap(path, held);
  }
  return generator;
}

}  // namespace armature
