#include "variables/protocol/operator_methods.h"

#include <string>

namespace armature {

namespace {

PyObject* special(const char* prefix, const char* name) {
  return PyUnicode_InternFromString((std::string("__") + prefix + name + "__").c_str());
}

}  // namespace

const OperatorMethods& operatorMethods() {
  static const OperatorMethods methods = [] {
    constexpr const char* kNames[] = {"add", "and", "floordiv", "lshift", "matmul",  "mul", "mod",
                                      "or",  "pow", "rshift",   "sub",    "truediv", "xor"};
    static_assert(std::size(kNames) == nb_inplace_add);
    OperatorMethods result;
    for (int i = 0; i < nb_inplace_add; ++i) {
      result.plain[i] = special("", kNames[i]);
      result.reflected[i] = special("r", kNames[i]);
      result.inPlace[i] = special("i", kNames[i]);
    }
    return result;
  }();
  return methods;
}

const char* operatorSymbol(NumberSlot slot) {
  // In-place ones with "=".
  static constexpr const char* kSymbols[] = {
      "+",  "&",  "//",  "<<",  "@",  "*",  "%",  "|",  "** or pow()", ">>",  "-",  "/",  "^",
      "+=", "&=", "//=", "<<=", "@=", "*=", "%=", "|=", "**=",         ">>=", "-=", "/=", "^="};
  return kSymbols[slot];
}

PyObject* unaryMethod(UnarySlot slot) {
  static PyObject* const methods[] = {special("", "neg"), special("", "pos"), special("", "invert"),
                                      special("", "abs")};
  return methods[static_cast<int>(slot)];
}

PyObject* compareMethod(int op) {
  static PyObject* const methods[] = {special("", "lt"), special("", "le"), special("", "eq"),
                                      special("", "ne"), special("", "gt"), special("", "ge")};
  return methods[op];
}

}  // namespace armature
