// How objects say what they are made of: object.__reduce_ex__ and object.__getstate__, which copy()
// and deepcopy() ask.
#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "cpython/instance_attributes.h"
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
#include "variables/protocol/real_data.h"

namespace armature {

namespace {

PyObject* name(const char* text) { return staticName(text); }

[[noreturn]] void refuse(const Value& object) {
  throw GraphBreak(GraphBreakKind::ReductionOfObject, describe(object));
}

// copyreg._slotnames. Null, without an exception, where slots are given by anything else than
// texts. Nothing is guarded of it: the class asks once.
Ref<> namesOfSlots(Translator& translator, PyTypeObject* type) {
  static PyObject* const slotsName = name("__slots__");
  PyObject* mro = translator.heap.mro(type);
  Ref<> names = checked(PyList_New(0));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    MadeClass* made = translator.madeClasses().find(base);
    Value named = made ? made->attributes->get(translator, slotsName) : Value();
    Ref<> given = named ? toRealData(translator, named)
                        : Ref<>::create(made ? nullptr : cpython::ownAttribute(base, slotsName));
    if (!given && named) return nullptr;
    if (!given) continue;
    bool isSequence = PyTuple_CheckExact(given.get()) || PyList_CheckExact(given.get());
    if (!isSequence && !PyUnicode_CheckExact(given.get())) return nullptr;
    Ref<> slots =
        checked(isSequence ? PySequence_Tuple(given.get()) : PyTuple_Pack(1, given.get()));
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(slots.get()); ++j) {
      PyObject* slot = PyTuple_GET_ITEM(slots.get(), j);
      if (!PyUnicode_CheckExact(slot)) return nullptr;
      std::string text = printable(slot);
      if (text == "__dict__" || text == "__weakref__") continue;
      bool isPrivate = text.starts_with("__") && !text.ends_with("__");
      std::string_view owner = isPrivate ? nameOf(translator, base) : "";
      owner.remove_prefix(std::min(owner.find_first_not_of('_'), owner.size()));
      Ref<> mangled = owner.empty() ? Ref<>::create(slot)
                                    : checked(PyUnicode_FromFormat("_%s%U", owner.data(), slot));
      checked(PyList_Append(names.get(), mangled.get()));
    }
  }
  return names;
}

// _PyType_GetSlotNames: the class keeps the names for the next time. To put them there runs no code
// of the program's, and the call that is traced does it anyway. Null, without an exception, where
// the class cannot keep them.
ListVariable* keptNamesOfSlots(Translator& translator, PyTypeObject* type) {
  static PyObject* const namesName = name("__slotnames__");
  static PyObject* const setattr = name("__setattr__");
  Heap& heap = translator.heap;
  bool isSettable =
      !cpython::isImmutable(type) && heap.inherits(heap.metaclassOf(type), &PyType_Type, setattr);
  if (!isSettable) return nullptr;
  if (MadeClass* made = translator.madeClasses().find(type)) {
    Value names = made->attributes->get(translator, namesName);
    if (!names) {
      Ref<> found = namesOfSlots(translator, type);
      if (!found) return nullptr;
      names = fromRealData(translator, found.get());
      if (!setAttribute(translator, translator.knownClass(type), namesName, names)) return nullptr;
    }
    return trackerOf<ListVariable>(names);
  }
  if (!cpython::ownAttribute(type, namesName)) {
    Ref<> names = namesOfSlots(translator, type);
    if (!names) return nullptr;
    checked(PyObject_SetAttr(reinterpret_cast<PyObject*>(type), namesName, names.get()));
  }
  Found names = heap.lookup(type, namesName);
  if (!names.source || !PyList_CheckExact(names.object)) return nullptr;
  return trackerOf<ListVariable>(translator.realized(translator.wrap(names.source, names.object)));
}

// object_getstate_default: the very __dict__, if there is anything in it, and what is in slots.
// `all`: what has more parts than these is refused.
Value defaultState(Translator& translator, const Value& self, bool all) {
  // It takes no attributes.
  if (trackerOf<DequeVariable>(self)) return Value::none();
  auto* object = trackerOf<UserObjectVariable>(self);
  ListVariable* names = object ? keptNamesOfSlots(translator, object->type()) : nullptr;
  if (!names || (all && cpython::hasMoreParts(object->type(), names->items().size()))) refuse(self);
  DictVariable* dict =
      slotsOf(self).instanceDict ? slotsOf(self).instanceDict(translator, self) : nullptr;
  Value state = dict && dict->size(translator) > 0 ? translator.dictValue(dict) : Value::none();
  auto* slots = translator.make<DictVariable>();
  const ValueVector known(names->items().begin(), names->items().end());
  for (const Value& item : known) {
    Value slot = translator.realized(item);
    PyObject* text = slot.objectOrNull();
    if (!text || !PyUnicode_CheckExact(text)) refuse(self);
    Value value = getOptionalAttribute(translator, self, text);
    if (translator.exceptionPending()) return Value();
    // Code that was asked for an attribute may have changed the list.
    if (names->items().size() != known.size()) refuse(self);
    if (value) slots->set(translator, slot, std::move(value));
  }
  if (slots->size(translator) == 0) return state;
  return makeTuple(translator, {std::move(state), slots});
}

// object_getstate
Value stateOf(Translator& translator, const Value& self, bool all) {
  static PyObject* const getstate = name("__getstate__");
  Value method = translator.realized(getAttribute(translator, self, getstate));
  if (!method) return method;
  auto* bound = trackerOf<BoundMethodVariable>(method);
  PyObject* function = bound ? bound->function.objectOrNull() : nullptr;
  bool isDefault = function && function == cpython::lookup(&PyBaseObject_Type, getstate);
  return isDefault ? defaultState(translator, self, all)
                   : call(translator, method, llvm::ArrayRef<Value>());
}

Value functionOfCopyreg(Translator& translator, const char* function) {
  Ref<> module = checked(cpython::importModule("copyreg"));
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
    // _PyObject_LookupSpecial: of the class alone.
    if (translator.heap.lookup(typeOf(self), method)) refuse(self);
  }
  Value function = functionOfCopyreg(translator, "__newobj__");
  if (!function) return function;
  bool all = !isTuple && !partOf<ListVariable>(self) && !partOf<DictVariable>(self);
  Value state = stateOf(translator, self, all);
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
  clearException();
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
  // Any object is asked; that it has another one than object's is seen by its class.
  Value method = getOptionalAttribute(translator, object, reduce);
  if (translator.exceptionPending()) return Value();
  bool isOverridden = method && !heap.inherits(typeOf(object), &PyBaseObject_Type, reduce);
  return isOverridden ? call(translator, method, llvm::ArrayRef<Value>())
                      : reduceByNew(translator, object);
}

Value objectGetstate(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "object.__getstate__", arguments, 0, 0)) return Value();
  return defaultState(translator, translator.realized(self), false);
}

void registerReductions() {
  registerMethodHandler(&PyBaseObject_Type, "__reduce_ex__", objectReduceEx);
  registerMethodHandler(&PyBaseObject_Type, "__getstate__", objectGetstate);
}
ARMATURE_REGISTER_HANDLERS(registerReductions);

}  // namespace

}  // namespace armature
