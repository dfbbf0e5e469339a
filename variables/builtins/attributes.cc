// getattr, setattr, hasattr, delattr, type, isinstance, issubclass, callable, id.
#include "core/checked.h"
#include "core/constant.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/address.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

Value getattr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "getattr", arguments, 2, 3)) return Value();
  Value name = readAttributeName(translator, arguments.values[1]);
  if (!name) return name;
  if (arguments.values.size() == 2)
    return getAttribute(translator, arguments.values[0], name.object(), arguments.tail);
  return then(translator,
              getAttribute(translator, arguments.values[0], name.object(), arguments.tail),
              {OnReturn::Instead, {Value::constant(PyExc_AttributeError), arguments.values[2]}});
}

Value hasattr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "hasattr", arguments, 2, 2)) return Value();
  Value name = readAttributeName(translator, arguments.values[1]);
  if (!name) return name;
  Value result = getAttribute(translator, arguments.values[0], name.object(), arguments.tail);
  result = then(translator, std::move(result), {OnReturn::Give, {Value::boolean(true)}});
  return then(translator, std::move(result),
              {OnReturn::Instead, {Value::constant(PyExc_AttributeError), Value::boolean(false)}});
}

Value setattr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "setattr", arguments, 3, 3)) return Value();
  Value name = readAttributeName(translator, arguments.values[1]);
  if (!name) return name;
  return then(translator,
              assignAttribute(translator, arguments.values[0], name.object(), arguments.values[2],
                              arguments.tail),
              {OnReturn::Give, {Value::none()}});
}

Value delattr(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "delattr", arguments, 2, 2)) return Value();
  Value name = readAttributeName(translator, arguments.values[1]);
  if (!name) return name;
  return then(
      translator,
      assignAttribute(translator, arguments.values[0], name.object(), Value(), arguments.tail),
      {OnReturn::Give, {Value::none()}});
}

ValueVector valuesOf(Translator& translator, const Value& tuple) {
  ValueVector values;
  Value known = translator.realized(tuple);
  if (typeOf(known) == &PyTuple_Type) iterateInto(translator, known, values);
  for (Value& value : values) translator.realize(value);
  return values;
}

Value type(Translator& translator, const Value&, CallArguments& arguments) {
  if (arguments.values.size() == 1 && !arguments.keywordCount()) {
    Value value = arguments.values[0];
    realizeType(translator, value);
    return typeValue(translator, value);
  }
  size_t count = arguments.positionalCount();
  if (count != 1 && count != 3) {  // type_new
    return translator.raise(PyExc_TypeError, "type() takes 1 or 3 arguments");
  }
  if (count != 3) throw GraphBreak(GraphBreakKind::ClassMadeWhileTracing, "type(…)");
  // The metaclass of the bases is called, if it is another one.
  for (const Value& base : valuesOf(translator, arguments.values[1])) {
    PyTypeObject* cls = asClass(base);
    if (!cls || translator.heap.metaclassOf(cls) != &PyType_Type) {
      throw GraphBreak(GraphBreakKind::ClassMadeWhileTracing, "base " + describe(base));
    }
  }
  return makeClass(translator, Value::constant(reinterpret_cast<PyObject*>(&PyType_Type)),
                   arguments);
}

Value isinstance(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "isinstance", arguments, 2, 2)) return Value();
  return askClasses(translator, arguments.values[0], arguments.values[1], false, arguments.tail);
}

Value issubclass(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "issubclass", arguments, 2, 2)) return Value();
  return askClasses(translator, arguments.values[0], arguments.values[1], true, arguments.tail);
}

// The type decides alone: callable() looks at tp_call.
Value callable(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "callable", arguments, 1, 1)) return Value();
  realizeType(translator, arguments.values[0]);
  PyTypeObject* type = typeOf(arguments.values[0]);
  return Value::boolean(translator.heap.hasSpecial(type, cpython::SpecialSlot::Call));
}

// Objects whose identity the trace knows, though not where they will be.
bool hasOwnIdentity(const Value& value) {
  switch (value.tracker()->kind()) {
    case VariableKind::List:
    case VariableKind::Deque:
    case VariableKind::Tuple:
    case VariableKind::Dict:
    case VariableKind::Set:
    case VariableKind::UserFunction:
    case VariableKind::UserClass:
    case VariableKind::UserObject:
      return true;
    default:
      return false;
  }
}

// The address of what is the same object in each call; of others, what stands for it.
Value id(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "id", arguments, 1, 1)) return Value();
  Value value = arguments.values[0];
  const Source* place = value.isTracker() ? value.tracker()->source() : nullptr;
  realizeType(translator, value);
  PyObject* object = value.isTracker() ? value.tracker()->existing() : value.object();
  bool isData = trackerOf<SymNodeVariable>(value) || (value.isConstant() && isConstant(object) &&
                                                      object != Py_None && !PyBool_Check(object));
  const Source* source = value.isTracker() ? value.tracker()->source() : nullptr;
  bool isArgument = source && object && trackerOf<TensorVariable>(value);
  bool isObject = !value.isConstant() && hasOwnIdentity(value) && (!object || source);
  if (isData) {
    llvm::ArrayRef<const Source*> inputs;
    if (value.isConstant()) inputs = translator.constantSources(object);
    if (!place && inputs.size() == 1) place = inputs.front();
    // What is computed is another object whenever it is computed again.
    if (place && place->kind() == SourceKind::Computed) place = nullptr;
    return translator.make<AddressVariable>(std::move(value), place);
  }
  if (isObject || isArgument) return translator.make<AddressVariable>(std::move(value));
  if (!object) {
    throw GraphBreak(
        GraphBreakKind::UnsupportedBuiltin, "id()",
        "Arrays and functions that the function makes are others in each call; compare "
        "objects by `is` instead of by id().");
  }
  if (source) translator.addGuard(source, GuardType::ID_MATCH, object);
  return Value::constant(checked(PyLong_FromVoidPtr(object)));
}

Value vars(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "vars", arguments, 0, 1)) return Value();
  if (arguments.values.empty()) {
    throw GraphBreak(GraphBreakKind::UnsupportedBuiltin, "vars()",
                     "The local variables of a traced function live in the trace, not in a dict; "
                     "name the variables that are needed.");
  }
  static PyObject* const name = staticName("__dict__");
  Value dict = getOptionalAttribute(translator, arguments.values[0], name);
  if (dict || translator.exceptionPending()) return dict;
  return translator.raise(PyExc_TypeError, "vars() argument must have __dict__ attribute");
}

void registerAll() {
  registerFunctionHandler("builtins", "vars", vars);
  registerFunctionHandler("builtins", "id", id);
  registerFunctionHandler("builtins", "getattr", getattr);
  registerFunctionHandler("builtins", "hasattr", hasattr);
  registerFunctionHandler("builtins", "setattr", setattr);
  registerFunctionHandler("builtins", "delattr", delattr);
  registerFunctionHandler("builtins", "type", type);
  registerFunctionHandler("builtins", "isinstance", isinstance);
  registerFunctionHandler("builtins", "issubclass", issubclass);
  registerFunctionHandler("builtins", "callable", callable);
  for (const char* name :
       {"getattr", "hasattr", "setattr", "delattr", "isinstance", "issubclass"}) {
    registerProtocolFunction("builtins", name);
  }
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerAll);

}  // namespace armature
