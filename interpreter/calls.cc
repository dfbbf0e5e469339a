// Calls of Python functions: binding arguments as initialize_locals of CPython's ceval.c does.
#include <algorithm>

#include "core/checked.h"
#include "core/text.h"
#include "interpreter/instruction_translator.h"
#include "variables/constants/constant.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/continuation.h"
#include "variables/functions/stand_ins.h"
#include "variables/loops.h"
#include "variables/objects/exception.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"
#include "variables/trailed.h"

namespace armature {

namespace {

// The name by which errors call the function.
PyObject* qualifiedName(Translator& translator, const UserFunctionVariable* function) {
  if (!function->existing()) {
    static PyObject* const attribute = staticName("__qualname__");
    Value set = function->members ? function->members->get(translator, attribute) : Value();
    PyObject* object = set ? set.objectOrNull() : function->code->qualifiedName.get();
    if (object) return object;
    throw GraphBreak(GraphBreakKind::AssignmentToFunction, printable(function->code->name));
  }
  Found name = translator.heap.part(function->source(),
                                    reinterpret_cast<PyFunctionObject*>(function->existing()),
                                    SourceKind::FunctionQualifiedName);
  translator.addGuard(name.source, GuardType::EQUALS_MATCH, name.object);
  return name.object;
}

// The items of a tuple or None found in __defaults__.
bool tupleItems(Translator& translator, Value value, ValueVector& items) {
  translator.realize(value);
  if (!value || value.is(Py_None)) return true;
  return iterateInto(translator, value, items);
}

// "'a', 'b', and 'c'" as format_missing writes it.
std::string nameList(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) {
      bool last = i + 1 == names.size();
      text += names.size() == 2 ? " and " : last ? ", and " : ", ";
    }
    text += "'" + names[i] + "'";
  }
  return text;
}

}  // namespace

bool InstructionTranslator::missingArguments(UserFunctionVariable* function, Frame& frame,
                                             bool keywordOnly) {
  const Code& code = *function->code;
  int32_t begin = keywordOnly ? code.argumentCount : 0;
  int32_t end = keywordOnly ? begin + code.keywordOnlyCount : code.argumentCount;
  std::vector<std::string> names;
  for (int32_t i = begin; i < end; ++i) {
    if (!frame.locals()[i]) names.push_back(printable(code.locals[i].name));
  }
  if (names.empty()) return false;
  raise(PyExc_TypeError, "%U() missing %zu required %s argument%s: %s",
        qualifiedName(*this, function), names.size(), keywordOnly ? "keyword-only" : "positional",
        names.size() == 1 ? "" : "s", nameList(names).c_str());
  return true;
}

// positional_only_passed_as_keyword: true with the TypeError pending.
bool InstructionTranslator::passedPositionalOnly(UserFunctionVariable* function,
                                                 const CallArguments& arguments) {
  const Code& code = *function->code;
  std::string names;
  for (int32_t i = 0; i < code.positionalOnlyCount; ++i) {
    PyObject* parameter = code.locals[i].name.get();
    for (size_t k = 0; k < arguments.keywordCount(); ++k) {
      if (PyUnicode_Compare(parameter, arguments.keywordName(k)) != 0) continue;
      names += (names.empty() ? "" : ", ") + printable(parameter);
    }
  }
  if (names.empty()) return false;
  raise(PyExc_TypeError,
        "%U() got some positional-only arguments passed as keyword arguments: '%s'",
        qualifiedName(*this, function), names.c_str());
  return true;
}

