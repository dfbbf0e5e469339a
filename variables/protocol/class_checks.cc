// isinstance and issubclass: PyObject_IsInstance and PyObject_IsSubclass of abstract.c, and what
// _abc.c makes of them for abstract base classes.
#include <cstring>

#include "core/checked.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/constants/sym_node_variable.h"
#include "variables/containers/sequence.h"
#include "variables/continuation.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/recursion_guard.h"

namespace armature {

PyTypeObject* unionType() {
  static PyTypeObject* const type = [] {
    Ref<> example = Ref<>::steal(PyNumber_Or(reinterpret_cast<PyObject*>(&PyLong_Type),
                                             reinterpret_cast<PyObject*>(&PyUnicode_Type)));
    return example ? Py_TYPE(example.get()) : nullptr;
  }();
  return type;
}

namespace {

[[noreturn]] void notAClass(const Value& classInfo) {
  throw GraphBreak(GraphBreakKind::ClassCheckAgainstObject, describe(classInfo));
}

// The members of a tuple of classes or of a union (`int | str`). False for anything else.
bool alternatives(Translator& translator, const Value& classInfo, ValueVector& members) {
  PyObject* object = classInfo.objectOrNull();
  auto* tuple = partOf<TupleVariable>(classInfo);
  if ((object && PyTuple_CheckExact(object)) || tuple) {
    return iterateInto(translator, tuple ? Value(tuple) : classInfo, members);
  }
  static PyObject* const member = cpython::ownAttribute(unionType(), "__args__");
  auto* existing = trackerOf<OpaqueVariable>(classInfo);
  if (existing && existing->source() && typeOf(classInfo) == unionType()) {
    const Source* source = translator.sources->item(SourceKind::Slot, existing->source(), member);
    PyObject* arguments = cpython::memberValue(existing->existing(), member);
    return iterateInto(translator, translator.wrap(source, arguments), members);
  }
  if (!object || Py_TYPE(object) != unionType()) return false;
  PyObject* arguments = cpython::memberValue(object, member);
  for (Py_ssize_t i = 0; arguments && i < PyTuple_GET_SIZE(arguments); ++i) {
    PyObject* member = PyTuple_GET_ITEM(arguments, i);
    members.push_back(PyType_Check(member)
                          ? translator.knownClass(reinterpret_cast<PyTypeObject*>(member))
                          : Value::constant(member));
  }
  return arguments != nullptr;
}

// The metaclass's own check, if it has one: a Python function, which is traced.
Value ownCheck(Translator& translator, PyTypeObject* type, const Value& classInfo,
               const char* name) {
  PyTypeObject* metaclass = Py_TYPE(type);
  Ref<> special = Ref<>::steal(PyUnicode_InternFromString(name));
  if (!special) throw std::bad_alloc();
  if (translator.heap.inherits(metaclass, &PyType_Type, special.get())) return Value();
  return lookupSpecial(translator, classInfo, special.get());
}

// The check of an object that is no class but has one, as the aliases of typing do.
int checkOfObject(Translator& translator, const Value& classInfo, const char* name,
                  const Value& asked) {
  // check_class: data has no __bases__.
  if (isConstantData(classInfo)) {
    bool isInstance = std::strcmp(name, "__instancecheck__") == 0;
    // recursive_issubclass looks at its first argument first.
    Value first = translator.realized(asked);
    if (!isInstance && !asClass(first)) {
      if (!isConstantData(first)) notAClass(first);
      translator.raise(PyExc_TypeError, "issubclass() arg 1 must be a class");
      return -1;
    }
    translator.raise(PyExc_TypeError, isInstance ? "isinstance() arg 2 must be a type, a tuple of "
                                                   "types, or a union"
                                                 : "issubclass() arg 2 must be a class, a tuple of "
                                                   "classes, or a union");
    return -1;
  }
  if (!trackerOf<UserObjectVariable>(classInfo)) notAClass(classInfo);
  Ref<> special = Ref<>::steal(PyUnicode_InternFromString(name));
  if (!special) throw std::bad_alloc();
  Value check = lookupSpecial(translator, classInfo, special.get());
  if (!check && !translator.exceptionPending()) notAClass(classInfo);
  Value answer = check ? call(translator, check, {asked}) : Value();
  return answer ? isTrue(translator, answer) : -1;
}

template <class Check>
int anyOf(Translator& translator, const Value& classInfo, Check check, bool& isMany) {
  ValueVector members;
  isMany = alternatives(translator, classInfo, members);
  if (!isMany) return translator.exceptionPending() ? -1 : 0;
  RecursionGuard scope(translator);
  CountedCall counted(translator);
  for (const Value& member : members) {
    int result = check(member);
    if (result != 0) return result;
  }
  return 0;
}

// object_isinstance: by the type, or by what __class__ says where a class defines that itself.
int isPlainInstance(Translator& translator, const Value& object, PyTypeObject* type) {
  PyTypeObject* actual = typeOf(object);
  if (translator.heap.isSubtype(actual, type)) return 1;
  static PyObject* const className = staticName("__class__");
  static PyObject* const getattribute = staticName("__getattribute__");
  Heap& heap = translator.heap;
  bool isOrdinary = heap.inherits(actual, &PyBaseObject_Type, className) &&
                    (cpython::isImmutable(actual) ||
                     heap.inherits(actual, cpython::staticBase(actual), getattribute));
  if (isOrdinary) return 0;
  Value claimed = translator.realized(getOptionalAttribute(translator, object, className));
  if (!claimed) return translator.exceptionPending() ? -1 : 0;
  PyTypeObject* claim = asClass(claimed);
  return claim && claim != actual && heap.isSubtype(claim, type);
}

int isAbstractSubclass(Translator& translator, const Value& derived, const Value& base) {
  Heap::Answer answer = translator.heap.isAbstractSubclass(asClass(derived), asClass(base));
  if (answer == Heap::Answer::RunsCode) {
    throw GraphBreak(GraphBreakKind::SubclassHook, describe(base));
  }
  if (answer == Heap::Answer::Raised) translator.raiseFromPython();
  return static_cast<int>(answer);
}

Value asBoolean(int result) { return result < 0 ? Value() : Value::boolean(result); }

Value abcSubclassCheck(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_abc_subclasscheck", arguments, 2, 2)) return Value();
  Value base = translator.realized(arguments.values[0]);
  Value derived = translator.realized(arguments.values[1]);
  if (!asClass(base)) notAClass(base);
  if (!asClass(derived)) {
    return translator.raise(PyExc_TypeError, "issubclass() arg 1 must be a class");
  }
  return asBoolean(isAbstractSubclass(translator, derived, base));
}

// _abc__abc_instancecheck_impl: by __class__, and by the type where that is another. Python looks
// __subclasscheck__ up on the class; it is ABCMeta's unless a metaclass overrides it.
Value abcInstanceCheck(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "_abc_instancecheck", arguments, 2, 2)) return Value();
  static PyObject* const className = staticName("__class__");
  Value base = translator.realized(arguments.values[0]);
  Value object = translator.realized(arguments.values[1]);
  if (!asClass(base)) notAClass(base);
  Value claimed = translator.realized(getAttribute(translator, object, className));
  if (!claimed) return claimed;
  int result = isSubclass(translator, claimed, base);
  Value actual = typeValue(translator, object);
  if (result == 0 && asClass(actual) != asClass(claimed)) {
    result = isSubclass(translator, actual, base);
  }
  return asBoolean(result);
}

