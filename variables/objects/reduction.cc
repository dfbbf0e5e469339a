// How objects say what they are made of: object.__reduce_ex__ and object.__getstate__, which copy()
// and deepcopy() ask.
#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/deque.h"
#include "variables/containers/dict.h"
#include "variables/containers/dict_methods.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

PyObject* name(const char* text) { return staticName(text); }

[[noreturn]] void refuse(const Value& object) {
  throw GraphBreak(GraphBreakKind::ReductionOfObject, describe(object));
}

// copyreg._slotnames: may a class in the MRO name any?
bool namesSlots(Translator& translator, PyTypeObject* type) {
  static PyObject* const slotsName = name("__slots__");
  PyObject* mro = translator.heap.mro(type);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    Found found = translator.heap.lookup(base, slotsName);
    if (!found) continue;
    if (!PyTuple_CheckExact(found.object) || PyTuple_GET_SIZE(found.object) > 0) return true;
    if (found.source) translator.addGuard(found.source, GuardType::EQUALS_MATCH, found.object);
  }
  return false;
}

// _PyType_GetSlotNames: the class keeps the names, which are none, for the next time. To put them
// there runs no code of the program's, and the call that is traced does it anyway. False where the
// class cannot keep them, or keeps others.
bool keepsNoSlotNames(Translator& translator, PyTypeObject* type) {
  static PyObject* const namesName = name("__slotnames__");
  static PyObject* const setattr = name("__setattr__");
  Heap& heap = translator.heap;
  bool isSettable =
      !cpython::isImmutable(type) && heap.inherits(heap.metaclassOf(type), &PyType_Type, setattr);
  if (!isSettable || namesSlots(translator, type)) return false;
  if (MadeClass* made = translator.madeClasses().find(type)) {
    Value names = made->attributes->get(translator, namesName);
    if (!names) {
      names = translator.make<ListVariable>(ValueVector());
      if (!setAttribute(translator, translator.knownClass(type), namesName, names)) return false;
    }
    auto* list = trackerOf<ListVariable>(names);
    return list && list->items().empty();
  }
  if (!cpython::ownAttribute(type, namesName)) {
    Ref<> none = checked(PyList_New(0));
    checked(PyObject_SetAttr(reinterpret_cast<PyObject*>(type), namesName, none.get()));
  }
  Found names = heap.lookup(type, namesName);
  if (!names.source || !PyList_CheckExact(names.object)) return false;
  translator.addGuard(names.source, GuardType::SEQUENCE_LENGTH, nullptr, 0);
  return PyList_GET_SIZE(names.object) == 0;
}

// object_getstate_default, for a class without slots: the very __dict__, if there is anything in
// it.
Value defaultState(Translator& translator, const Value& self) {
  // It takes no attributes.
  if (trackerOf<DequeVariable>(self)) return Value::none();
  auto* object = trackerOf<UserObjectVariable>(self);
  if (!object || !keepsNoSlotNames(translator, object->type())) refuse(self);
  DictVariable* dict = slotsOf(self).instanceDict(translator, self);
  return dict && dict->size(translator) > 0 ? translator.dictValue(dict) : Value::none();
}

// object_getstate
Value stateOf(Translator& translator, const Value& self) {
  static PyObject* const getstate = name("__getstate__");
  Value method = translator.realized(getAttribute(translator, self, getstate));
  if (!method) return method;
  auto* bound = trackerOf<BoundMethodVariable>(method);
  PyObject* function = bound ? bound->function.objectOrNull() : nullptr;
  bool isDefault = function && function == cpython::lookup(&PyBaseObject_Type, getstate);
  return isDefault ? defaultState(translator, self)
                   : call(translator, method, llvm::ArrayRef<Value>());
}

Value functionOfCopyreg(Translator& translator, const char* function) {
  Ref<> module = checked(PyImport_ImportModule("copyreg"));
  Ref<> text = Ref<>::steal(name(function));
  return getAttribute(translator, Value::constant(module), text.get());
}

// _PyObject_GetItemsIter: iter(self) of what is a list, and iter(self.items()) of what is a dict.
bool itemsOf(Translator& translator, const Value& self, Value& list, Value& dict) {
  list = dict = Value::none();
  if (partOf<ListVariable>(self)) list = getIterator(translator, self);
  if (partOf<DictVariable>(self)) {
    Value items = callMethod(translator, self, "items", {});
    dict = items ? getIterator(translator, items) : items;
  }
  return list && dict;
}

