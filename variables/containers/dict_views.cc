// The slots and methods of dict.keys(), dict.values() and dict.items().
#include "core/checked.h"
#include "variables/containers/iterators.h"
#include "variables/containers/set_operations.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/protocol/equality.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"

namespace armature {

namespace {

DictViewVariable* viewOf(const Value& value) { return requireKind<DictViewVariable>(value); }

// Views of keys and items behave as sets; views of values do not.
bool isSetLike(const Value& value) {
  auto* view = trackerOf<DictViewVariable>(value);
  return view ? view->view != DictViewKind::Values : isAnySet(value);
}

Value length(Translator& translator, const Value& self) {
  return Value::integer(static_cast<int64_t>(viewOf(self)->dict->size(translator)));
}

Value iterate(Translator& translator, const Value& self) {
  DictViewVariable* view = viewOf(self);
  return makeDictIterator(translator, view->dict, view->view, /*reversed=*/false);
}

Value contains(Translator& translator, const Value& self, const Value& item) {
  DictViewVariable* view = viewOf(self);
  if (view->view == DictViewKind::Keys) {
    bool found = view->dict->has(translator, item);
    return translator.exceptionPending() ? Value() : Value::boolean(found);
  }
  if (view->view == DictViewKind::Items) {
    ValueVector pair;
    bool isPair = PyType_IsSubtype(typeOf(item), &PyTuple_Type) &&
                  iterateInto(translator, item, pair) && pair.size() == 2;
    if (!isPair) return translator.exceptionPending() ? Value() : Value::boolean(false);
    Value value = view->dict->get(translator, pair[0]);
    if (!value) return translator.exceptionPending() ? Value() : Value::boolean(false);
    int equal = areEqual(translator, value, pair[1]);
    return equal < 0 ? Value() : Value::boolean(equal);
  }
  Value iterator = iterate(translator, self);
  while (Value value = iteratorNext(translator, iterator)) {
    int equal = areEqual(translator, value, item);
    if (equal != 0) return equal < 0 ? Value() : Value::boolean(true);
  }
  return translator.exceptionPending() ? Value() : Value::boolean(false);
}

// a & b takes the items of the operand that are in the view, and makes a set of them.
Value intersect(Translator& translator, const Value& left, const Value& right) {
  auto* view = trackerOf<DictViewVariable>(left);
  const Value& self = view ? left : right;
  const Value& other = view ? right : left;
  auto* otherView = trackerOf<DictViewVariable>(other);
  int64_t own = armature::length(translator, self);
  // A set that is no shorter says which of equal items it is.
  bool isSet = typeOf(other) == &PySet_Type;
  if (isSet && own <= armature::length(translator, other)) {
    SetVariable* result = intersection(translator, &PySet_Type, toSet(translator, other), self);
    return result ? Value(result) : Value();
  }
  // The shorter one is walked over.
  bool swap = otherView && isSetLike(other) && armature::length(translator, other) > own;
  const Value& container = swap ? other : self;
  Value iterator = getIterator(translator, swap ? self : other);
  if (!iterator) return iterator;
  auto* result = translator.make<SetVariable>(&PySet_Type);
  while (Value item = iteratorNext(translator, iterator)) {
    int found = armature::contains(translator, container, item);
    if (found < 0 || (found && !result->add(translator, item))) return Value();
  }
  return translator.exceptionPending() ? Value() : Value(result);
}

Value binary(Translator& translator, NumberSlot slot, const Value& left, const Value& right) {
  // One operand is such a view, the other may be any iterable.
  bool leftIsView = trackerOf<DictViewVariable>(left) != nullptr;
  if (!isSetLike(leftIsView ? left : right)) return Value::constant(Py_NotImplemented);
  if (slot == nb_and) return intersect(translator, left, right);
  // dictviews_to_set: the keys of a plain dict are read as that dict.
  auto* keys = trackerOf<DictViewVariable>(left);
  bool isOfDict = keys && keys->view == DictViewKind::Keys && keys->dict->type() == &PyDict_Type;
  SetVariable* result =
      copySet(translator, &PySet_Type, isOfDict ? translator.dictValue(keys->dict) : left);
  if (!result) return Value();
  bool ok = slot == nb_or         ? updateSet(translator, result, right)
            : slot == nb_subtract ? subtractFromSet(translator, result, right)
                                  : symmetricDifferenceUpdate(translator, result, right);
  return ok ? Value(result) : Value();
}

Value compare(Translator& translator, const Value& left, const Value& right, int op) {
  if (!isSetLike(left) || !isSetLike(right)) return Value::constant(Py_NotImplemented);
  int64_t a = armature::length(translator, left);
  int64_t b = armature::length(translator, right);
  if (a < 0 || b < 0) return Value();
  auto within = [&](const Value& small, const Value& large) -> int {
    Value iterator = getIterator(translator, small);
    if (!iterator) return -1;
    while (Value item = iteratorNext(translator, iterator)) {
      int found = armature::contains(translator, large, item);
      if (found <= 0) return found;
    }
    return translator.exceptionPending() ? -1 : 1;
  };
  int result = 0;
  switch (op) {
    case Py_EQ:
    case Py_NE:
      result = a == b ? within(left, right) : 0;
      break;
    case Py_LT:
      result = a < b ? within(left, right) : 0;
      break;
    case Py_LE:
      result = a <= b ? within(left, right) : 0;
      break;
    case Py_GT:
      result = a > b ? within(right, left) : 0;
      break;
    default:
      result = a >= b ? within(right, left) : 0;
      break;
  }
  if (result < 0) return Value();
  return Value::boolean(op == Py_NE ? !result : result);
}

// dict_keys([…]) and so on.
Value repr(Translator& translator, const Value& self) {
  Value iterator = iterate(translator, self);
  Ref<> text = checked(PyUnicode_FromFormat("%s([", nameOf(translator, self)));
  const char* separator = "";
  while (Value item = iteratorNext(translator, iterator)) {
    Value itemText = toRepr(translator, std::move(item));
    if (!itemText) return itemText;
    text = checked(PyUnicode_FromFormat("%U%s%U", text.get(), separator, itemText.object()));
    separator = ", ";
  }
  return translator.fromPython(PyUnicode_FromFormat("%U])", text.get()));
}

TypeSlots makeDictViewSlots() {
  TypeSlots slots;
  for (NumberSlot slot : {nb_or, nb_and, nb_subtract, nb_xor}) slots.nb[slot] = binary;
  slots.mp_length = length;
  slots.sq_contains = contains;
  slots.tp_iter = iterate;
  slots.tp_richcompare = compare;
  slots.tp_repr = repr;
  return slots;
}

// --- Methods.

Value reversed(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "dict_keys.__reversed__", arguments, 0, 0)) return Value();
  DictViewVariable* view = viewOf(self);
  return makeDictIterator(translator, view->dict, view->view, /*reversed=*/true);
}

