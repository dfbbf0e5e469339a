// CPython 3.11.
#include "bytecode/native.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

#include <array>
#include <string_view>

#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE

namespace armature::native {
namespace {

enum Native : uint8_t {
#define NATIVE(name, number, caches, jump) NATIVE_##name = (number),
#include "bytecode/cpython_311.def"
};

constexpr std::array<NativeOpcode, 256> descriptions = [] {
  std::array<NativeOpcode, 256> result;
#define NATIVE(name, number, caches, jump) \
  result[number] = {true, caches, NativeOpcode::Jump::jump};
#include "bytecode/cpython_311.def"
  return result;
}();

// The opcodes that have the same name here and there mean the same, LOAD_GLOBAL and CALL apart.
constexpr int16_t different = -1;

constexpr std::string_view canonicalNames[] = {
#define OPCODE(name, kind) #name,
#include "bytecode/opcodes.def"
};

constexpr int16_t canonicalNamed(std::string_view name) {
  int16_t index = 0;
  for (std::string_view candidate : canonicalNames) {
    if (candidate == name) return index;
    ++index;
  }
  return different;
}

constexpr std::array<int16_t, 256> sameCanonical = [] {
  std::array<int16_t, 256> result;
  result.fill(different);
#define NATIVE(name, number, caches, jump) result[number] = canonicalNamed(#name);
#include "bytecode/cpython_311.def"
  return result;
}();

constexpr std::array<int16_t, std::size(canonicalNames)> sameNative = [] {
  std::array<int16_t, std::size(canonicalNames)> result;
  result.fill(different);
  for (int16_t number = 0; number < 256; ++number) {
    if (sameCanonical[number] != different) result[sameCanonical[number]] = number;
  }
  return result;
}();

struct JumpForms {
  Opcode canonical;
  Native forward;
  Native backward;
};

constexpr JumpForms jumpForms[] = {
    {Opcode::JUMP, NATIVE_JUMP_FORWARD, NATIVE_JUMP_BACKWARD},
    {Opcode::POP_JUMP_IF_TRUE, NATIVE_POP_JUMP_FORWARD_IF_TRUE, NATIVE_POP_JUMP_BACKWARD_IF_TRUE},
    {Opcode::POP_JUMP_IF_FALSE, NATIVE_POP_JUMP_FORWARD_IF_FALSE,
     NATIVE_POP_JUMP_BACKWARD_IF_FALSE},
    {Opcode::POP_JUMP_IF_NONE, NATIVE_POP_JUMP_FORWARD_IF_NONE, NATIVE_POP_JUMP_BACKWARD_IF_NONE},
    {Opcode::POP_JUMP_IF_NOT_NONE, NATIVE_POP_JUMP_FORWARD_IF_NOT_NONE,
     NATIVE_POP_JUMP_BACKWARD_IF_NOT_NONE},
};

// LOAD_GLOBAL's lowest bit asks for a NULL below the value.
constexpr uint32_t pushesNull = 1;

class Canonicalizer {
 public:
  Canonicalizer(const std::vector<NativeInstruction>& natives,
                const std::vector<Position>& positions, const std::vector<bool>& isTarget,
                std::vector<Instruction>& instructions, std::vector<int32_t>& origin)
      : natives_(natives),
        positions_(positions),
        isTarget_(isTarget),
        instructions_(instructions),
        origin_(origin) {}

  bool run() {
    instructions_.reserve(natives_.size() + natives_.size() / 8);
    origin_.reserve(natives_.size() + natives_.size() / 8);
    for (at_ = 0; at_ < natives_.size(); ++at_) {
      if (!step(natives_[at_])) return false;
    }
    return true;
  }

 private:
  void emit(Opcode opcode, uint32_t argument, int32_t names = -1) {
    if (argumentKind(opcode) == ArgumentKind::None) argument = 0;
    instructions_.push_back({opcode, static_cast<int32_t>(argument), names});
    origin_.push_back(static_cast<int32_t>(at_));
  }

  bool step(const NativeInstruction& native) {
    switch (native.opcode) {
      case NATIVE_LOAD_GLOBAL:
        if ((native.argument & pushesNull) != 0) emit(Opcode::PUSH_NULL, 0);
        emit(Opcode::LOAD_GLOBAL, native.argument >> 1);
        return true;
      case NATIVE_PRECALL:  // unpacks bound methods ahead of CALL, which can do without
        return true;
      case NATIVE_KW_NAMES:
        return call();
      case NATIVE_JUMP_BACKWARD_NO_INTERRUPT:
        emit(Opcode::JUMP, native.argument);
        return true;
      default:
        break;
    }
    if (sameCanonical[native.opcode] != different) {
      emit(static_cast<Opcode>(sameCanonical[native.opcode]), native.argument);
      return true;
    }
    for (const JumpForms& forms : jumpForms) {
      if (native.opcode == forms.forward || native.opcode == forms.backward) {
        emit(forms.canonical, native.argument);
        return true;
      }
    }
    PyErr_Format(PyExc_ValueError, "instruction %zu has no canonical form", at_);
    return false;
  }

