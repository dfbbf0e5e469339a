#include "core/text.h"

#include "core/pending_python_exception.h"

namespace armature {

std::string printable(BorrowedRef<> string) {
  if (!string || !PyUnicode_Check(string.get())) return "?";
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  std::string text = "?";
  Py_ssize_t size = 0;
  if (const char* data = PyUnicode_AsUTF8AndSize(string, &size)) {
    text.assign(data, static_cast<size_t>(size));
  } else {
    clearException();  // Surrogates have no UTF-8.
    Ref<> escaped = Ref<>::steal(PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace"));
    if (escaped) {
      text.assign(PyBytes_AS_STRING(escaped.get()),
                  static_cast<size_t>(PyBytes_GET_SIZE(escaped.get())));
    }
  }
  PyErr_Restore(type, value, traceback);
  return text;
}

std::string shortened(std::string text, size_t size) {
  if (text.size() <= size) return text;
  auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
  while (size > 0 && continues(text[size])) --size;
  text.resize(size);
  return text + "...";
}

}  // namespace armature
