// json: the scanner of _json.c, which reads texts that are known while tracing.
#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/library_calls.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"

namespace armature {

namespace {

PyTypeObject* scannerType() {
  static PyTypeObject* const type = [] {
    Ref<> module = checked(cpython::importModule("_json"));
    return reinterpret_cast<PyTypeObject*>(
        checked(PyObject_GetAttrString(module.get(), "make_scanner")).release());
  }();
  return type;
}

// What stands for the constants in a decoder that nobody has told what to do with them.
PyObject* usualConstants() {
  static PyObject* const constants = [] {
    Ref<> module = checked(cpython::importModule("json.decoder"));
    return checked(PyObject_GetAttrString(module.get(), "_CONSTANTS")).release();
  }();
  return constants;
}

// Does it call nothing of the program's? Its attributes cannot be set.
bool isPlain(PyObject* scanner) {
  auto is = [&](const char* name, PyObject* expected) {
    return checked(PyObject_GetAttrString(scanner, name)).get() == expected;
  };
  if (!is("object_hook", Py_None) || !is("object_pairs_hook", Py_None)) return false;
  if (!is("parse_float", reinterpret_cast<PyObject*>(&PyFloat_Type))) return false;
  if (!is("parse_int", reinterpret_cast<PyObject*>(&PyLong_Type))) return false;
  Ref<> constants = checked(PyObject_GetAttrString(scanner, "parse_constant"));
  return PyCFunction_Check(constants.get()) &&
         PyCFunction_GET_SELF(constants.get()) == usualConstants();
}

// scanner(text, place): the value that begins there, and where it ends.
Value scan(Translator& translator, const Value& self, CallArguments& arguments) {
  PyObject* scanner = self.isTracker() ? self.tracker()->existing() : self.objectOrNull();
  bool isKnown =
      scanner && isPlain(scanner) && !arguments.keywordCount() && arguments.values.size() == 2;
  for (Value& argument : arguments.values) {
    translator.realize(argument);
    isKnown = isKnown && argument.objectOrNull();
  }
  if (!isKnown) throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(self));
  guardObject(translator, self);
  PyObject* given[] = {arguments.values[0].object(), arguments.values[1].object()};
  Ref<> pair = Ref<>::steal(PyObject_Vectorcall(scanner, given, 2, nullptr));
  if (!pair) return translator.raiseFromPython();
  Value value = fromRealData(translator, PyTuple_GET_ITEM(pair.get(), 0));
  return translator.make<TupleVariable>(
      ValueVector{std::move(value), Value::constant(PyTuple_GET_ITEM(pair.get(), 1))});
}

void registerScanner() {
  auto* type = reinterpret_cast<PyObject*>(scannerType());
  registerObjectHandler(checked(PyObject_GetAttrString(type, "__call__")).release(), scan);
}
ARMATURE_REGISTER_HANDLERS(registerScanner);

}  // namespace

}  // namespace armature