// reduce_newobj, for an object whose class says nothing of arguments for its __new__.
Value reduceByNew(Translator& translator, const Value& self) {
  static PyObject* const methods[] = {name("__getnewargs_ex__"), name("__getnewargs__")};
  ValueVector arguments = {translator.knownClass(typeOf(self))};
  auto* tuple = partOf<TupleVariable>(self);
  bool isTuple = tuple && leavesToPart(translator, self, methods[1]);
  if (isTuple) arguments.push_back(makeTuple(translator, tuple->items()));
  for (PyObject* method : methods) {
    if (isTuple && method == methods[1]) continue;
    if (getOptionalAttribute(translator, self, method)) refuse(self);
    if (translator.exceptionPending()) return Value();
  }
  Value function = functionOfCopyreg(translator, "__newobj__");
  if (!function) return function;
  Value state = stateOf(translator, self);
  if (!state) return state;
  Value list, dict;
  if (!itemsOf(translator, self, list, dict)) return Value();
  return makeTuple(translator, {std::move(function), makeTuple(translator, std::move(arguments)),
                                std::move(state), std::move(list), std::move(dict)});
}

// set_reduce, of a set or frozenset: the class, called with the list of the items.
Value reduceSet(Translator& translator, const Value& self) {
  ValueVector items;
  if (!iterateInto(translator, self, items)) return Value();
  Value list = translator.make<ListVariable>(std::move(items));
  return makeTuple(translator, {translator.knownClass(typeOf(self)),
                                makeTuple(translator, {std::move(list)}), Value::none()});
}

// odict_reduce and defdict_reduce: the class, called with what makes it, and an iterator over the
// items.
Value reduceDict(Translator& translator, const Value& self) {
  DictVariable* attributes =
      slotsOf(self).instanceDict ? slotsOf(self).instanceDict(translator, self) : nullptr;
  if (attributes && attributes->size(translator) > 0) refuse(self);
  ValueVector arguments;
  if (typeOf(self) == defaultDictType()) {
    static PyObject* const factoryName = name("default_factory");
    Value factory = translator.realized(getAttribute(translator, self, factoryName));
    if (!factory) return factory;
    if (!factory.is(Py_None)) arguments.push_back(factory);
  }
  Value items = callMethod(translator, self, "items", {});
  Value iterator = items ? getIterator(translator, items) : items;
  if (!iterator) return iterator;
  return makeTuple(
      translator, {translator.knownClass(typeOf(self)), makeTuple(translator, std::move(arguments)),
                   Value::none(), Value::none(), std::move(iterator)});
}

// object___reduce_ex__
Value objectReduceEx(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "object.__reduce_ex__", arguments, 1, 1)) return Value();
  Value protocol = translator.realized(arguments.values[0]);
  Value object = translator.realized(self);
  PyObject* number = protocol.objectOrNull();
  if (!number || !PyLong_CheckExact(number)) refuse(object);
  long value = PyLong_AsLong(number);
  PyErr_Clear();
  if (value < 2) refuse(object);
  PyTypeObject* type = typeOf(object);
  if (type == &PySet_Type || type == &PyFrozenSet_Type) return reduceSet(translator, object);
  if (type == &PyODict_Type || type == defaultDictType()) {
    return reduceDict(translator, object);
  }
  if (isConstantData(object)) {
    Value result =
        translator.fromPython(PyObject_CallMethod(object.object(), "__reduce_ex__", "O", number));
    if (result && !isConstantObject(result.object())) refuse(object);
    return result;
  }
  static PyObject* const reduce = name("__reduce__");
  static PyObject* const className = name("__class__");
  if (!trackerOf<UserObjectVariable>(object) && !trackerOf<DequeVariable>(object)) refuse(object);
  Heap& heap = translator.heap;
  if (!heap.inherits(typeOf(object), &PyBaseObject_Type, className)) refuse(object);
  if (!heap.inherits(typeOf(object), &PyBaseObject_Type, reduce)) {
    return callMethod(translator, object, "__reduce__", {});
  }
  return reduceByNew(translator, object);
}

Value objectGetstate(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "object.__getstate__", arguments, 0, 0)) return Value();
  return defaultState(translator, translator.realized(self));
}

void registerReductions() {
  registerMethodHandler(&PyBaseObject_Type, "__reduce_ex__", objectReduceEx);
  registerMethodHandler(&PyBaseObject_Type, "__getstate__", objectGetstate);
}
ARMATURE_REGISTER_HANDLERS(registerReductions);

}  // namespace

}  // namespace armature
