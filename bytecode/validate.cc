#include "bytecode/validate.h"

#include <algorithm>

namespace armature {
namespace {

// More than any code has; keeps arithmetic far from overflow.
constexpr int32_t maximum = 1 << 24;

class Validator {
 public:
  explicit Validator(const Code& code) : code_(code) {}

  std::string run() {
    checkShape();
    if (error_.empty()) checkRegions();
    for (size_t i = 0; i < code_.instructions.size() && error_.empty(); ++i) checkInstruction(i);
    if (error_.empty() && code_.isGenerator() != hasReturnGenerator_) {
      error_ = "RETURN_GENERATOR and the flags for generators go together";
    }
    return error_;
  }

 private:
  void require(bool condition, const char* message) {
    if (!condition && error_.empty()) error_ = message;
  }

  static bool isString(BorrowedRef<> object) { return object && PyUnicode_Check(object.get()); }

  void checkShape() {
    require(code_.positions.size() == code_.instructions.size(),
            "there must be one position for each instruction");
    require(code_.argumentCount >= 0 && code_.keywordOnlyCount >= 0 &&
                code_.positionalOnlyCount >= 0 && code_.positionalOnlyCount <= code_.argumentCount,
            "the counts of arguments are inconsistent");
    require(code_.flags >= 0, "the flags are negative");
    require(std::max({code_.instructions.size(), code_.constants.size(), code_.names.size(),
                      code_.locals.size()}) <= maximum,
            "the code is too large");
    require(static_cast<int64_t>(code_.argumentCount) + code_.keywordOnlyCount +
                    code_.hasVarPositional() + code_.hasVarKeyword() <=
                static_cast<int64_t>(code_.locals.size()),
            "there are fewer locals than arguments");
    require(isString(code_.name) && isString(code_.qualifiedName) && isString(code_.filename),
            "name, qualified name and file name must be strings");
    for (const Ref<>& name : code_.names) require(isString(name), "names must be strings");
    for (const Ref<>& constant : code_.constants) require(bool(constant), "a constant is null");
    for (size_t i = 0; i < code_.locals.size() && error_.empty(); ++i) {
      const LocalVariable& local = code_.locals[i];
      require(isString(local.name), "names of locals must be strings");
      require(local.kind != LocalKind::Free || static_cast<int32_t>(i) >= code_.boundCount(),
              "an argument cannot be a free variable");
      freeCount_ += local.kind == LocalKind::Free;
    }
  }

  void checkRegions() {
    const auto size = static_cast<int32_t>(code_.instructions.size());
    int32_t end = 0;
    for (const ExceptionRegion& region : code_.regions) {
      require(region.start >= end && region.end > region.start && region.end <= size,
              "exception regions must be sorted, disjoint and within the code");
      require(region.target >= 0 && region.target < size, "an exception region has no handler");
      require(region.depth >= 0 && region.depth <= maximum, "an exception region is too deep");
      end = region.end;
    }
  }

  void checkInstruction(size_t index) {
    const Instruction& instruction = code_.instructions[index];
    const char* problem = findProblem(instruction);
    if (problem == nullptr) return;
    error_ = "instruction " + std::to_string(index) + " (" +
             std::string(opcodeName(instruction.opcode)) + ") " + problem;
  }

  const char* findProblem(const Instruction& instruction) {
    const int32_t argument = instruction.argument;
    if (argument < 0) return "has a negative argument";
    switch (argumentKind(instruction.opcode)) {
      case ArgumentKind::None:
        if (argument != 0) return "takes no argument";
        break;
      case ArgumentKind::Const:
        if (!within(argument, code_.constants)) return "names no constant";
        break;
      case ArgumentKind::Name:
        if (!within(argument, code_.names)) return "names no name";
        break;
      case ArgumentKind::Local:
        if (!within(argument, code_.locals)) return "names no local";
        break;
      case ArgumentKind::Label:
        if (!within(argument, code_.instructions)) return "jumps to no instruction";
        break;
      case ArgumentKind::Int:
        if (!isMeaningful(instruction.opcode, argument)) return "has a meaningless argument";
        break;
    }
    if (instruction.opcode == Opcode::RETURN_GENERATOR) hasReturnGenerator_ = true;
    if (instruction.opcode == Opcode::YIELD_VALUE && !code_.isGenerator()) {
      return "outside of a generator";
    }
    return checkKeywordNames(instruction);
  }

  template <class T>
  static bool within(int32_t index, const std::vector<T>& items) {
    return static_cast<size_t>(index) < items.size();
  }

  bool isMeaningful(Opcode opcode, int32_t argument) const {
    switch (opcode) {
      case Opcode::COPY:
      case Opcode::SWAP:
      case Opcode::LIST_APPEND:
      case Opcode::LIST_EXTEND:
      case Opcode::SET_ADD:
      case Opcode::SET_UPDATE:
      case Opcode::MAP_ADD:
      case Opcode::DICT_UPDATE:
      case Opcode::DICT_MERGE:
        return argument >= 1;
      case Opcode::COPY_FREE_VARS:
        return argument == freeCount_;
      case Opcode::BINARY_OP:
        return argument <= 25;
      case Opcode::COMPARE_OP:
        return argument <= Py_GE;
      case Opcode::IS_OP:
      case Opcode::CONTAINS_OP:
      case Opcode::CALL_FUNCTION_EX:
        return argument <= 1;
      case Opcode::BUILD_SLICE:
        return argument == 2 || argument == 3;
      case Opcode::FORMAT_VALUE:
        return argument <= 7;
      case Opcode::MAKE_FUNCTION:
        return argument <= 15;
      case Opcode::GET_AWAITABLE:
      case Opcode::RAISE_VARARGS:
        return argument <= 2;
      default:
        return true;
    }
  }

  const char* checkKeywordNames(const Instruction& instruction) const {
    if (instruction.names == -1) return nullptr;
    if (instruction.opcode != Opcode::CALL) return "has keyword names, which only CALL takes";
    if (instruction.names < 0 || !within(instruction.names, code_.constants)) {
      return "has keyword names that are no constant";
    }
    PyObject* names = code_.constants[instruction.names].get();
    if (!PyTuple_CheckExact(names) || PyTuple_GET_SIZE(names) > instruction.argument) {
      return "has keyword names that are no tuple, or longer than the arguments";
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      if (!isString(PyTuple_GET_ITEM(names, i))) return "has a keyword name that is no string";
    }
    return nullptr;
  }

  const Code& code_;
  std::string error_;
  int32_t freeCount_ = 0;
  bool hasReturnGenerator_ = false;
};

}  // namespace

std::string validate(const Code& code) { return Validator(code).run(); }

}  // namespace armature
