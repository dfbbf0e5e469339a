// The methods of set and frozenset.
#include <llvm/ADT/STLExtras.h>

#include "core/checked.h"
#include "variables/containers/set_operations.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/loops.h"
#include "variables/objects/address.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/slot_wrappers.h"

namespace armature {

namespace {

SetVariable* mutableSet(const Value& self) {
  if (auto* set = trackerOf<SetVariable>(self)) return set;
  throw GraphBreak(GraphBreakKind::MethodOfContainerSubclass, describe(self));
}

// Checks the arguments of a method that set and frozenset both have: errors name the type.
bool checkMethod(Translator& translator, const Value& self, const char* method,
                 const CallArguments& arguments, size_t minimum = 0, size_t maximum = SIZE_MAX) {
  std::string function = std::string(resultType(self)->tp_name) + "." + method;
  return checkArgumentCount(translator, function.c_str(), arguments, minimum, maximum);
}

Value add(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "set.add", arguments, 1, 1)) return Value();
  if (!mutableSet(self)->add(translator, arguments.values[0])) return Value();
  return Value::none();
}

Value removeItem(Translator& translator, const Value& self, const Value& item, bool& removed) {
  Value looked = item;
  realizeUnlessAddress(translator, looked);
  removed = mutableSet(self)->remove(translator, keyInSet(translator, looked));
  return translator.exceptionPending() ? Value() : Value::none();
}

Value discard(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "set.discard", arguments, 1, 1)) return Value();
  bool removed;
  return removeItem(translator, self, arguments.values[0], removed);
}

Value remove(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "set.remove", arguments, 1, 1)) return Value();
  bool removed = false;
  Value result = removeItem(translator, self, arguments.values[0], removed);
  if (!result || removed) return result;
  return translator.raiseWithArguments(PyExc_KeyError, {arguments.values[0]});
}

Value pop(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "set.pop", arguments, 0, 0)) return Value();
  SetVariable* set = mutableSet(self);
  if (set->size(translator) == 0) return translator.raise(PyExc_KeyError, "pop from an empty set");
  return set->pop(translator);
}

Value clear(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "set.clear", arguments, 0, 0)) return Value();
  mutableSet(self)->clear(translator);
  return Value::none();
}

Value copy(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkMethod(translator, self, "copy", arguments, 0, 0)) return Value();
  if (typeOf(self) == &PyFrozenSet_Type) return self;
  SetVariable* result = copySet(translator, resultType(self), self);
  return result ? setResult(translator, result) : Value();
}

// update and its like: one in-place operation for each argument.
template <bool (*operation)(Translator&, SetVariable*, const Value&)>
Value changeInPlace(Translator& translator, const Value& self, CallArguments& arguments) {
  SetVariable* set = mutableSet(self);
  for (const Value& argument : arguments.values) {
    if (!operation(translator, set, argument)) return Value();
  }
  return Value::none();
}

Value update(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkMethod(translator, self, "update", arguments)) return Value();
  return changeInPlace<updateSet>(translator, self, arguments);
}

Value differenceUpdate(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkMethod(translator, self, "difference_update", arguments)) return Value();
  return changeInPlace<subtractFromSet>(translator, self, arguments);
}

Value intersectionUpdate(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkMethod(translator, self, "intersection_update", arguments)) return Value();
  bool ok = intersectSet(translator, mutableSet(self), arguments.values);
  return ok ? Value::none() : Value();
}

Value symmetricUpdate(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "set.symmetric_difference_update", arguments, 1, 1)) {
    return Value();
  }
  bool ok = symmetricDifferenceUpdate(translator, mutableSet(self), arguments.values[0]);
  return ok ? Value::none() : Value();
}

// Does nobody notice that all its items are taken? What is asked for one after the other stops
// where one of them has no hash.
bool isReadUnnoticed(const Value& iterable) {
  if (isAnySet(iterable) || iterable.isConstant()) return true;
  PyTypeObject* type = typeOf(iterable);
  return type == &PyDict_Type || type == &PyList_Type || type == &PyTuple_Type;
}