  // KW_NAMES, PRECALL, CALL. Where KW_NAMES has a position of its own, a NOP keeps it: a debugger
  // may stop at its line.
  bool call() {
    const size_t start = at_;
    size_t end = start + 1;
    while (end < natives_.size() && natives_[end].opcode == NATIVE_PRECALL && !isTarget_[end])
      ++end;
    if (end == natives_.size() || natives_[end].opcode != NATIVE_CALL || isTarget_[end]) {
      PyErr_Format(PyExc_ValueError, "KW_NAMES at instruction %zu belongs to no CALL", start);
      return false;
    }
    if (positions_[start] != positions_[end]) emit(Opcode::NOP, 0);
    at_ = end;
    emit(Opcode::CALL, natives_[end].argument, static_cast<int32_t>(natives_[start].argument));
    return true;
  }

  const std::vector<NativeInstruction>& natives_;
  const std::vector<Position>& positions_;
  const std::vector<bool>& isTarget_;
  std::vector<Instruction>& instructions_;
  std::vector<int32_t>& origin_;
  size_t at_ = 0;
};

class Nativizer {
 public:
  Nativizer(const Code& code, std::vector<NativeInstruction>& natives, std::vector<int32_t>& origin)
      : code_(code), natives_(natives), origin_(origin), startsBlock_(code.instructions.size()) {}

  bool run() {
    for (const Instruction& instruction : code_.instructions) {
      if (isJump(instruction.opcode)) startsBlock_[instruction.argument] = true;
    }
    for (const ExceptionRegion& region : code_.regions) {
      startsBlock_[region.target] = true;
      if (region.start < region.end) startsBlock_[region.start] = true;
      if (static_cast<size_t>(region.end) < startsBlock_.size()) startsBlock_[region.end] = true;
    }
    natives_.reserve(code_.instructions.size() * 5 / 4);
    origin_.reserve(code_.instructions.size() * 5 / 4);
    for (at_ = 0; at_ < code_.instructions.size(); ++at_) {
      if (!step(code_.instructions[at_])) return false;
    }
    return true;
  }

 private:
  void emit(uint8_t opcode, uint32_t argument) {
    natives_.push_back({opcode, argument});
    origin_.push_back(static_cast<int32_t>(at_));
  }

  // True if the next instruction is always run right after this one, by the same source line.
  bool nextFollows() const { return at_ + 1 < code_.instructions.size() && !startsBlock_[at_ + 1]; }

  bool step(const Instruction& instruction) {
    const auto argument = static_cast<uint32_t>(instruction.argument);
    switch (instruction.opcode) {
      case Opcode::PUSH_NULL:
        if (nextFollows() && code_.instructions[at_ + 1].opcode == Opcode::LOAD_GLOBAL &&
            code_.positions[at_] == code_.positions[at_ + 1]) {
          const auto name = static_cast<uint32_t>(code_.instructions[at_ + 1].argument);
          emit(NATIVE_LOAD_GLOBAL, name << 1 | pushesNull);
          ++at_;
          return true;
        }
        break;
      case Opcode::LOAD_GLOBAL:
        emit(NATIVE_LOAD_GLOBAL, argument << 1);
        return true;
      case Opcode::NOP:  // the other half of Canonicalizer::call
        if (nextFollows() && code_.instructions[at_ + 1].names != -1 &&
            code_.positions[at_] != code_.positions[at_ + 1]) {
          emit(NATIVE_KW_NAMES, static_cast<uint32_t>(code_.instructions[at_ + 1].names));
          ++at_;
          call(code_.instructions[at_].argument);
          return true;
        }
        break;
      case Opcode::CALL:
        if (instruction.names != -1) {
          emit(NATIVE_KW_NAMES, static_cast<uint32_t>(instruction.names));
        }
        call(argument);
        return true;
      default:
        break;
    }
    if (isJump(instruction.opcode)) return jump(instruction);
    emit(static_cast<uint8_t>(sameNative[static_cast<size_t>(instruction.opcode)]), argument);
    return true;
  }

  void call(uint32_t argument) {
    emit(NATIVE_PRECALL, argument);
    emit(NATIVE_CALL, argument);
  }

  bool jump(const Instruction& instruction) {
    const auto target = static_cast<uint32_t>(instruction.argument);
    const bool backward = target <= at_;
    for (const JumpForms& forms : jumpForms) {
      if (instruction.opcode != forms.canonical) continue;
      // The loop of `yield from` and `await`: an interrupt belongs to the innermost generator, so
      // the outer ones must not look for it.
      const bool delegates =
          instruction.opcode == Opcode::JUMP && code_.instructions[target].opcode == Opcode::SEND;
      const Native back = delegates ? NATIVE_JUMP_BACKWARD_NO_INTERRUPT : forms.backward;
      emit(backward ? back : forms.forward, target);
      return true;
    }
    if (backward) {
      PyErr_Format(PyExc_ValueError, "instruction %zu (%s) cannot jump backward", at_,
                   opcodeName(instruction.opcode).data());
      return false;
    }
    emit(static_cast<uint8_t>(sameNative[static_cast<size_t>(instruction.opcode)]), target);
    return true;
  }