bool InstructionTranslator::bindArguments(UserFunctionVariable* function,
                                          const CallArguments& arguments, Frame& frame) {
  const Code& code = *function->code;
  Value* locals = frame.locals();
  size_t given = arguments.positionalCount();
  size_t positional = code.argumentCount;
  size_t total = positional + code.keywordOnlyCount;

  // Positional arguments, the rest into *args.
  size_t taken = std::min(given, positional);
  for (size_t i = 0; i < taken; ++i) locals[i] = arguments.values[i];
  if (code.hasVarPositional()) {
    ValueVector rest;
    for (size_t i = taken; i < given; ++i) rest.push_back(arguments.values[i]);
    locals[total] = makeTuple(*this, std::move(rest));
  }

  // Keywords.
  DictVariable* keywords = nullptr;
  if (code.hasVarKeyword()) {
    keywords = make<DictVariable>();
    locals[total + code.hasVarPositional()] = keywords;
  }
  for (size_t k = 0; k < arguments.keywordCount(); ++k) {
    PyObject* name = arguments.keywordName(k);
    size_t slot = code.positionalOnlyCount;
    while (slot < total && code.locals[slot].name.get() != name &&
           PyUnicode_Compare(code.locals[slot].name.get(), name) != 0) {
      ++slot;
    }
    if (slot < total) {
      if (locals[slot]) {
        raise(PyExc_TypeError, "%U() got multiple values for argument '%S'",
              qualifiedName(*this, function), name);
        return false;
      }
      locals[slot] = arguments.keywordValue(k);
      continue;
    }
    if (keywords) {
      if (!keywords->set(*this, Value::constant(name), arguments.keywordValue(k))) return false;
      continue;
    }
    if (passedPositionalOnly(function, arguments)) return false;
    raise(PyExc_TypeError, "%U() got an unexpected keyword argument '%S'",
          qualifiedName(*this, function), name);
    return false;
  }

  // Defaults.
  ValueVector defaults;
  bool fewer = given < positional;
  if ((fewer || given > positional) && !tupleItems(*this, function->defaults, defaults)) {
    return false;
  }
  // Below zero where the program has set more defaults than there are parameters.
  auto firstDefault = static_cast<int64_t>(positional) - static_cast<int64_t>(defaults.size());
  if (given > positional && !code.hasVarPositional()) {
    size_t keywordOnlyGiven = 0;
    for (size_t i = positional; i < total; ++i) keywordOnlyGiven += locals[i] ? 1 : 0;
    std::string takes = defaults.empty() ? std::to_string(positional)
                                         : "from " + std::to_string(firstDefault) + " to " +
                                               std::to_string(positional);
    std::string extra;
    if (keywordOnlyGiven) {
      extra = " positional argument" + std::string(given == 1 ? "" : "s") + " (and " +
              std::to_string(keywordOnlyGiven) + " keyword-only argument" +
              (keywordOnlyGiven == 1 ? "" : "s") + ")";
    }
    bool plural = !defaults.empty() || positional != 1;
    raise(PyExc_TypeError, "%U() takes %s positional argument%s but %zu%s %s given",
          qualifiedName(*this, function), takes.c_str(), plural ? "s" : "", given, extra.c_str(),
          given == 1 && !keywordOnlyGiven ? "was" : "were");
    return false;
  }
  if (fewer) {
    auto first = static_cast<int64_t>(given);
    for (int64_t i = std::max(firstDefault, first); i < static_cast<int64_t>(positional); ++i) {
      if (!locals[i]) locals[i] = defaults[i - firstDefault];
    }
    for (int64_t i = first; i < firstDefault; ++i) {
      if (!locals[i]) {
        missingArguments(function, frame, false);
        return false;
      }
    }
  }
  if (code.keywordOnlyCount) {
    bool missing = false;
    Value table = realized(function->keywordDefaults);
    for (size_t i = positional; i < total; ++i) {
      if (locals[i]) continue;
      if (auto* dict = trackerOf<DictVariable>(table)) {
        locals[i] = dict->get(*this, code.locals[i].name.get());
      }
      missing |= !locals[i];
    }
    if (missing) {
      missingArguments(function, frame, true);
      return false;
    }
  }

  // The closure's cells become the free variables.
  for (size_t i = 0, next = 0; i < code.locals.size(); ++i) {
    if (code.locals[i].kind != LocalKind::Free) continue;
    locals[i] = function->closure[next++];
  }
  return true;
}

