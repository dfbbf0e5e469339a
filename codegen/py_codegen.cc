#include "codegen/py_codegen.h"

#include <algorithm>

#include "codegen/interruption.h"
#include "codegen/native_instruction.h"
#include "codegen/runnable_code.h"
#include "codegen/unsupported.h"
#include "core/checked.h"
#include "core/describe.h"
#include "core/pending_python_exception.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// Name and place of the function that the generated code stands for.
Assembler makeAssembler(const Code& code) {
  Assembler assembler(code.name, code.filename, code.firstLine);
  assembler.setQualifiedName(code.qualifiedName);
  return assembler;
}

}  // namespace

PyCodegen::PyCodegen(InstructionTranslator& translator, Outcome& outcome,
                     CodegenEnvironment& environment)
    : translator_(translator),
      outcome_(outcome),
      environment_(environment),
      assembler_(makeAssembler(*translator.entry().code)),
      plan_(*this) {
  const EntryPoint& entry = translator_.entry();
  inputCount_ = static_cast<int32_t>(entry.inputCount());
}

// Until the program goes on, what arrives from outside is raised where its frame stands.
void PyCodegen::beginInterruptible() {
  if (translator_.entry().isFunctionStart() || !translator_.entry().interruptRegion()) return;
  if (!interruptHandler_) interruptHandler_ = assembler_.newLabel();
  assembler_.beginRegion(*interruptHandler_, 0, false);
}

void PyCodegen::endInterruptible() {
  if (interruptHandler_) assembler_.endRegion();
}

// Has the frame still not left the handler that an interrupt at its entry goes to? As long as a
// `with` keeps its __exit__ on the stack, it has not called it.
bool PyCodegen::isInsideInterruptRegion(const FrameState& frame) const {
  const EntryPoint& entry = translator_.entry();
  const ExceptionRegion* region = entry.interruptRegion();
  if (!region) return false;
  if (entry.code->regionOf[frame.pc] == entry.code->regionOf[entry.interruptedAt()]) return true;
  bool isWith = entry.code->instructions[region->target + 1].opcode == Opcode::WITH_EXCEPT_START;
  size_t exit = region->depth - 1;
  if (!isWith || exit >= frame.stack.size() || !frame.stack[exit].isTracker()) return false;
  const Source* source = frame.stack[exit].tracker()->source();
  int64_t input = std::count(entry.stackIsNull.begin(), entry.stackIsNull.begin() + exit, false);
  return source && source->kind() == SourceKind::Local && source->index() == input;
}

void PyCodegen::emitInterruptHandlers() {
  if (handlesFailure_) emitGraphHandler();
  if (!interruptHandler_) return;
  assembler_.bind(*interruptHandler_);
  emitInterruption(assembler_);
}

// An exception that the graph raises needs some line in its traceback.
Position PyCodegen::startPosition() const {
  const EntryPoint& entry = translator_.entry();
  if (entry.isFunctionStart()) return {entry.code->firstLine, entry.code->firstLine};
  return shownPosition(*entry.code, entry.start);
}

GeneratedCode PyCodegen::generate() {
  GeneratedCode generated;
  try {
    bool isBreak = outcome_.kind == Outcome::Kind::Break;
    bool plain = outcome_.kind == Outcome::Kind::ResumePlain;
    if (isBreak && !canRunNatively(innermost())) isBreak = false, plain = true;
    bool nothingDone = translator_.graph->empty() && translator_.effects.empty();
    if (plain && nothingDone && outcome_.frames.size() == 1) {
      generated.unsupported = "nothing was traced before the break";
      return generated;
    }
    if (outcome_.kind == Outcome::Kind::SkipFrame) {
      generated.unsupported = "the frame is skipped";
      return generated;
    }
    if (isBreak) unbindCalledMethod();
    requireRoots();
    requireEffects();
    requireHeldLocals();
    plan_.finish();
    auto isKept = [&](GeneratorVariable* generator) { return plan_.find(generator) != nullptr; };
    if (const Code* code = translator_.leavesCleanUp(isKept)) {
      throw UnsupportedReconstruction("the end of generator " + describe(code->qualifiedName) +
                                      ", suspended inside try or with");
    }
    finishGraph();

    const EntryPoint& entry = translator_.entry();
    auto addParameter = [&](const std::string& name) {
      return assembler_.addParameter(checked(PyUnicode_FromString(name.c_str())));
    };
    for (size_t i = 0; i < entry.stackIsNull.size(); ++i) {
      if (!entry.stackIsNull[i]) addParameter("___stack" + std::to_string(i));
    }
    if (entry.handlesException()) addParameter("___handled");
    if (entry.isShown) addParameter("___frame");
    if (entry.isGenerator) addParameter("___generator");
    for (int32_t local : entry.locals) assembler_.addParameter(entry.code->locals[local].name);
    if (entry.movesInputs) inputHolder_ = addParameter("___inputs");

    assembler_.setPosition(startPosition());
    beginInterruptible();
    assembler_.emit(Opcode::RESUME, 0);
    callGraph();
    makeObjects(plan_.early());
    // What the program does when its frame has left the handler is done once.
    bool staysInside = !outcome_.frames.empty() && isInsideInterruptRegion(outcome_.frames.front());
    if (!staysInside) endInterruptible();
    if (!isBreak && !plain) {
      const ConstructionPlan::Part* made = plan_.find(outcome_.result);
      bool isLate = made && made->isLate();
      int32_t result = -1;
      if (!isLate && (!translator_.effects.empty() || translator_.errorOnGraphBreakSetter())) {
        // Loaded before the effects, which may replace what a source leads to.
        load(outcome_.result);
        result = freshLocal("result");
        assembler_.emit(Opcode::STORE_FAST, result);
        replayEffects();
        assembler_.emit(Opcode::LOAD_FAST, result);
      } else {
        replayEffects();
        load(outcome_.result);
      }
      if (entry.isShown) {
        leaveLocals();
      } else if (!entry.isGenerator) {
        orderEnds();
      }
      assembler_.emit(Opcode::RETURN_VALUE);
    } else {
      for (size_t i = 0; i < outcome_.frames.size(); ++i) storeFrame(outcome_.frames[i], i);
      replayEffects();
      if (staysInside) endInterruptible();
      FrameCode(assembler_, environment_, outcome_.frames, storedFrames_).emit(plain, [&] {
        releaseLocals();
      });
    }
    // Nothing of the program's keeps it entered, so that it is left where it was let go of.
    if (llvm::any_of(contexts_, [](const Context& context) { return !context.isLoaded; })) {
      throw UnsupportedReconstruction("what has entered a context and was let go of");
    }
    emitInterruptHandlers();
    if (!outcome_.frames.empty()) {
      assembler_.showFrameOf(outcome_.frames.front().code->locals);
    } else if (entry.isShown) {
      assembler_.showFrameOf(entry.code->locals);
    }
    generated.canonical = assembler_.finish();
    generated.code = runnableCode(*generated.canonical, entry.code->original);
    generated.captures = captures_;
  } catch (const UnsupportedReconstruction& unsupported) {
    clearUnlessInterrupted();
    generated.unsupported = unsupported.reason;
    generated.cannotRebuild = true;
  } catch (const GraphBreak& reason) {
    clearUnlessInterrupted();
    generated.unsupported = reason.explanation();
  } catch (const PendingPythonException&) {
    generated.code = nullptr;
    generated.unsupported.clear();
  }
  return generated;
}

}  // namespace armature
