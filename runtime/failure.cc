#include "runtime/failure.h"

#include <exception>
#include <new>

#include "core/pending_python_exception.h"
#include "runtime/dict_builder.h"
#include "runtime/settings.h"

namespace armature {

namespace {

// Memory ran out, or something arrived from outside that is no error: an interrupt, an exit.
bool arrivedFromOutside() {
  return PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception);
}

// Takes the exception that is set.
std::string takeMessage() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref<> ownedType = Ref<>::steal(type), error = Ref<>::steal(value);
  Py_XDECREF(traceback);
  std::string message = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  if (Ref<> text = Ref<>::steal(PyObject_Str(error.get()))) message += ": " + textOf(text);
  clearException();
  return message;
}

}  // namespace

std::string textOf(BorrowedRef<> string) {
  Ref<> bytes = Ref<>::steal(PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace"));
  if (bytes) return PyBytes_AS_STRING(bytes.get());
  clearException();
  return "?";
}

Ref<> describe(const BreakReason& reason) {
  DictBuilder dict;
  dict.set("gb_type", reason.gbType);
  dict.set("context", reason.context);
  dict.set("explanation", reason.explanation);
  Ref<> hints = Ref<>::steal(PyList_New(0));
  for (const std::string& hint : reason.hints) {
    Ref<> text = DictBuilder::text(hint);
    if (!hints || !text || PyList_Append(hints.get(), text.get()) < 0) return nullptr;
  }
  dict.set("hints", std::move(hints));
  dict.set("filename", reason.filename);
  dict.set("function", reason.function);
  dict.set("line", Ref<>::steal(PyLong_FromLong(reason.line)));
  Ref<> stack = Ref<>::steal(PyList_New(0));
  for (const FrameLine& frame : reason.stack) {
    Ref<> row = Ref<>::steal(
        Py_BuildValue("(OiO)", frame.filename.get(), frame.line, frame.function.get()));
    if (!stack || !row || PyList_Append(stack.get(), row.get()) < 0) return nullptr;
  }
  dict.set("stack", std::move(stack));
  return dict.take();
}

void raiseUnsupported(const Hooks& hooks, const BreakReason& reason) {
  Ref<> fields = describe(reason);
  Ref<> make = hooks.unsupported;
  Ref<> exception;
  if (fields && make) {
    exception = Ref<>::steal(PyObject_CallOneArg(make.get(), fields.get()));
  }
  if (exception && PyExceptionInstance_Check(exception.get())) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  } else if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_RuntimeError, reason.explanation.c_str());
  }
  throw RaisedForUser();
}

void reportFailure(const Hooks& hooks, const Code& code, const std::string& message,
                   FailureKind kind) {
  reportFailure(hooks, reinterpret_cast<PyObject*>(code.original.get()), code.qualifiedName,
                message, kind);
}

void reportFailure(const Hooks& hooks, BorrowedRef<> code, BorrowedRef<> qualifiedName,
                   const std::string& message, FailureKind kind) {
  Ref<> hook = hooks.internalError;
  Ref<> text = DictBuilder::text(message);
  if (!hook || !text) return;
  PyObject* isError = kind == FailureKind::Error ? Py_True : Py_False;
  Ref<>::steal(PyObject_CallFunctionObjArgs(hook.get(), code.get(), qualifiedName.get(), text.get(),
                                            isError, nullptr));
}

bool isForUser(std::string& message) {
  try {
    throw;
  } catch (const RaisedForUser&) {
    return true;
  } catch (const PendingPythonException&) {
    message = "an unknown error";
  } catch (const std::bad_alloc&) {
    if (!PyErr_Occurred()) PyErr_NoMemory();
  } catch (const std::exception& error) {
    message = error.what();
  }
  if (!PyErr_Occurred()) return false;
  if (arrivedFromOutside()) return true;
  std::string raised = takeMessage();
  message =
      message.empty() || message == "an unknown error" ? raised : message + " (" + raised + ")";
  return false;
}

void setForPython() {
  std::string message;
  if (!isForUser(message)) PyErr_Format(PyExc_RuntimeError, "armature: %s", message.c_str());
}

}  // namespace armature
