#include "graph/source_line.h"

namespace armature {

std::string sourceLine(const ProgramLocation& location) {
  Ref<> linecache = Ref<>::steal(PyImport_ImportModule("linecache"));
  Ref<> line;
  if (linecache) {
    line = Ref<>::steal(PyObject_CallMethod(linecache.get(), "getline", "Oi",
                                            location.code->co_filename, location.line));
  }
  if (line) line = Ref<>::steal(PyObject_CallMethod(line.get(), "strip", nullptr));
  const char* text = line && PyUnicode_Check(line.get()) ? PyUnicode_AsUTF8(line.get()) : nullptr;
  std::string result = text ? text : "";
  PyErr_Clear();
  return result;
}

std::string stackTrace(const ProgramLocation& location) {
  if (!location.code) return "";
  std::string result = "  File \"";
  result += PyUnicode_AsUTF8(location.code->co_filename);
  result += "\", line " + std::to_string(location.line) + ", in ";
  result += PyUnicode_AsUTF8(location.code->co_name);
  result += "\n";
  std::string line = sourceLine(location);
  if (!line.empty()) result += "    " + line + "\n";
  return result;
}

}  // namespace armature
