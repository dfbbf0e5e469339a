// sys._getframe(): what the program may ask of the frames in the trace, which are no real ones.
#include "core/text.h"
#include "interpreter/instruction_translator.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/traceback.h"

namespace armature {

namespace {

// A frame of which the next instruction takes the globals. Nothing else of it is known.
Value frameForGlobals(InstructionTranslator& translator, int64_t depth) {
  const Frame& running = *translator.runningFrame();
  size_t next = static_cast<size_t>(running.pc) + 1;
  const auto& instructions = running.code->instructions;
  bool asksGlobals = next < instructions.size() && instructions[next].opcode == Opcode::LOAD_ATTR &&
                     PyUnicode_CompareWithASCIIString(
                         running.code->names[instructions[next].argument].get(), "f_globals") == 0;
  const Frame* frame = &running;
  for (; asksGlobals && frame && depth > 0; --depth) frame = frame->back;
  if (!asksGlobals || !frame || depth < 0) {
    translator.letFramesBeRead();
    throw GraphBreak(GraphBreakKind::UnknownCFunction, "sys._getframe()");
  }
  return translator.make<TracedFrameVariable>(nullptr, 0, frame->globals);
}

Value getFrame(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_getframe", arguments, 0, 1)) return Value();
  Value depth =
      arguments.values.empty() ? Value::integer(0) : translator.realized(arguments.values[0]);
  int overflow = 0;
  bool isKnown = depth.isConstant() && PyLong_CheckExact(depth.object());
  int64_t number = isKnown ? PyLong_AsLongLongAndOverflow(depth.object(), &overflow) : -1;
  return frameForGlobals(static_cast<InstructionTranslator&>(translator), overflow ? -1 : number);
}

void registerFrames() { registerFunctionHandler("sys", "_getframe", getFrame); }
ARMATURE_REGISTER_HANDLERS(registerFrames);

}  // namespace

}  // namespace armature