// A method of a constant frozenset, where all arguments are data: CPython's own. Null without an
// exception where they are not.
Value callOnConstant(Translator& translator, const Value& self, const char* name,
                     CallArguments& arguments) {
  PyObject* object = self.objectOrNull();
  if (!object) return Value();
  for (Value& argument : arguments.values) translator.realize(argument);
  if (!llvm::all_of(arguments.values, isReadUnnoticed)) return Value();
  Ref<> operands = checked(PyTuple_New(static_cast<Py_ssize_t>(arguments.values.size())));
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    SetOperand operand;
    if (!readSetOperand(translator, arguments.values[i], operand)) return Value();
    if (!operand.real) return Value();
    PyTuple_SET_ITEM(operands.get(), i, operand.real.release());
  }
  Ref<> method = checked(PyObject_GetAttrString(object, name));
  return translator.fromPython(PyObject_Call(method.get(), operands.get(), nullptr));
}

Value unionOf(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkMethod(translator, self, "union", arguments)) return Value();
  Value constant = callOnConstant(translator, self, "union", arguments);
  if (constant || translator.exceptionPending()) return constant;
  SetVariable* result = copySet(translator, resultType(self), self);
  if (!result || !changeInPlace<updateSet>(translator, result, arguments)) return Value();
  return setResult(translator, result);
}

Value intersectionOf(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkMethod(translator, self, "intersection", arguments)) return Value();
  // Of what is no set it may leave some.
  for (Value& argument : arguments.values) translator.realize(argument);
  if (llvm::all_of(arguments.values, isAnySet)) {
    Value constant = callOnConstant(translator, self, "intersection", arguments);
    if (constant || translator.exceptionPending()) return constant;
  }
  if (arguments.values.empty()) return copy(translator, self, arguments);
  SetVariable* result = toSet(translator, self);
  for (const Value& argument : arguments.values) {
    if (!result) return Value();
    result = intersection(translator, resultType(self), result, argument);
  }
  return result ? setResult(translator, result) : Value();
}

Value differenceOf(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkMethod(translator, self, "difference", arguments)) return Value();
  Value constant = callOnConstant(translator, self, "difference", arguments);
  if (constant || translator.exceptionPending()) return constant;
  if (arguments.values.empty()) return copy(translator, self, arguments);
  SetVariable* set = toSet(translator, self);
  if (!set) return Value();
  SetVariable* result = difference(translator, resultType(self), set, arguments.values[0]);
  if (!result) return Value();
  arguments.values.erase(arguments.values.begin());
  if (!changeInPlace<subtractFromSet>(translator, result, arguments)) return Value();
  return setResult(translator, result);
}

Value symmetricDifferenceOf(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkMethod(translator, self, "symmetric_difference", arguments, 1, 1)) return Value();
  Value constant = callOnConstant(translator, self, "symmetric_difference", arguments);
  if (constant || translator.exceptionPending()) return constant;
  SetVariable* set = toSet(translator, self);
  if (!set) return Value();
  SetVariable* result = symmetricDifference(translator, resultType(self), set, arguments.values[0]);
  return result ? setResult(translator, result) : Value();
}

// set.__init__: what the set held before gives way.
Value init(Translator& translator, const Value& self, CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "set() takes no keyword arguments");
  }
  const char* name = nameOf(translator, self);
  if (!checkArgumentCount(translator, name, arguments, 0, 1)) return Value();
  SetVariable* set = mutableSet(self);
  if (set->size(translator)) set->clear(translator);
  return changeInPlace<updateSet>(translator, set, arguments);
}

enum class Relation { Subset, Superset, Disjoint };

