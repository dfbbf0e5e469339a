// getattr, setattr, hasattr, delattr, type, isinstance, issubclass, callable.
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// The name argument as an interned str; null with the TypeError pending.
PyObject* readName(Translator& translator, Value name, Ref<>& owner) {
  translator.realize(name);
  PyObject* object = name.objectOrNull();
  if (!object || !PyUnicode_Check(object)) {
    translator.raise(PyExc_TypeError, "attribute name must be string, not '%.200s'",
                     typeOf(name)->tp_name);
    return nullptr;
  }
  PyObject* interned = object;
  Py_INCREF(interned);
  PyUnicode_InternInPlace(&interned);
  owner = Ref<>::steal(interned);
  return interned;
}

Value getattr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "getattr", arguments, 2, 3)) return Value();
  Ref<> owner;
  PyObject* name = readName(translator, arguments.values[1], owner);
  if (!name) return Value();
  if (arguments.values.size() == 2) return getAttribute(translator, arguments.values[0], name);
  Value result = getOptionalAttribute(translator, arguments.values[0], name);
  return result || translator.exceptionPending() ? result : arguments.values[2];
}

Value hasattr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "hasattr", arguments, 2, 2)) return Value();
  Ref<> owner;
  PyObject* name = readName(translator, arguments.values[1], owner);
  if (!name) return Value();
  Value result = getOptionalAttribute(translator, arguments.values[0], name);
  return translator.exceptionPending() ? Value() : Value::boolean(static_cast<bool>(result));
}

Value setattr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "setattr", arguments, 3, 3)) return Value();
  Ref<> owner;
  PyObject* name = readName(translator, arguments.values[1], owner);
  if (!name) return Value();
  bool ok = setAttribute(translator, arguments.values[0], name, arguments.values[2]);
  return ok ? Value::none() : Value();
}

Value delattr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "delattr", arguments, 2, 2)) return Value();
  Ref<> owner;
  PyObject* name = readName(translator, arguments.values[1], owner);
  if (!name) return Value();
  bool ok = setAttribute(translator, arguments.values[0], name, Value());
  return ok ? Value::none() : Value();
}

Value type(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.values.size() == 1 && !arguments.keywordCount()) {
    return typeValue(translator, translator.realized(arguments.values[0]));
  }
  throw GraphBreak(GraphBreakKind::ClassMadeWhileTracing, "type(name, bases, namespace)");
}

Value isinstance(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "isinstance", arguments, 2, 2)) return Value();
  int result = isInstance(translator, arguments.values[0], arguments.values[1]);
  return result < 0 ? Value() : Value::boolean(result);
}

Value issubclass(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "issubclass", arguments, 2, 2)) return Value();
  int result = isSubclass(translator, arguments.values[0], arguments.values[1]);
  return result < 0 ? Value() : Value::boolean(result);
}

// The type decides alone: callable() looks at tp_call.
Value callable(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "callable", arguments, 1, 1)) return Value();
  return Value::boolean(typeOf(translator.realized(arguments.values[0]))->tp_call != nullptr);
}

void registerAll() {
  registerFunctionHandler("builtins", "getattr", getattr);
  registerFunctionHandler("builtins", "hasattr", hasattr);
  registerFunctionHandler("builtins", "setattr", setattr);
  registerFunctionHandler("builtins", "delattr", delattr);
  registerFunctionHandler("builtins", "type", type);
  registerFunctionHandler("builtins", "isinstance", isinstance);
  registerFunctionHandler("builtins", "issubclass", issubclass);
  registerFunctionHandler("builtins", "callable", callable);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