Value InstructionTranslator::callUserFunction(UserFunctionVariable* function,
                                              CallArguments& arguments) {
  // Here and not in its frame, which no resume function could enter.
  if (function->code->flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    throw GraphBreak(GraphBreakKind::Coroutine, printable(function->code->name));
  }
  refuseSkipped(*function);
  if (writesMethods(function->globals->existing(), function->code->name)) {
    throw GraphBreak(GraphBreakKind::SkippedFunction, printable(function->code->qualifiedName),
                     "The methods of a dataclass are written as text, which is executed.");
  }
  // Its frame cannot go on in generated code, which would need the globals.
  if (!function->globals->existing()) {
    if (function->code->flags & CO_GENERATOR) {
      throw GraphBreak(GraphBreakKind::UnsupportedGlobals, printable(function->code->name));
    }
    arguments.tail = false;
  }
  if (isOfStandIns(function->globals->existing())) arguments.tail = false;
  Frame* caller = frame_;
  Frame* frame = pushFrame(function->code, function->globals, function);
  if (!bindArguments(function, arguments, *frame)) {
    popFrame();
    return Value();
  }
  // What a frame calls when it returns takes its place, and must be a place to which the trace can
  // go back as the return is.
  const Code& code = *function->code;
  bool isPlace = !code.readsOwnFrame && !(code.flags & CO_GENERATOR);
  bool returns = caller->instruction().opcode == Opcode::RETURN_VALUE;
  frame->pushedByInstruction = arguments.tail && (isPlace || !returns);
  frame->callersResumable =
      frame->pushedByInstruction && caller->callersResumable && !code.readsOwnFrame;
  if (frame->pushedByInstruction) return Value::framePushed();
  RecursionGuard guard(*this);
  return run(frame);
}

void InstructionTranslator::onReturn(Continuation continuation) {
  frame_->continuations.push_back(std::move(continuation));
}

// --- The instructions.

namespace {

// Does the evaluation loop itself push the frame, and give it the arguments? C code keeps them.
bool takesArguments(Translator& translator, Value callable) {
  translator.realize(callable);
  if (auto* method = trackerOf<BoundMethodVariable>(callable)) {
    callable = translator.realized(method->function);
  }
  return trackerOf<UserFunctionVariable>(callable);
}

}  // namespace

bool InstructionTranslator::finishCall(Frame& frame, Value result, int32_t operandCount,
                                       int32_t movedCount, bool& pushed) {
  if (!result) return false;
  if (result.isFramePushed()) {
    frame_->operandCount = movedCount;
    pushed = true;
    return true;
  }
  frame.drop(operandCount);
  frame.push(std::move(result));
  return true;
}

bool InstructionTranslator::callInstruction(Frame& frame, const Instruction& instruction,
                                            bool& pushed) {
  int32_t count = instruction.argument;
  const Value& first = frame.peek(count + 2);
  bool isMethod = static_cast<bool>(first);
  CallArguments arguments;
  for (int32_t i = count + isMethod; i > 0; --i) arguments.values.push_back(frame.peek(i));
  if (instruction.names >= 0) {
    arguments.keywordNames = frame.code->constants[instruction.names].get();
  }
  arguments.tail = true;
  Value callable = isMethod ? first : frame.peek(count + 1);
  Value result = call(*this, callable, arguments);
  bool moves = result.isFramePushed() && takesArguments(*this, callable);
  return finishCall(frame, std::move(result), count + 2, moves ? count + 2 : 0, pushed);
}

