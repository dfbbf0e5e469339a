#include "graph/source_line.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"

namespace armature {

std::string sourceLine(const ProgramLocation& location) {
  Ref<> linecache = Ref<>::steal(cpython::importModule("linecache"));
  Ref<> line;
  if (linecache) {
    line = Ref<>::steal(PyObject_CallMethod(linecache.get(), "getline", "Oi",
                                            location.code->co_filename, location.line));
  }
  if (line) line = Ref<>::steal(PyObject_CallMethod(line.get(), "strip", nullptr));
  if (!line) clearException();  // A source that cannot be read has no text.
  std::string result = line ? printable(line) : "";
  return result;
}

std::string stackTrace(const ProgramLocation& location) {
  if (!location.code) return "";
  std::string result = "  File \"";
  result += printable(location.code->co_filename);
  result += "\", line " + std::to_string(location.line) + ", in ";
  result += printable(location.code->co_name);
  result += "\n";
  std::string line = sourceLine(location);
  if (!line.empty()) result += "    " + line + "\n";
  return result;
}

}  // namespace armature
