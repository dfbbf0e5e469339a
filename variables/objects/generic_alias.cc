#include "variables/objects/generic_alias.h"

#include "core/checked.h"
#include "cpython/c_functions.h"
#include "cpython/type_lookup.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"
#include "variables/translator.h"

namespace armature {

bool isSubscriptedForAlias(Translator& translator, PyObject* type) {
  if (!PyType_Check(type)) return false;
  // PyObject_GetItem itself sees to `type`.
  if (type == reinterpret_cast<PyObject*>(&PyType_Type)) return true;
  static PyObject* const name = staticName("__class_getitem__");
  Found method = translator.heap.lookup(reinterpret_cast<PyTypeObject*>(type), name);
  PyMethodDef* definition = method ? cpython::methodDefinition(method.object) : nullptr;
  return definition && definition->ml_meth == reinterpret_cast<PyCFunction>(Py_GenericAlias);
}

Value makeGenericAlias(Translator& translator, const Value& origin, const Value& key) {
  bool isTuple = PyType_IsSubtype(typeOf(key), &PyTuple_Type);
  Value arguments = isTuple ? key : makeTuple(translator, {key});
  return translator.make<GenericAliasVariable>(origin, std::move(arguments));
}

namespace {

// ga_getattro: most attributes are those of the class.
Value aliasAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* alias = requireKind<GenericAliasVariable>(self);
  if (PyUnicode_CompareWithASCIIString(name, "__origin__") == 0) return alias->origin;
  if (PyUnicode_CompareWithASCIIString(name, "__args__") == 0) return alias->arguments;
  if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0) return typeValue(translator, self);
  if (cpython::lookup(&Py_GenericAliasType, name)) {
    return unimplemented::getAttribute(translator, self, name);
  }
  return getAttribute(translator, alias->origin, name);
}

// ga_call: the instance gets an attribute that tells the alias, if it takes attributes.
Value callAlias(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* alias = requireKind<GenericAliasVariable>(callable);
  for (PyTypeObject* type :
       {&PyList_Type, &PyTuple_Type, &PyDict_Type, &PySet_Type, &PyFrozenSet_Type}) {
    if (alias->origin.is(reinterpret_cast<PyObject*>(type))) {
      return call(translator, alias->origin, arguments);
    }
  }
  return unimplemented::call(translator, callable, arguments);
}

Value compareAliases(Translator& translator, const Value& left, const Value& right, int op) {
  auto* a = trackerOf<GenericAliasVariable>(left);
  auto* b = trackerOf<GenericAliasVariable>(right);
  if (!a || !b) {
    bool other = typeOf(left) == &Py_GenericAliasType && typeOf(right) == &Py_GenericAliasType;
    return other ? unimplemented::compare(translator, left, right, op)
                 : Value::constant(Py_NotImplemented);
  }
  if (op != Py_EQ && op != Py_NE) return Value::constant(Py_NotImplemented);
  if (!isSame(translator, a->origin, b->origin)) return Value::boolean(op == Py_NE);
  return richCompare(translator, a->arguments, b->arguments, op);
}

TypeSlots makeSlots() {
  TypeSlots slots;
  slots.tp_getattro = aliasAttribute;
  slots.tp_setattro = unimplemented::setAttribute;
  slots.tp_call = callAlias;
  slots.tp_richcompare = compareAliases;
  slots.tp_hash = unimplemented::unary;
  slots.tp_repr = unimplemented::unary;
  slots.mp_subscript = unimplemented::subscript;
  slots.tp_iter = unimplemented::unary;
  slots.nb[nb_or] = unimplemented::binary;
  return slots;
}

// types.GenericAlias(origin, arguments)
Value callGenericAlias(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "GenericAlias", arguments, 2, 2)) return Value();
  return makeGenericAlias(translator, arguments.values[0],
                          translator.realized(arguments.values[1]));
}

void registerHandlers() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&Py_GenericAliasType), callGenericAlias);
}
ARMATURE_REGISTER_HANDLERS(registerHandlers);

}  // namespace

const TypeSlots kGenericAliasSlots = makeSlots();

}  // namespace armature