  const Code& code_;
  std::vector<NativeInstruction>& natives_;
  std::vector<int32_t>& origin_;
  std::vector<bool> startsBlock_;
  size_t at_ = 0;
};

Ref<> tuple(const std::vector<Ref<>>& items) {
  auto result = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  if (!result) return nullptr;
  for (size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), Py_NewRef(items[i].get()));
  }
  return result;
}

// The constructor interns strings among the constants, and may put an equal object in the place of
// ours. Nobody else sees the tuple yet, so ours go back in.
void restoreIdentity(BorrowedRef<> constants, const std::vector<Ref<>>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    PyObject** slot = &PyTuple_GET_ITEM(constants.get(), static_cast<Py_ssize_t>(i));
    if (*slot != wanted[i].get()) Py_SETREF(*slot, Py_NewRef(wanted[i].get()));
  }
}

}  // namespace

const NativeOpcode& describe(uint8_t opcode) { return descriptions[opcode]; }

const uint8_t extendedArgument = 144;

bool toCanonical(const std::vector<NativeInstruction>& natives,
                 const std::vector<Position>& positions, const std::vector<bool>& isTarget,
                 std::vector<Instruction>& instructions, std::vector<int32_t>& origin) {
  return Canonicalizer(natives, positions, isTarget, instructions, origin).run();
}

bool toNative(const Code& code, std::vector<NativeInstruction>& natives,
              std::vector<int32_t>& origin) {
  return Nativizer(code, natives, origin).run();
}

Ref<PyCodeObject> makeCodeObject(const Code& code, const Encoding& encoding) {
  // Arguments that are cells are in both lists; CPython merges them by name.
  std::vector<Ref<>> plain, cells, free;
  for (int32_t i = 0; i < static_cast<int32_t>(code.locals.size()); ++i) {
    const LocalVariable& local = code.locals[i];
    if (local.kind == LocalKind::Local || i < code.boundCount()) plain.push_back(local.name);
    if (local.kind == LocalKind::Cell) cells.push_back(local.name);
    if (local.kind == LocalKind::Free) free.push_back(local.name);
  }
  const Ref<> constants = tuple(code.constants), names = tuple(code.names);
  const Ref<> plainNames = tuple(plain), cellNames = tuple(cells), freeNames = tuple(free);
  if (!constants || !names || !plainNames || !cellNames || !freeNames) return nullptr;
  auto result = Ref<PyCodeObject>::steal(PyCode_NewWithPosOnlyArgs(
      code.argumentCount, code.positionalOnlyCount, code.keywordOnlyCount,
      static_cast<int>(plain.size()), encoding.stackSize, code.flags, encoding.code.get(),
      constants.get(), names.get(), plainNames.get(), freeNames.get(), cellNames.get(),
      code.filename.get(), code.name.get(), code.qualifiedName.get(), code.firstLine,
      encoding.locationTable.get(), encoding.exceptionTable.get()));
  if (result) restoreIdentity(result->co_consts, code.constants);
  return result;
}

size_t unitCount(BorrowedRef<PyCodeObject> code) {
  return static_cast<size_t>(Py_SIZE(code.get()));
}

void reserveSlots(BorrowedRef<PyCodeObject> made, BorrowedRef<PyCodeObject> other) {
  int missing = other->co_nlocalsplus - (made->co_nlocalsplus + made->co_stacksize);
  if (missing > 0) made->co_stacksize += missing;
}

BorrowedRef<PyCodeObject> runningCode() {
  _PyInterpreterFrame* frame = PyThreadState_Get()->cframe->current_frame;
  while (frame && _PyFrame_IsIncomplete(frame)) frame = frame->previous;
  return frame ? frame->f_code : nullptr;
}

bool CodeExtra::reserve() {
  if (index_ < 0) index_ = _PyEval_RequestCodeExtraIndex(release_);
  if (index_ >= 0) return true;
  PyErr_SetString(PyExc_RuntimeError, "CPython has no room left for another user of code objects");
  return false;
}

bool CodeExtra::get(BorrowedRef<PyCodeObject> code, void** extra) {
  return reserve() && _PyCode_GetExtra(reinterpret_cast<PyObject*>(code.get()), index_, extra) == 0;
}

bool CodeExtra::set(BorrowedRef<PyCodeObject> code, void* extra) {
  return reserve() && _PyCode_SetExtra(reinterpret_cast<PyObject*>(code.get()), index_, extra) == 0;
}

}  // namespace armature::native

#endif