Value isDisjoint(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "isdisjoint", arguments, 1, 1)) return Value();
  Value iterator = getIterator(translator, arguments.values[0]);
  if (!iterator) return iterator;
  while (Value item = iteratorNext(translator, iterator)) {
    int found = armature::contains(translator, self, item);
    if (found != 0) return found < 0 ? Value() : Value::boolean(false);
  }
  return translator.exceptionPending() ? Value() : Value::boolean(true);
}

void registerDictViews() {
  for (PyTypeObject* type : {&PyDictKeys_Type, &PyDictValues_Type, &PyDictItems_Type}) {
    registerSlotWrappers(type);
    registerMethodHandler(type, "__reversed__", reversed);
  }
  for (PyTypeObject* type : {&PyODictKeys_Type, &PyODictValues_Type, &PyODictItems_Type}) {
    registerSlotWrappers(type);
    registerMethodHandler(type, "__reversed__", reversed);
  }
  registerMethodHandler(&PyDictKeys_Type, "isdisjoint", isDisjoint);
  registerMethodHandler(&PyDictItems_Type, "isdisjoint", isDisjoint);
}

}  // namespace

const TypeSlots kDictViewSlots = makeDictViewSlots();

ARMATURE_REGISTER_HANDLERS(registerDictViews);

}  // namespace armature