// What super().__instancecheck__ and __subclasscheck__ of a metaclass come to: the checks without
// any metaclass's own.
Value typeInstanceCheck(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "__instancecheck__", arguments, 1, 1)) return Value();
  Value type = translator.realized(self);
  if (!asClass(type)) notAClass(type);
  Value object = arguments.values[0];
  realizeType(translator, object);
  return asBoolean(isPlainInstance(translator, object, asClass(type)));
}

Value typeSubclassCheck(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "__subclasscheck__", arguments, 1, 1)) return Value();
  Value type = translator.realized(self);
  Value derived = translator.realized(arguments.values[0]);
  for (const Value& value : {type, derived}) {
    if (!asClass(value)) notAClass(value);
  }
  return Value::boolean(translator.heap.isSubtype(asClass(derived), asClass(type)));
}

void registerClassCheckHandlers() {
  registerMethodHandler(&PyType_Type, "__instancecheck__", typeInstanceCheck);
  registerMethodHandler(&PyType_Type, "__subclasscheck__", typeSubclassCheck);
  registerFunctionHandler("_abc", "_abc_subclasscheck", abcSubclassCheck);
  registerFunctionHandler("_abc", "_abc_instancecheck", abcInstanceCheck);
}
ARMATURE_REGISTER_HANDLERS(registerClassCheckHandlers);

}  // namespace

