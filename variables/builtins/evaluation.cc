// eval() of a text that is known while tracing.
#include <cstring>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

[[noreturn]] void refuse(const char* why) {
  throw GraphBreak(GraphBreakKind::UnsupportedBuiltin, "eval()", why);
}

// Null where CPython has an error or a warning for the text, which are for the call to tell. The
// filters of warnings are the program's own list, in which nothing else looks meanwhile.
Ref<> compileQuietly(const char* text) {
  Ref<> module = checked(cpython::importModule("warnings"));
  Ref<> filters = Ref<>::steal(PyObject_GetAttrString(module.get(), "filters"));
  if (!filters || !PyList_CheckExact(filters.get())) {
    clearException();
    return nullptr;
  }
  Ref<> raises = checked(Py_BuildValue("sOOOi", "error", Py_None, PyExc_Warning, Py_None, 0));
  if (PyList_Insert(filters.get(), 0, raises.get()) < 0) throw PendingPythonException();
  Ref<> code = Ref<>::steal(Py_CompileString(text, "<string>", Py_eval_input));
  if (!code) clearException();
  if (PyList_SetSlice(filters.get(), 0, 1, nullptr) < 0) throw PendingPythonException();
  return code;
}

// eval(text, globals), with globals that the trace has made: those that exist are read by the
// functions that have them, of which Python knows.
Value eval(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.keywordCount() || arguments.values.size() != 2) {
    refuse("The local variables that the text may name live in the trace, not in a dict.");
  }
  Value given = translator.realized(arguments.values[0]);
  PyObject* object = given.objectOrNull();
  if (!object || !PyUnicode_CheckExact(object)) {
    refuse("The text of an expression is not known to be the same at the next call.");
  }
  Value globalsValue = translator.realized(arguments.values[1]);
  auto* globals = trackerOf<DictVariable>(globalsValue);
  if (!globals || globals->existing() || globals->owner() || globals->type() != &PyDict_Type) {
    refuse("The globals are no dict that the compiled function has made.");
  }
  static PyObject* const name = staticName("__builtins__");
  Value builtinsValue = globals->get(translator, name);
  if (builtinsValue) translator.realize(builtinsValue);
  auto* builtins = trackerOf<DictVariable>(builtinsValue);
  bool isKnown = builtins && !builtins->existing() && builtins->type() == &PyDict_Type;
  if (!isKnown) refuse("The globals name no __builtins__ that the compiled function has made.");

  // Leading blanks are no indentation of an expression.
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (!text || std::strlen(text) != static_cast<size_t>(size)) {
    clearException();
    refuse("The text is no expression.");
  }
  while (*text == ' ' || *text == '\t') ++text;
  Ref<> code = compileQuietly(text);
  CodePtr lifted = code ? lift(reinterpret_cast<PyCodeObject*>(code.get())) : nullptr;
  if (!lifted) {
    clearException();
    refuse("CPython has an error or a warning for the text.");
  }
  auto* function = translator.make<UserFunctionVariable>(std::move(lifted), globals);
  function->builtins = builtins;
  return translator.runBody(function, globals);
}

void registerEvaluation() { registerFunctionHandler("builtins", "eval", eval); }
ARMATURE_REGISTER_HANDLERS(registerEvaluation);

}  // namespace

}  // namespace armature