template <Relation relation>
Value related(Translator& translator, const Value& self, CallArguments& arguments) {
  constexpr const char* kNames[] = {"issubset", "issuperset", "isdisjoint"};
  const char* name = kNames[static_cast<int>(relation)];
  if (!checkMethod(translator, self, name, arguments, 1, 1)) return Value();
  SetVariable* set = toSet(translator, self);
  if (!set) return Value();
  const Value iterable = translator.realized(arguments.values[0]);
  int all = 0;
  if (relation == Relation::Superset) {
    all = containsAll(translator, set, iterable);
    return all < 0 ? Value() : Value::boolean(all);
  }
  if (relation == Relation::Subset) {
    SetVariable* other = toSet(translator, iterable);
    all = other ? containsAll(translator, other, set) : -1;
    return all < 0 ? Value() : Value::boolean(all);
  }
  // The elements of the smaller set are looked for in the larger one, which their __eq__ can tell.
  // Of a subclass's instance, its __iter__ is asked.
  auto* other = typeOf(iterable) == &PySet_Type || typeOf(iterable) == &PyFrozenSet_Type
                    ? toSet(translator, iterable)
                    : nullptr;
  bool isDisjoint = true;
  auto look = [&](SetVariable* within, const Value& item) {
    isDisjoint = !within->contains(translator, item);
    return isDisjoint && !translator.exceptionPending();
  };
  if (other) {
    bool isLarger = other->size(translator) > set->size(translator);
    for (const Value& item : itemsOf(translator, isLarger ? set : other)) {
      if (!look(isLarger ? other : set, item)) break;
    }
  } else {
    visitItems(translator, iterable, [&](Value item) { return look(set, item); });
  }
  return translator.exceptionPending() ? Value() : Value::boolean(isDisjoint);
}

// set(iterable) and frozenset(iterable).
Value construct(Translator& translator, PyTypeObject* type, const char* name,
                CallArguments& arguments) {
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "%s() takes no keyword arguments", name);
  }
  if (arguments.values.size() > 1) {
    return translator.raise(PyExc_TypeError, "%s expected at most 1 argument, got %zu", name,
                            arguments.values.size());
  }
  if (arguments.values.empty()) return setResult(translator, translator.make<SetVariable>(type));
  Value iterable = translator.realized(arguments.values[0]);
  if (type == &PyFrozenSet_Type && typeOf(iterable) == type) return iterable;
  if (!isAnySet(iterable) && stepsInPython(iterable)) {
    Value iterator = getIterator(translator, iterable);
    if (!iterator) return iterator;
    // Only a set can be made item by item.
    bool isSet = type == &PySet_Type;
    auto* made = translator.make<SetVariable>(type);
    bool tail = arguments.tail && isSet;
    Value walked = walkItems(translator, iterator, ItemStep::Add, made, Value::none(), tail);
    return walked && !isSet ? setResult(translator, made) : walked;
  }
  SetVariable* made = copySet(translator, type, iterable);
  return made ? setResult(translator, made) : Value();
}

Value constructSet(Translator& translator, const Value&, CallArguments& arguments) {
  return construct(translator, &PySet_Type, "set", arguments);
}

Value constructFrozenSet(Translator& translator, const Value&, CallArguments& arguments) {
  return construct(translator, &PyFrozenSet_Type, "frozenset", arguments);
}

void registerSets() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&PySet_Type), constructSet);
  registerObjectHandler(reinterpret_cast<PyObject*>(&PyFrozenSet_Type), constructFrozenSet);
  registerProtocolFunction("builtins", "set");
  for (PyTypeObject* type : {&PySet_Type, &PyFrozenSet_Type}) {
    registerMethodHandler(type, "copy", copy);
    registerMethodHandler(type, "union", unionOf);
    registerMethodHandler(type, "intersection", intersectionOf);
    registerMethodHandler(type, "difference", differenceOf);
    registerMethodHandler(type, "symmetric_difference", symmetricDifferenceOf);
    registerMethodHandler(type, "issubset", related<Relation::Subset>);
    registerMethodHandler(type, "issuperset", related<Relation::Superset>);
    registerMethodHandler(type, "isdisjoint", related<Relation::Disjoint>);
    registerSlotWrappers(type);
  }
  registerMethodHandler(&PySet_Type, "__init__", init);
  registerMethodHandler(&PySet_Type, "add", add);
  registerMethodHandler(&PySet_Type, "discard", discard);
  registerMethodHandler(&PySet_Type, "remove", remove);
  registerMethodHandler(&PySet_Type, "pop", pop);
  registerMethodHandler(&PySet_Type, "clear", clear);
  registerMethodHandler(&PySet_Type, "update", update);
  registerMethodHandler(&PySet_Type, "difference_update", differenceUpdate);
  registerMethodHandler(&PySet_Type, "intersection_update", intersectionUpdate);
  registerMethodHandler(&PySet_Type, "symmetric_difference_update", symmetricUpdate);
}

}  // namespace

ARMATURE_REGISTER_HANDLERS(registerSets);

}  // namespace armature
