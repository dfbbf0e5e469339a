#include "engine/errors.h"

#include "core/describe.h"
#include "core/pending_python_exception.h"
#include "core/ref.h"

namespace armature::api {

Error takeError() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (!type) return internalError("no reason was given");
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback && value) PyException_SetTraceback(value, traceback);
  Py_XDECREF(traceback);
  Ref<> ownedType = Ref<>::steal(type);
  Error error{typeName(reinterpret_cast<PyTypeObject*>(type)), "", Object::steal(value)};
  Ref<> text = Ref<>::steal(value ? PyObject_Str(value) : nullptr);
  const char* message = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (message) error.message = message;
  clearException();
  return error;
}

Error internalError(const char* what) {
  return Error{"RuntimeError", std::string("armature: internal error: ") + what, Object()};
}

}  // namespace armature::api
