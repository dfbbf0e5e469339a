#include "interpreter/instruction_translator.h"

#include <llvm/Support/SaveAndRestore.h>

#include "core/checked.h"
#include "core/fault_injection.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/deferred_signals.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/address.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// How often the interpreter looks whether the user pressed Ctrl-C.
constexpr uint64_t kSignalInterval = 1 << 14;

// Belongs to what CPython does before the body of a function: a break in it is one in the call.
bool isPrologue(Opcode opcode) {
  return opcode == Opcode::COPY_FREE_VARS || opcode == Opcode::MAKE_CELL ||
         opcode == Opcode::RETURN_GENERATOR || opcode == Opcode::RESUME;
}

}  // namespace

InstructionTranslator::InstructionTranslator(const EntryPoint& entry, BorrowedRef<> globals,
                                             const FrameLocalsMapping& inputs)
    : InstructionTranslator(entry) {  // so that the frames go if anything here fails
  runHandlerRegistrations();
  rootGlobals_ = globals;
  frame_ = pushFrame(entry_.code, moduleDict(globals), nullptr);
  frame_->callersResumable = !entry_.code->readsOwnFrame;
  frame_->pc = entry_.start;
  // The arguments of other frames stay with them to their ends.
  if (entry_.movesInputs) this->inputs = {inputs.slots, inputs.count};
  bindInputs(inputs);
  // Until an instruction is marked (in code that reads its own frame, none ever is), a break goes
  // back to the beginning.
  mark(*frame_, true);
}

InstructionTranslator::~InstructionTranslator() {
  while (frame_) dropFrame();
  while (freeFrames_) delete std::exchange(freeFrames_, freeFrames_->back);
}

void InstructionTranslator::bindInputs(const FrameLocalsMapping& inputs) {
  size_t index = 0;
  for (size_t i = 0; i < entry_.stackIsNull.size(); ++i) {
    if (entry_.stackIsNull[i]) {
      frame_->push(Value());
      continue;
    }
    std::string text = "___stack" + std::to_string(i);
    Ref<> name = checked(PyUnicode_FromString(text.c_str()));
    frame_->push(wrap(sources->local(index, name), inputs.slots[index]));
    ++index;
  }
  if (entry_.handlesException()) {
    static PyObject* const name = staticName("___handled");
    handled_ = wrap(sources->local(index, Ref<>::create(name)), inputs.slots[index]);
    frame_->openHandlers = entry_.openHandlers;
    ++index;
  }
  index += entry_.isShown;
  if (entry_.isGenerator) {
    PyObject* object = inputs.slots[index];
    const Source* source = sources->local(index, Ref<>::steal(staticName("___generator")));
    auto* generator = make<GeneratorVariable>(std::make_unique<SuspendedGenerator>(), source,
                                              BorrowedRef<>(object));
    generator->state = GeneratorVariable::State::Running;
    remember(object, Value(generator));
    frame_->generator = generator;
    runningGenerator_ = frame_;
    ++index;
  }
  for (size_t i = 0; i < entry_.locals.size(); ++i, ++index) {
    PyObject* object = inputs.slots[index];
    if (!object) continue;
    int32_t slot = entry_.locals[i];
    Ref<> name = entry_.code->locals[slot].name;
    if (!entry_.localIsCell[i]) {
      frame_->locals()[slot] = wrap(sources->local(index, name), object);
      continue;
    }
    const Source* source = sources->localCell(index, name);
    if (Value same = known(object)) {  // one cell for two variables
      guardSame(source, same.tracker()->source(), true);
      frame_->locals()[slot] = std::move(same);
      continue;
    }
    Value contents;
    if (PyObject* inside = PyCell_GET(object)) {
      contents = wrap(sources->local(index, name), inside);
    }
    Value cell = make<NewCellVariable>(std::move(contents), source, object);
    remember(object, cell);
    frame_->locals()[slot] = std::move(cell);
  }
}

// --- Marks.

inline void InstructionTranslator::setMark(Frame& frame) {
  // Nothing before the mark will be undone.
  trail.cut();
  mark_.frame = &frame;
  mark_.pc = frame.pc;
  if (!mark_.handled.sameAs(handled_)) mark_.handled = handled_;
  mark_.openHandlers = frame.openHandlers;
  mark_.isPlain = mark_.hasSlots = false;
  mark_.operands.clear();
  mark_.depth = frame.depth;
}

