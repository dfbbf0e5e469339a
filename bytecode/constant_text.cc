#include "bytecode/constant_text.h"

#include <algorithm>
#include <vector>

namespace armature {
namespace {

constexpr size_t longestText = 200;

std::string joined(std::vector<std::string> parts, const char* open, const char* close) {
  std::string text = open;
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  return text + close;
}

std::string tupleText(BorrowedRef<> tuple) {
  std::vector<std::string> parts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    parts.push_back(constantText(PyTuple_GET_ITEM(tuple.get(), i)));
  }
  return joined(parts, "(", parts.size() == 1 ? ",)" : ")");
}

std::string frozensetText(BorrowedRef<> set) {
  std::vector<std::string> parts;
  const auto iterator = Ref<>::steal(PyObject_GetIter(set.get()));
  while (iterator) {
    const auto item = Ref<>::steal(PyIter_Next(iterator.get()));
    if (!item) break;
    parts.push_back(constantText(item));
  }
  std::sort(parts.begin(), parts.end());  // the order of a set of strings differs from run to run
  return joined(parts, "frozenset({", "})");
}

std::string shortened(std::string text) {
  if (text.size() <= longestText) return text;
  size_t end = longestText;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + "…";
}

}  // namespace

std::string utf8(BorrowedRef<> string) {
  const bool isString = string && PyUnicode_Check(string.get());
  const char* text = isString ? PyUnicode_AsUTF8(string.get()) : nullptr;
  if (text != nullptr) return text;
  PyErr_Clear();
  return "?";
}

std::string constantText(BorrowedRef<> constant) {
  PyObject* object = constant.get();
  if (object == nullptr) return "NULL";
  if (PyTuple_CheckExact(object)) return tupleText(object);
  if (PyFrozenSet_CheckExact(object)) return frozensetText(object);
  if (PyCode_Check(object)) {
    return "<code " + utf8(reinterpret_cast<PyCodeObject*>(object)->co_qualname) + ">";
  }
  const bool isPlain = object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
                       PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
                       PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
                       PyBytes_CheckExact(object);
  // Any other object's repr may run user code, and may differ from run to run.
  if (!isPlain) return std::string("<") + Py_TYPE(object)->tp_name + " object>";
  const auto text = Ref<>::steal(PyObject_Repr(object));
  if (!text) PyErr_Clear();  // an int of more digits than CPython converts
  return text ? shortened(utf8(text)) : std::string("<") + Py_TYPE(object)->tp_name + ">";
}

}  // namespace armature