int isSubclass(Translator& translator, Value derived, Value classInfo) {
  RecursionGuard guard(translator);
  translator.realize(derived);
  translator.realize(classInfo);
  bool isMany = false;
  int result = anyOf(
      translator, classInfo,
      [&](const Value& member) { return isSubclass(translator, derived, member); }, isMany);
  if (isMany || result < 0) return result;
  PyTypeObject* type = asClass(derived);
  PyTypeObject* base = asClass(classInfo);
  if (!base) return checkOfObject(translator, classInfo, "__subclasscheck__", derived);
  if (Value check = ownCheck(translator, base, classInfo, "__subclasscheck__")) {
    Value answer = call(translator, check, {derived});
    return answer ? isTrue(translator, answer) : -1;
  }
  if (translator.exceptionPending()) return -1;
  if (!type) {
    // What has bases counts as a class.
    static PyObject* const bases = staticName("__bases__");
    if (getOptionalAttribute(translator, derived, bases)) notAClass(derived);
    if (translator.exceptionPending()) return -1;
    translator.raise(PyExc_TypeError, "issubclass() arg 1 must be a class");
    return -1;
  }
  return translator.heap.isSubtype(type, base);
}

namespace {

// The Python method that one class answers by; null for none, or with the exception pending.
Value checkOfOwn(Translator& translator, const Value& asked, const Value& member,
                 bool asksForSubclass) {
  const char* name = asksForSubclass ? "__subclasscheck__" : "__instancecheck__";
  PyTypeObject* type = asClass(member);
  if (!type || Py_TYPE(type) == &PyType_Type) return Value();
  if (!asksForSubclass && typeOf(asked) == type) return Value();
  return ownCheck(translator, type, member, name);
}

// A question of isinstance() or issubclass() in which the frame of a class's own method is pushed.
struct ClassQuestion {
  const Value& asked;
  bool asksForSubclass;
  ValueVector rest;  // the classes that are left where a frame is pushed
};

Value askClass(Translator& translator, ClassQuestion& question, const Value& member) {
  Value check = checkOfOwn(translator, question.asked, member, question.asksForSubclass);
  if (check) {
    Value answer = call(translator, check, {question.asked}, true);
    return then(translator, std::move(answer), {OnReturn::Truth, {}}, true);
  }
  if (translator.exceptionPending()) return Value();
  return asBoolean(question.asksForSubclass ? isSubclass(translator, question.asked, member)
                                            : isInstance(translator, question.asked, member));
}

Value askInTurn(Translator& translator, ClassQuestion& question, Value classInfo) {
  translator.realize(classInfo);
  ValueVector members;
  if (!alternatives(translator, classInfo, members)) {
    return translator.exceptionPending() ? Value() : askClass(translator, question, classInfo);
  }
  RecursionGuard scope(translator);
  CountedCall counted(translator);
  for (size_t i = 0; i < members.size(); ++i) {
    Value answer = askInTurn(translator, question, members[i]);
    if (answer.isFramePushed()) {
      question.rest.append(members.begin() + static_cast<int64_t>(i) + 1, members.end());
    }
    if (!answer.is(Py_False)) return answer;
  }
  return Value::boolean(false);
}

}  // namespace

Value askClasses(Translator& translator, const Value& asked, const Value& classInfo,
                 bool asksForSubclass, bool tail) {
  // Most classes have no method that answers.
  PyTypeObject* only = asClass(translator.realized(classInfo));
  bool isOrdinary = only && Py_TYPE(only) == &PyType_Type;
  if (!tail || isOrdinary) {
    return asBoolean(asksForSubclass ? isSubclass(translator, asked, classInfo)
                                     : isInstance(translator, asked, classInfo));
  }
  Value object = asked;
  if (asksForSubclass) {
    translator.realize(object);
  } else {
    realizeType(translator, object);
  }
  ClassQuestion question{object, asksForSubclass, {}};
  Value answer = askInTurn(translator, question, classInfo);
  if (!answer.isFramePushed()) return answer;
  return then(
      translator, std::move(answer),
      {OnReturn::NextClass,
       {asked, makeTuple(translator, std::move(question.rest)), Value::boolean(asksForSubclass)}});
}

int isInstance(Translator& translator, Value object, Value classInfo) {
  RecursionGuard guard(translator);
  realizeType(translator, object);
  translator.realize(classInfo);
  PyTypeObject* type = asClass(classInfo);
  if (type && typeOf(object) == type) return 1;
  bool isMany = false;
  int result = anyOf(
      translator, classInfo,
      [&](const Value& member) { return isInstance(translator, object, member); }, isMany);
  if (isMany || result < 0) return result;
  if (!type) return checkOfObject(translator, classInfo, "__instancecheck__", object);
  if (Value check = ownCheck(translator, type, classInfo, "__instancecheck__")) {
    Value answer = call(translator, check, {object});
    return answer ? isTrue(translator, answer) : -1;
  }
  if (translator.exceptionPending()) return -1;
  return isPlainInstance(translator, object, type);
}

}  // namespace armature