inline void InstructionTranslator::markInstruction(Frame& frame, Opcode opcode) {
  if (!frame.callersResumable || isPrologue(opcode)) return;
  if (cleanUps_.empty()) {
    setMark(frame);
  } else {
    mark(frame, false);
  }
  if (fault_injection::armed && !needsItsFrame(opcode)) [[unlikely]]
    faultSite(FaultSite::Instruction);
}

void InstructionTranslator::mark(Frame& frame, bool isPlain) {
  setMark(frame);
  mark_.isPlain = isPlain;
  // An instruction that drops a generator may turn out to be Python's when it is done.
  mark_.hasSlots = isPlain || !cleanUps_.empty();
  if (mark_.hasSlots) {
    mark_.slots.assign(frame.slots.begin(), frame.slots.begin() + frame.localCount + frame.depth);
  }
}

void InstructionTranslator::realizeOperand(Frame& frame, int32_t n) {
  Value& operand = frame.peek(n);
  Value before = operand;
  realize(operand);
  if (&frame != mark_.frame || mark_.hasSlots || operand.sameAs(before)) return;
  auto slot = static_cast<size_t>(&operand - frame.slots.data());
  mark_.operands.emplace_back(slot, std::move(before));
}

void InstructionTranslator::realizeKeyOperand(Frame& frame, int32_t n) {
  if (!existingAddress(frame.peek(n))) realizeOperand(frame, n);
}

// --- The loop.

namespace {

// As TorchDynamo does (TensorVariable.set_name_hint): the first variable gives a node its name.
void nameNode(const Translator& translator, const Value& value, const Ref<>& name) {
  auto* tensor = trackerOf<TensorVariable>(value);
  if (!tensor || !translator.variablesNameNodes) return;
  Node* node = tensor->node;
  if (node->variableName || node->operation == NodeOperation::Placeholder) return;
  node->variableName = name;
}

// Of what is stored in a cell: where that is one of the frame's in which the trace began.
void nameByCell(const Translator& translator, Frame& frame, const Value& cell) {
  if (!trackerOf<TensorVariable>(frame.peek(1))) return;
  Frame* root = &frame;
  while (root->back) root = root->back;
  for (int32_t i = 0; i < root->localCount; ++i) {
    if (!root->slots[i].sameAs(cell)) continue;
    nameNode(translator, frame.peek(1), root->code->locals[i].name);
    return;
  }
}

// What an instruction drops that has just called an operation. As in TorchDynamo's graphs, an array
// that it has changed goes on by the name that it had (Node::keepsName).
void dropResult(const Translator& translator, const Value& value) {
  auto* tensor = trackerOf<TensorVariable>(value);
  if (!tensor || translator.graph->nodes().empty()) return;
  Node* node = translator.graph->nodes().back().get();
  if (node != tensor->node || node->keepsName || node->arguments.empty() ||
      node->operation == NodeOperation::Placeholder ||
      node->arguments[0].kind() != Argument::Kind::Node) {
    return;
  }
  // The operation's, which need not be that of the array that it gives.
  const Library& library = *findLibrary(node->library);
  if (library.effectOf(*node) == NodeEffect::None || library.changesLayout(*node)) return;
  llvm::SmallVector<Node*, 4> changed;
  library.changedArrays(*node, changed);
  node->keepsName = changed.size() == 1 && changed[0] == node->arguments[0].node();
}

// Nearly half of all instructions only move values between the slots of their frame: they cannot
// break, raise or call anything. False for all others.
inline bool moveValue(Translator& translator, Frame& frame) {
  const Instruction& instruction = frame.instruction();
  switch (instruction.opcode) {
    case Opcode::LOAD_FAST: {
      const Value& value = frame.locals()[instruction.argument];
      if (!value) return false;
      frame.push(Value(value));
      break;
    }
    case Opcode::STORE_FAST:
      nameNode(translator, frame.peek(1), frame.code->locals[instruction.argument].name);
      frame.locals()[instruction.argument] = frame.pop();
      break;
    case Opcode::LOAD_CONST: {
      const Ref<>& constant = frame.code->constants[instruction.argument];
      if (PyTuple_CheckExact(constant.get())) [[unlikely]]
        translator.rememberExisting(constant.get());
      frame.push(Value::constant(constant));
      break;
    }
    case Opcode::PUSH_NULL:
      frame.push(Value());
      break;
    case Opcode::COPY:
      frame.push(Value(frame.peek(instruction.argument)));
      break;
    case Opcode::SWAP:
      std::swap(frame.peek(1), frame.peek(instruction.argument));
      break;
    default:
      return false;
  }
  ++frame.pc;
  return true;
}

// Sums, differences and comparisons of integers, and branches on truth values: what they do is
// CPython's alone, and they cannot break or raise. False for all others, and for jumps back, behind
// which a loop is looked at.
inline bool computePlainly(Frame& frame) {
  const Instruction& instruction = frame.instruction();
  switch (instruction.opcode) {
    case Opcode::BINARY_OP:
    case Opcode::COMPARE_OP: {
      PyObject *left = frame.peek(2).objectOrNull(), *right = frame.peek(1).objectOrNull();
      if (!left || !right || !PyLong_CheckExact(left) || !PyLong_CheckExact(right)) return false;
      Ref<> result;
      if (instruction.opcode == Opcode::COMPARE_OP) {
        result = checked(PyObject_RichCompare(left, right, instruction.argument));
      } else if (auto slot = static_cast<NumberSlot>(instruction.argument);
                 slot == nb_add || slot == nb_inplace_add) {
        result = checked(PyNumber_Add(left, right));
      } else if (slot == nb_subtract || slot == nb_inplace_subtract) {
        result = checked(PyNumber_Subtract(left, right));
      } else {
        return false;
      }
      frame.drop(1);
      frame.peek(1) = Value::steal(result.release());
      break;
    }
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_FALSE: {
      const Value& condition = frame.peek(1);
      bool isTrue = condition.is(Py_True);
      if (!isTrue && !condition.is(Py_False)) return false;
      if (isTrue == (instruction.opcode == Opcode::POP_JUMP_IF_TRUE)) {
        if (instruction.argument <= frame.pc) return false;
        frame.pc = instruction.argument - 1;
      }
      frame.drop(1);
      break;
    }
    default:
      return false;
  }
  ++frame.pc;
  return true;
}

}  // namespace

