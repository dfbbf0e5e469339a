#include "variables/constants/text_codecs.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <string>

#include "core/text.h"
#include "cpython/c_functions.h"
#include "cpython/type_lookup.h"
#include "variables/translator.h"

namespace armature {

namespace {

// Is it called with the object first, or is it bound to that?
enum class Conversion : uint8_t { None, OfFirst, OfSelf };

Conversion conversion(PyObject* callable) {
  static PyObject* const encode = cpython::ownAttribute(&PyUnicode_Type, "encode");
  static PyObject* const decode = cpython::ownAttribute(&PyBytes_Type, "decode");
  bool isType = callable == reinterpret_cast<PyObject*>(&PyUnicode_Type) ||
                callable == reinterpret_cast<PyObject*>(&PyBytes_Type);
  if (isType || callable == encode || callable == decode) return Conversion::OfFirst;
  bool isBound = cpython::isBoundFrom(callable, encode) || cpython::isBoundFrom(callable, decode);
  return isBound ? Conversion::OfSelf : Conversion::None;
}

// Encodings whose errors CPython handles by itself, as long as it knows the handler.
constexpr llvm::StringLiteral kWithHandlers[] = {"utf-8",   "utf8",       "ascii",     "us-ascii",
                                                 "latin-1", "iso-8859-1", "iso8859-1", "latin1"};
constexpr llvm::StringLiteral kHandlers[] = {
    "strict",        "ignore",           "replace",          "surrogateescape",
    "surrogatepass", "backslashreplace", "xmlcharrefreplace"};
constexpr llvm::StringLiteral kStrict[] = {"utf-16", "utf16", "utf-32", "utf32"};

// As _Py_normalize_encoding() does, nearly.
std::string normalized(PyObject* encoding) {
  std::string text = llvm::StringRef(printable(encoding)).lower();
  std::ranges::replace(text, '_', '-');
  return text;
}

}  // namespace

bool asksCodecRegistry(PyObject* callable, const CallArguments& arguments) {
  Conversion kind = conversion(callable);
  if (kind == Conversion::None) return false;
  auto given = [&](size_t position, const char* name) -> PyObject* {
    position += kind == Conversion::OfFirst;
    const Value* value = position < arguments.positionalCount() ? &arguments.values[position]
                                                                : arguments.keyword(name);
    bool isText = value && value->isConstant() && PyUnicode_Check(value->object());
    return isText ? value->object() : nullptr;
  };
  PyObject* encoding = given(0, "encoding");
  PyObject* errors = given(1, "errors");
  std::string name = encoding ? normalized(encoding) : "utf-8";
  std::string handler = errors ? printable(errors) : "strict";
  if (llvm::is_contained(kWithHandlers, name)) return !llvm::is_contained(kHandlers, handler);
  return !llvm::is_contained(kStrict, name) || handler != "strict";
}

}  // namespace armature