bool InstructionTranslator::callFunctionEx(Frame& frame, const Instruction& instruction,
                                           bool& pushed) {
  bool hasKeywords = instruction.argument & 1;
  Value callable = frame.peek(hasKeywords ? 3 : 2);
  CallArguments arguments;
  Value& positional = frame.peek(hasKeywords ? 2 : 1);
  realizeOperand(frame, hasKeywords ? 2 : 1);
  PyTypeObject* type = typeOf(positional);
  if (!heap.hasSpecial(type, cpython::SpecialSlot::Iter) &&
      !heap.hasSpecial(type, cpython::SpecialSlot::Item)) {
    throw GraphBreak(GraphBreakKind::UnpackedNotIterable, describe(positional));
  }
  if (stepsInPython(positional)) {
    Value keywords = Value::none();
    if (hasKeywords) {
      realizeOperand(frame, 1);
      keywords = frame.peek(1);
      if (!trackerOf<DictVariable>(keywords)) {
        throw GraphBreak(GraphBreakKind::UnpackedNotDict, describe(keywords));
      }
    }
    Value result = gatherItems(*this, positional, true);
    result = then(*this, std::move(result),
                  {OnReturn::CallStarred, {callable, std::move(keywords)}}, true);
    return finishCall(frame, std::move(result), hasKeywords ? 4 : 3, 0, pushed);
  }
  if (!collectInto(*this, positional, arguments.values)) return false;
  Ref<> names;
  if (hasKeywords) {
    realizeOperand(frame, 1);
    Ref<> list = checked(PyList_New(0));
    auto* dict = trackerOf<DictVariable>(frame.peek(1));
    if (!dict) {
      throw GraphBreak(GraphBreakKind::UnpackedNotDict, describe(frame.peek(1)));
    }
    dict->forEach(*this, [&](const OrderedValueMap::Entry& entry) {
      if (!entry.key.isConstant() || !PyUnicode_CheckExact(entry.key.object())) {
        throw GraphBreak(GraphBreakKind::KeywordNotString, describe(entry.key));
      }
      checked(PyList_Append(list.get(), entry.key.object()));
      arguments.values.push_back(entry.value);
    });
    names = checked(PyList_AsTuple(list.get()));
    arguments.keywordNames = names.get();
  }
  arguments.tail = true;
  if (typeOf(positional) == &PyTuple_Type) arguments.tuple = positional;
  Value result = call(*this, callable, arguments);
  bool moves = result.isFramePushed() && frame_->continuations.empty();
  int32_t count = hasKeywords ? 4 : 3;
  return finishCall(frame, std::move(result), count, moves ? count : 0, pushed);
}

bool InstructionTranslator::makeFunction(Frame& frame, const Instruction& instruction) {
  // What comes from the stack of an entry point is data, and may be anything.
  auto refuse = [&]() {
    throw GraphBreak(GraphBreakKind::UnsupportedInstruction, "MAKE_FUNCTION");
  };
  PyObject* object = realized(frame.peek(1)).objectOrNull();
  if (!object || !PyCode_Check(object)) refuse();
  CodePtr code = lift(reinterpret_cast<PyCodeObject*>(object));
  if (!code) {
    raiseFromPython();
    return false;
  }
  // What goes on behind a break in its frame has the builtins that are chosen now.
  if (frame.globals->existing()) builtinsNamedBy(frame.globals);
  auto* function = make<UserFunctionVariable>(std::move(code), frame.globals);
  function->builtins = frame.function ? frame.function->builtins : nullptr;
  int32_t next = 2;
  if (instruction.argument & 0x08) {
    ValueVector cells;
    if (!iterateInto(*this, frame.peek(next++), cells)) return false;
    for (const Value& cell : cells) {
      auto* variable = trackerOf<NewCellVariable>(cell);
      if (!variable) refuse();
      function->closure.push_back(variable);
    }
  }
  if (instruction.argument & 0x04) function->annotations = frame.peek(next++);
  if (instruction.argument & 0x02) function->keywordDefaults = frame.peek(next++);
  if (instruction.argument & 0x01) function->defaults = frame.peek(next++);
  frame.drop(next - 1);
  frame.push(function);
  return true;
}

}  // namespace armature