void InstructionTranslator::raiseUnbound(const Frame& frame, const Instruction& instruction) {
  raise(PyExc_UnboundLocalError,
        "cannot access local variable '%U' where it is not associated with a value",
        frame.code->locals[instruction.argument].name.get());
}

Value InstructionTranslator::run(Frame* entry) {
  uint32_t start = runs_++ == 0 ? 0 : static_cast<uint32_t>(arena.trackers().size());
  llvm::SaveAndRestore<uint32_t> runStart(runStart_, start);
  KeepingInstruction keeping;
  for (uint64_t runsBefore = runs_;;) {
    bool hasCleanUps = !cleanUps_.empty();
    if (hasCleanUps) [[unlikely]] {
      bool ranCode = runs_ != runsBefore;
      if (ranCode || !keeping.isDone(*frame_, effects.changeCount())) {
        endGenerators(ranCode, nullptr, Value());
      }
      hasCleanUps = !cleanUps_.empty();
      keeping = hasCleanUps ? keepingInstruction() : KeepingInstruction();
    }
    runsBefore = runs_;
    Frame& frame = *frame_;
    ++instructionCount_;
    if ((!hasCleanUps || keeping.frame) && !fault_injection::armed) [[likely]] {
      if (moveValue(*this, frame) || computePlainly(frame)) continue;
    }
    const Instruction& instruction = frame.instruction();
    markInstruction(frame, instruction.opcode);
    allowGuards();
    faultSite();
    if (instructionCount_ >= nextSignalCheck_) {
      nextSignalCheck_ = instructionCount_ + kSignalInterval;
      if (!cpython::handleSignals()) throw SignalRaised();
      if (instructionCount_ >= nextOperationCheck_) checkOperations();
    }
    bool ok = true;
    Frame* raisedIn = &frame;
    switch (instruction.opcode) {
      case Opcode::NOP:
      case Opcode::RESUME:
      case Opcode::COPY_FREE_VARS:
        break;
      case Opcode::POP_TOP:
        if (frame.peek(1).isTracker()) dropResult(*this, frame.peek(1));
        frame.drop(1);
        break;
      case Opcode::COPY:
      case Opcode::SWAP:
      case Opcode::PUSH_NULL:
      case Opcode::LOAD_CONST:
      case Opcode::STORE_FAST:
        moveValue(*this, frame);
        continue;
      case Opcode::LOAD_FAST:
        if (moveValue(*this, frame)) continue;
        raiseUnbound(frame, instruction);
        ok = false;
        break;
      case Opcode::DELETE_FAST: {
        Value& value = frame.locals()[instruction.argument];
        ok = static_cast<bool>(value);
        if (!ok) raiseUnbound(frame, instruction);
        value = Value();
        break;
      }
      case Opcode::LOAD_GLOBAL:
        ok = loadGlobal(frame, frame.code->names[instruction.argument].get(), true);
        break;
      case Opcode::LOAD_BUILD_CLASS:
        ok = loadBuildClass(frame);
        break;
      case Opcode::STORE_GLOBAL:
      case Opcode::DELETE_GLOBAL:
        ok = storeGlobal(frame, instruction);
        break;
      case Opcode::LOAD_NAME:
      case Opcode::STORE_NAME:
      case Opcode::DELETE_NAME:
      case Opcode::SETUP_ANNOTATIONS:
      case Opcode::LOAD_CLASSDEREF:
        ok = namespaceInstruction(frame, instruction);
        break;
      case Opcode::STORE_DEREF:
        nameByCell(*this, frame, frame.locals()[instruction.argument]);
        [[fallthrough]];
      case Opcode::MAKE_CELL:
      case Opcode::LOAD_CLOSURE:
      case Opcode::LOAD_DEREF:
      case Opcode::DELETE_DEREF:
        ok = cellOperation(frame, instruction);
        break;
      case Opcode::LOAD_ATTR:
      case Opcode::STORE_ATTR:
      case Opcode::DELETE_ATTR:
      case Opcode::LOAD_METHOD:
      case Opcode::BINARY_SUBSCR:
      case Opcode::STORE_SUBSCR:
      case Opcode::DELETE_SUBSCR:
      case Opcode::BINARY_OP:
      case Opcode::COMPARE_OP:
      case Opcode::UNARY_POSITIVE:
      case Opcode::UNARY_NEGATIVE:
      case Opcode::UNARY_NOT:
      case Opcode::UNARY_INVERT:
      case Opcode::CONTAINS_OP:
      case Opcode::GET_ITER:
      case Opcode::GET_YIELD_FROM_ITER:
      case Opcode::FOR_ITER:
      case Opcode::SEND:
      case Opcode::POP_JUMP_IF_TRUE:
      case Opcode::POP_JUMP_IF_FALSE:
      case Opcode::JUMP_IF_TRUE_OR_POP:
      case Opcode::JUMP_IF_FALSE_OR_POP:
      case Opcode::FORMAT_VALUE:
      case Opcode::BEFORE_WITH:
      case Opcode::WITH_EXCEPT_START:
        if (protocolInstruction(frame, instruction)) continue;
        ok = false;
        break;
      case Opcode::IS_OP: {
        bool same = isSame(*this, frame.peek(2), frame.peek(1));
        frame.drop(1);
        frame.peek(1) = Value::boolean(same != (instruction.argument == 1));
        break;
      }
      case Opcode::GET_LEN: {
        int64_t count = length(*this, frame.peek(1));
        ok = count >= 0;
        if (ok) frame.push(Value::integer(count));
        break;
      }
      case Opcode::BUILD_TUPLE:
      case Opcode::BUILD_LIST:
      case Opcode::BUILD_SET:
      case Opcode::BUILD_MAP:
      case Opcode::BUILD_CONST_KEY_MAP:
      case Opcode::BUILD_SLICE:
      case Opcode::LIST_TO_TUPLE:
        ok = buildContainer(frame, instruction);
        break;
      case Opcode::LIST_EXTEND:
      case Opcode::SET_UPDATE:
        if (takesItemsOfPython(frame)) {
          if (complete(takeItems(frame, instruction))) continue;
          ok = false;
          break;
        }
        [[fallthrough]];
      case Opcode::LIST_APPEND:
      case Opcode::SET_ADD:
      case Opcode::MAP_ADD:
      case Opcode::DICT_UPDATE:
      case Opcode::DICT_MERGE:
        ok = extendContainer(frame, instruction);
        break;
      case Opcode::BUILD_STRING:
        ok = buildString(frame, instruction);
        break;
      case Opcode::UNPACK_SEQUENCE:
      case Opcode::UNPACK_EX:
        if (takesItemsOfPython(frame)) {
          if (complete(takeItems(frame, instruction))) continue;
          ok = false;
          break;
        }
        ok = instruction.opcode == Opcode::UNPACK_EX ? unpackExtended(frame, instruction)
                                                     : unpack(frame, instruction);
        break;
      case Opcode::JUMP:
        frame.pc = instruction.argument;
        continue;
      case Opcode::POP_JUMP_IF_NONE:
      case Opcode::POP_JUMP_IF_NOT_NONE: {
        realizeType(*this, frame.peek(1));
        bool isNone = frame.peek(1).is(Py_None);
        frame.drop(1);
        if (isNone == (instruction.opcode == Opcode::POP_JUMP_IF_NONE)) {
          frame.pc = instruction.argument;
          continue;
        }
        break;
      }
      case Opcode::CALL:
      case Opcode::CALL_FUNCTION_EX: {
        bool pushed = false;
        ok = instruction.opcode == Opcode::CALL ? callInstruction(frame, instruction, pushed)
                                                : callFunctionEx(frame, instruction, pushed);
        if (ok && pushed) continue;
        break;
      }
      case Opcode::MAKE_FUNCTION:
        ok = makeFunction(frame, instruction);
        break;
      case Opcode::RETURN_VALUE: {
        bool isShown = entry_.isShown && !frame.back;
        if (!cleanUps_.empty() && !isShown) endGenerators(false, &frame, frame.peek(1));
        Value result = frame.peek(1);
        if (frame.generator) {
          finish(frame, result);
          if (frame.back) result = Value();  // it is no item
        }
        if (&frame == entry) return leaveEntry(std::move(result));
        if (returnToCaller(std::move(result))) continue;
        raisedIn = frame.back;
        ok = false;
        break;
      }
      case Opcode::RETURN_GENERATOR: {
        Value result = makeGenerator(frame);
        if (&frame == entry) return leaveEntry(std::move(result));
        if (returnToCaller(std::move(result))) continue;
        raisedIn = frame.back;
        ok = false;
        break;
      }
      case Opcode::YIELD_VALUE: {
        Value result = frame.peek(1);
        suspend(frame);
        if (&frame == entry) return leaveEntry(std::move(result));
        if (returnToCaller(std::move(result))) continue;
        raisedIn = frame.back;
        ok = false;
        break;
      }
      case Opcode::RAISE_VARARGS:
      case Opcode::RERAISE:
        ok = raiseInstruction(frame, instruction);
        break;
      case Opcode::PUSH_EXC_INFO:
      case Opcode::POP_EXCEPT:
      case Opcode::CHECK_EXC_MATCH:
      case Opcode::CHECK_EG_MATCH:
      case Opcode::PREP_RERAISE_STAR:
      case Opcode::LOAD_ASSERTION_ERROR:
        ok = exceptionInstruction(frame, instruction);
        break;
      case Opcode::MATCH_CLASS:
      case Opcode::MATCH_MAPPING:
      case Opcode::MATCH_SEQUENCE:
      case Opcode::MATCH_KEYS:
        ok = matchInstruction(frame, instruction);
        break;
      case Opcode::IMPORT_NAME:
      case Opcode::IMPORT_FROM:
        ok = importInstruction(frame, instruction);
        break;
      default:
        throw GraphBreak(GraphBreakKind::UnsupportedInstruction,
                         std::string(opcodeName(instruction.opcode)));
    }
    if (ok) {
      ++frame.pc;
      continue;
    }
    if (!unwind(entry, raisedIn)) return Value();
  }
}

}  // namespace armature
