#include "variables/objects/generic_alias.h"

#include <cstring>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/type_lookup.h"
#include "variables/containers/deque.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
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
  // A class below it may define anything.
  bool isBase = typeOf(self) == &Py_GenericAliasType;
  if (!isBase || cpython::lookup(&Py_GenericAliasType, name)) {
    return unimplemented::getAttribute(translator, self, name);
  }
  return getAttribute(translator, alias->origin, name);
}

// ga_call: the instance gets an attribute that tells the alias, if it takes attributes.
Value callAlias(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* alias = requireKind<GenericAliasVariable>(callable);
  for (PyTypeObject* type : {&PyList_Type, &PyTuple_Type, &PyDict_Type, &PySet_Type,
                             &PyFrozenSet_Type, cpython::dequeType()}) {
    if (alias->origin.is(reinterpret_cast<PyObject*>(type))) {
      return call(translator, alias->origin, arguments);
    }
  }
  return unimplemented::call(translator, callable, arguments);
}

Value compareAliases(Translator& translator, const Value& left, const Value& right, int op) {
  auto* a = trackerOf<GenericAliasVariable>(left);
  auto* b = trackerOf<GenericAliasVariable>(right);
  if (!a || !b || typeOf(left) != typeOf(right)) {
    bool other = PyType_IsSubtype(typeOf(left), &Py_GenericAliasType) &&
                 PyType_IsSubtype(typeOf(right), &Py_GenericAliasType);
    return other ? unimplemented::compare(translator, left, right, op)
                 : Value::constant(Py_NotImplemented);
  }
  if (op != Py_EQ && op != Py_NE) return Value::constant(Py_NotImplemented);
  if (!isSame(translator, a->origin, b->origin)) return Value::boolean(op == Py_NE);
  return richCompare(translator, a->arguments, b->arguments, op);
}

// A class that stays as long as the interpreter: one in C, of typing, or of collections.abc.
bool isLasting(PyTypeObject* type) {
  if (cpython::isImmutable(type)) return true;
  const char* name = std::strrchr(type->tp_name, '.');
  name = name ? name + 1 : type->tp_name;
  for (const char* module : {"typing", "collections.abc"}) {
    PyObject* found = PyDict_GetItemString(PyImport_GetModuleDict(), module);
    Ref<> known = Ref<>::steal(found ? PyObject_GetAttrString(found, name) : nullptr);
    clearException();
    if (known.get() == reinterpret_cast<PyObject*>(type)) return true;
  }
  return false;
}

// The alias as an object of its own, where its parts are objects that are there already; else null
// without an exception.
Ref<> realAlias(Translator& translator, const Value& value) {
  auto* alias = trackerOf<GenericAliasVariable>(value);
  if (!alias) {
    auto* cls = trackerOf<UserClassVariable>(value);
    if (!cls) return Ref<>::create(value.objectOrNull());
    return Ref<>::create(isLasting(cls->value()) ? reinterpret_cast<PyObject*>(cls->value())
                                                 : nullptr);
  }
  Ref<> origin = realAlias(translator, translator.realized(alias->origin));
  ValueVector parts;
  if (!origin || !iterateInto(translator, alias->arguments, parts)) return nullptr;
  Ref<> arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
  for (size_t i = 0; i < parts.size(); ++i) {
    Ref<> part = realAlias(translator, translator.realized(parts[i]));
    if (!part) return nullptr;
    PyTuple_SET_ITEM(arguments.get(), i, part.release());
  }
  Ref<> given = checked(PyTuple_Pack(2, origin.get(), arguments.get()));
  return checked(Py_GenericAliasType.tp_new(alias->type(), given.get(), nullptr));
}

// list[int] | None: a union compares by its parts.
Value unite(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  Ref<> first = realAlias(translator, left), second = realAlias(translator, right);
  if (!first || !second) return unimplemented::binary(translator, slot, left, right);
  return translator.fromPython(PyNumber_Or(first.get(), second.get()));
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
  slots.nb[nb_or] = unite;
  return slots;
}

// types.GenericAlias(origin, arguments)
Value callGenericAlias(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "GenericAlias", arguments, 2, 2)) return Value();
  return makeGenericAlias(translator, arguments.values[0],
                          translator.realized(arguments.values[1]));
}

// GenericAlias.__new__(cls, origin, arguments): what the __new__ of a class below it calls. Such a
// class as collections.abc.Callable's has no layout of its own.
Value aliasNew(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "GenericAlias", arguments, 3, 3)) return Value();
  auto* cls = trackerOf<UserClassVariable>(translator.realized(arguments.values[0]));
  bool isKnown = cls && cls->value()->tp_basicsize == Py_GenericAliasType.tp_basicsize &&
                 PyType_IsSubtype(cls->value(), &Py_GenericAliasType) && !cls->value()->tp_finalize;
  if (!isKnown) throw GraphBreak(GraphBreakKind::ClassWithNew, "GenericAlias.__new__");
  Value parts = translator.realized(arguments.values[2]);
  bool isTuple = PyType_IsSubtype(typeOf(parts), &PyTuple_Type);
  return translator.make<GenericAliasVariable>(
      arguments.values[1], isTuple ? parts : makeTuple(translator, {parts}), cls->value());
}

void registerHandlers() {
  registerMethodHandler(&Py_GenericAliasType, "__new__", aliasNew);
  registerObjectHandler(reinterpret_cast<PyObject*>(&Py_GenericAliasType), callGenericAlias);
}
ARMATURE_REGISTER_HANDLERS(registerHandlers);

}  // namespace

const TypeSlots kGenericAliasSlots = makeSlots();

}  // namespace armature
