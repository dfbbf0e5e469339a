#include "codegen/py_codegen.h"

#include "codegen/native_instruction.h"
#include "codegen/unsupported.h"
#include "core/checked.h"
#include "core/describe.h"
#include "core/pending_python_exception.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

bool isPure(const Node& node) {
  const Library* library = findLibrary(node.library);
  return library && library->isPure(node);
}

// Name and place of the function that the generated code stands for.
Assembler makeAssembler(const Code& code) {
  return Assembler(code.name, code.filename, code.firstLine);
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
    requireRoots();
    requireEffects();
    requireHeldLocals();
    plan_.finish();
    auto isKept = [&](GeneratorVariable* generator) { return plan_.find(generator) != nullptr; };
    if (const Code* code = translator_.leavesCleanUp(isKept)) {
      throw UnsupportedReconstruction("the end of generator " + describe(code->qualifiedName) +
                                      ", suspended inside try or with");
    }
    translator_.graph->finish(plan_.outputs().vec(), isPure);

    const EntryPoint& entry = translator_.entry();
    auto addParameter = [&](const std::string& name) {
      return assembler_.addParameter(checked(PyUnicode_FromString(name.c_str())));
    };
    for (size_t i = 0; i < entry.stackIsNull.size(); ++i) {
      if (!entry.stackIsNull[i]) addParameter("___stack" + std::to_string(i));
    }
    if (entry.handlesException()) addParameter("___handled");
    if (entry.isShown) addParameter("___frame");
    for (int32_t local : entry.locals) assembler_.addParameter(entry.code->locals[local].name);
    if (entry.movesInputs) inputHolder_ = addParameter("___inputs");

    // An exception that the graph raises needs some line in its traceback.
    Position position = entry.code->positions[entry.start];
    if (entry.isFunctionStart() || position.line < 0) {
      position = {entry.code->firstLine, entry.code->firstLine};
    }
    assembler_.setPosition(position);
    assembler_.emit(Opcode::RESUME, 0);
    callGraph();
    makeObjects();
    if (!isBreak && !plain) {
      int32_t result = -1;
      if (!translator_.effects.empty() || translator_.errorOnGraphBreakSetter()) {
        // Loaded before the effects, which may replace what a source leads to.
        load(outcome_.result);
        result = freshLocal("result");
        assembler_.emit(Opcode::STORE_FAST, result);
        replayEffects();
        assembler_.emit(Opcode::LOAD_FAST, result);
      } else {
        load(outcome_.result);
      }
      if (entry.isShown) leaveLocals();
      assembler_.emit(Opcode::RETURN_VALUE);
    } else {
      for (size_t i = 0; i < outcome_.frames.size(); ++i) storeFrame(outcome_.frames[i], i);
      replayEffects();
      releaseLocals();
      FrameCode(assembler_, environment_, outcome_.frames, storedFrames_).emit(plain);
    }
    emitGraphHandler();
    generated.canonical = assembler_.finish();
    generated.code = lower(*generated.canonical);
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
