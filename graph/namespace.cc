#include "graph/namespace.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace armature {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLower(char c) { return c >= 'a' && c <= 'z'; }
bool isUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool isIdentifierPart(char c) { return isDigit(c) || isLower(c) || isUpper(c) || c == '_'; }

// Runs of other characters become one underscore; a digit in front gets one.
std::string makeIdentifier(std::string_view text) {
  std::string result;
  result.reserve(text.size() + 1);
  bool replaced = false;
  for (char c : text) {
    if (isIdentifierPart(c)) {
      result += c;
      replaced = false;
    } else if (!replaced) {
      result += '_';
      replaced = true;
    }
  }
  if (result.empty()) return "_unnamed";
  if (isDigit(result[0])) result.insert(result.begin(), '_');
  return result;
}

// Where "_12" starts in "name_12"; the length of the name if it has no number.
size_t numberSuffix(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && isDigit(name[digits - 1])) --digits;
  bool hasNumber = digits < name.size() && digits >= 2 && name[digits - 1] == '_';
  return hasNumber ? digits - 1 : name.size();
}

constexpr std::array<std::string_view, 42> kReserved = {
    // keywords
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
    // what FX's generated code has among its globals
    "inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"};

}  // namespace

Namespace::Namespace() {
  PyObject* builtins = PyImport_AddModule("builtins");
  builtins_ = builtins ? PyModule_GetDict(builtins) : nullptr;
}

bool Namespace::isReserved(const std::string& name) const {
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) return true;
  return builtins_ && PyDict_GetItemString(builtins_, name.c_str()) != nullptr;
}

std::string Namespace::createName(std::string_view candidate) {
  std::string name = makeIdentifier(candidate);
  size_t suffix = numberSuffix(name);
  std::string base = name.substr(0, suffix);
  int64_t number;
  bool isUsed = used_.contains(name);
  if (suffix == name.size() || isUsed) {
    number = numbers_.lookup(base);
    if (!isUsed && isReserved(name)) name = base + "_" + std::to_string(++number);
  } else {
    number = std::strtoll(name.c_str() + suffix + 1, nullptr, 10);
  }
  while (!used_.insert(name).second) name = base + "_" + std::to_string(++number);
  numbers_[base] = number;
  return name;
}

std::string snakeCase(std::string_view text) {
  std::string result;
  result.reserve(text.size() + 4);
  char previous = 0;
  for (char c : text) {
    if (isUpper(c)) {
      if (isLower(previous)) result += '_';
      result += static_cast<char>(c - 'A' + 'a');
    } else {
      result += c;
    }
    previous = c;
  }
  return result;
}

}  // namespace armature
