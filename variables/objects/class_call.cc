// What calling a class that is written in Python makes: type_call.
#include "core/builtin_part.h"
#include "cpython/instance_attributes.h"
#include "cpython/simple_namespace.h"
#include "cpython/type_lookup.h"
#include "variables/constants/constant.h"
#include "variables/containers/deque.h"
#include "variables/containers/set_operations.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/functions/library_calls.h"
#include "variables/functions/partial.h"
#include "variables/kind_slots.h"
#include "variables/objects/exception.h"
#include "variables/objects/made_class.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/protocol/real_data.h"

namespace armature {

namespace {

PyObject* initName() {
  static PyObject* const name = staticName("__init__");
  return name;
}

PyObject* newName() {
  static PyObject* const name = staticName("__new__");
  return name;
}

PyObject* delName() {
  static PyObject* const name = staticName("__del__");
  return name;
}

// Gives the instance.
Value runInit(Translator& translator, const Value& instance, CallArguments& arguments) {
  Value method = lookupSpecial(translator, instance, initName());
  if (!method) return method;
  return then(translator, call(translator, method, arguments), {OnReturn::CheckInit, {instance}});
}

// The class whose __init__, in C, a class has; null for one in Python.
PyTypeObject* ownerOfBuiltinInit(const Found& init) {
  bool isBuiltin = init && Py_TYPE(init.object) == &PyWrapperDescr_Type;
  return isBuiltin ? reinterpret_cast<PyDescrObject*>(init.object)->d_type : nullptr;
}

// __new__ in Python, and then __init__ of what it has made: an OnReturn::InitMade, whose operands
// are the class, the names of the keywords, the tuple of the arguments, and the arguments. None: no
// such.
Value callNew(Translator& translator, const Value& callable, CallArguments& arguments) {
  Value function = translator.realized(getAttribute(translator, callable, newName()));
  if (!function) return function;
  if (!trackerOf<UserFunctionVariable>(function)) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, describe(callable));
  }
  Continuation onward = {OnReturn::InitMade, {callable, Value::none(), Value::none()}};
  if (arguments.keywordCount()) onward.operands[1] = Value::constant(arguments.keywordNames);
  if (arguments.tuple) onward.operands[2] = arguments.tuple;
  onward.operands.append(arguments.values.begin(), arguments.values.end());
  CallArguments all = arguments;
  all.values.insert(all.values.begin(), callable);
  Value made = call(translator, function, all);
  return then(translator, std::move(made), std::move(onward), arguments.tail);
}

// A class of exceptions with a __new__ of a builtin one.
Value makeException(Translator& translator, const Value& callable, const Found& newFunction,
                    CallArguments& arguments) {
  PyTypeObject* type = requireKind<UserClassVariable>(callable)->value();
  PyTypeObject* initOwner = ownerOfBuiltinInit(translator.heap.lookup(type, initName()));
  auto* newOwner = reinterpret_cast<PyTypeObject*>(PyCFunction_GET_SELF(newFunction.object));
  Value instance = constructException(translator, callable, type, newOwner, initOwner, arguments);
  if (!instance || initOwner) return instance;
  return runInit(translator, instance, arguments);
}

// When an object dies depends on Python running the program, so one that notices its end is made
// by Python. And so is the TypeError of an abstract class.
void requireMakeable(Translator& translator, PyTypeObject* type) {
  if (translator.heap.lookup(type, delName())) {
    throw GraphBreak(GraphBreakKind::Finalizer, type->tp_name);
  }
  if (translator.heap.isAbstract(type)) {
    throw GraphBreak(GraphBreakKind::AbstractInstance, type->tp_name);
  }
}

// The items of a new instance of a subclass of a builtin type; null for a layout without items.
// `items`: those of what can't be changed any more.
VariableTracker* makeItems(Translator& translator, PyTypeObject* type, PyTypeObject* layout,
                           VariableTracker* items) {
  if (layout == &PyDict_Type || layout == &PyODict_Type) {
    return translator.make<DictVariable>(layout);
  }
  if (layout == &PyList_Type) return translator.make<ListVariable>(ValueVector(), type);
  if (layout == &PySet_Type) return translator.make<SetVariable>(type);
  if (layout == cpython::dequeType()) return translator.make<DequeVariable>(type);
  return items;
}

// By the __new__ of `layout`: object's, or that of a container.
Value makeObject(Translator& translator, UserClassVariable* cls, PyTypeObject* layout,
                 VariableTracker* items = nullptr) {
  requireMakeable(translator, cls->value());
  auto* object = translator.make<UserObjectVariable>(cls);
  object->container = makeItems(translator, cls->value(), layout, items);
  if (object->container) object->container->instance = object;
  return object;
}

}  // namespace

Value makeImmutable(Translator& translator, UserClassVariable* cls, PyTypeObject* layout,
                    CallArguments& arguments) {
  PyTypeObject* type = cls->value();
  bool isTuple = layout == &PyTuple_Type;
  if (arguments.keywordCount() || arguments.values.size() > 1) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, type->tp_name);
  }
  if (isTuple) {
    ValueVector items;
    if (!arguments.values.empty() && !collectInto(translator, arguments.values[0], items)) {
      return Value();
    }
    if (isNamedTupleType(translator.heap, type) && !cpython::hasInstanceDict(type)) {
      requireMakeable(translator, type);
      return translator.make<NamedTupleVariable>(type, std::move(items));
    }
    auto* part = translator.make<TupleVariable>(std::move(items), nullptr, nullptr, type);
    return makeObject(translator, cls, layout, part);
  }
  auto* part = translator.make<SetVariable>(type);
  bool ok = arguments.values.empty() || updateSet(translator, part, arguments.values[0]);
  return ok ? makeObject(translator, cls, layout, part) : Value();
}

namespace {

// By the __new__ of int, float, complex, str or bytes, of data.
Value makeDataObject(Translator& translator, UserClassVariable* cls, PyTypeObject* layout,
                     CallArguments arguments) {
  requireMakeable(translator, cls->value());
  // float_new has no use for keywords, which a class with an __init__ of its own may take.
  if (layout == &PyFloat_Type && arguments.keywordCount() &&
      !translator.heap.inherits(cls->value(), &PyBaseObject_Type, initName())) {
    arguments.dropKeywords();
  }
  for (Value& argument : arguments.values) translator.realize(argument);
  if (!makeData(translator, arguments)) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, cls->value()->tp_name);
  }
  Value data = callWithData(translator, reinterpret_cast<PyObject*>(layout), arguments);
  if (!data) return data;
  auto* object = translator.make<UserObjectVariable>(cls);
  object->data = std::move(data);
  return object;
}

// Does the type's __new__ ignore its arguments, which its __init__ fills it by?
bool isFilledLater(PyTypeObject* layout) {
  return layout == &PyDict_Type || layout == &PyODict_Type || layout == &PyList_Type ||
         layout == &PySet_Type || layout == cpython::dequeType() ||
         layout == cpython::simpleNamespaceType();
}

// type_call without a metaclass's own.
Value makeInstance(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* cls = requireKind<UserClassVariable>(callable);
  PyTypeObject* type = cls->value();
  Heap& heap = translator.heap;
  if (!type->tp_new) {
    return translator.raise(PyExc_TypeError, "cannot create '%.100s' instances", type->tp_name);
  }
  Found newFunction = heap.lookup(type, newName());
  if (newFunction && !PyCFunction_Check(newFunction.object)) {
    if (heap.lookup(type, delName())) throw GraphBreak(GraphBreakKind::Finalizer, type->tp_name);
    return callNew(translator, callable, arguments);
  }
  if (newFunction && heap.isSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException))) {
    if (heap.lookup(type, delName())) throw GraphBreak(GraphBreakKind::Finalizer, type->tp_name);
    return makeException(translator, callable, newFunction, arguments);
  }
  bool isPartial = partialType() && heap.isSubtype(type, partialType());
  if (isPartial && heap.inherits(type, partialType(), newName())) {
    requireMakeable(translator, type);
    PartialVariable* part = makePartial(translator, type, arguments);
    if (!part) return Value();
    auto* object = translator.make<UserObjectVariable>(cls);
    object->container = part;
    part->instance = object;
    bool inheritsInit = heap.inherits(type, &PyBaseObject_Type, initName());
    return inheritsInit ? Value(object) : runInit(translator, object, arguments);
  }
  PyTypeObject* layout = cpython::staticBase(type);
  if (layout == &PyType_Type && arguments.positionalCount() == 3 && heap.hasNewOf(type, layout)) {
    CallArguments given = arguments;
    given.tail = false;
    Value made = makeClass(translator, callable, given);
    if (!made || heap.inherits(type, layout, initName())) return made;
    return runInit(translator, made, arguments);
  }
  bool isFilled = isFilledLater(layout);
  bool isImmutable = layout == &PyTuple_Type || layout == &PyFrozenSet_Type;
  bool isData = dataLayout(type) == layout;
  bool hasBuiltinNew = heap.inherits(type, layout, newName()) && heap.hasNewOf(type, layout);
  if ((layout != &PyBaseObject_Type && !isFilled && !isImmutable && !isData) || !hasBuiltinNew) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, type->tp_name);
  }
  bool inheritsInit = heap.inherits(type, &PyBaseObject_Type, initName());
  Value instance = isData        ? makeDataObject(translator, cls, layout, arguments)
                   : isImmutable ? makeImmutable(translator, cls, layout, arguments)
                                 : makeObject(translator, cls, layout);
  if (!instance) return instance;
  if (!inheritsInit) return runInit(translator, instance, arguments);
  if (arguments.values.empty() || isData || isImmutable) return instance;
  return translator.raise(PyExc_TypeError, "%.200s() takes no arguments", nameOf(translator, type));
}

// object.__new__(cls, …), which is no method: cls is an argument (tp_new_wrapper, object_new).
Value objectNew(Translator& translator, const Value&, CallArguments& arguments) {
  Value first = arguments.positionalCount() ? translator.realized(arguments.values[0]) : Value();
  auto* cls = trackerOf<UserClassVariable>(first);
  bool isPlain = cls && cpython::staticBase(cls->value()) == &PyBaseObject_Type;
  if (!isPlain) throw GraphBreak(GraphBreakKind::ClassWithNew, "object.__new__");
  PyTypeObject* type = cls->value();
  if (arguments.values.size() > 1) {
    if (!translator.heap.hasNewOf(type, &PyBaseObject_Type)) {
      return translator.raise(PyExc_TypeError,
                              "object.__new__() takes exactly one argument (the type to "
                              "instantiate)");
    }
    if (translator.heap.inherits(type, &PyBaseObject_Type, initName())) {
      return translator.raise(PyExc_TypeError, "%.200s() takes no arguments",
                              nameOf(translator, type));
    }
  }
  translator.heap.lookup(type, newName());  // by which the type's slot is known
  return makeObject(translator, cls, &PyBaseObject_Type);
}

// object(): a mark that is nothing but itself.
Value plainObject(Translator& translator, const Value&, CallArguments& arguments) {
  if (!arguments.values.empty()) {
    return translator.raise(PyExc_TypeError, "object() takes no arguments");
  }
  auto* type = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
  return translator.make<UserObjectVariable>(translator.make<UserClassVariable>(nullptr, type));
}

// int.__new__(cls, …) and its like.
template <PyTypeObject& layout>
Value dataNew(Translator& translator, const Value&, CallArguments& arguments) {
  Value first = arguments.positionalCount() ? translator.realized(arguments.values[0]) : Value();
  auto* cls = trackerOf<UserClassVariable>(first);
  if (!cls || dataLayout(cls->value()) != &layout) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, std::string(layout.tp_name) + ".__new__");
  }
  translator.heap.lookup(cls->value(), newName());
  CallArguments rest = arguments;
  rest.values.erase(rest.values.begin());
  return makeDataObject(translator, cls, &layout, std::move(rest));
}

// list.__new__(cls, …) and its like.
Value makeContainer(Translator& translator, CallArguments& arguments, PyTypeObject& layout) {
  Value first = arguments.positionalCount() ? translator.realized(arguments.values[0]) : Value();
  auto* cls = trackerOf<UserClassVariable>(first);
  PyTypeObject* actual = cls ? cpython::staticBase(cls->value()) : nullptr;
  // OrderedDict has that of dict.
  bool isLayout = actual == &layout || (&layout == &PyDict_Type && actual == &PyODict_Type);
  if (!isLayout) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, std::string(layout.tp_name) + ".__new__");
  }
  translator.heap.lookup(cls->value(), newName());
  if (isFilledLater(&layout)) return makeObject(translator, cls, actual);
  CallArguments rest = arguments;
  rest.values.erase(rest.values.begin());
  return makeImmutable(translator, cls, &layout, rest);
}

template <PyTypeObject& layout>
Value containerNew(Translator& translator, const Value&, CallArguments& arguments) {
  return makeContainer(translator, arguments, layout);
}
Value dequeNew(Translator& translator, const Value&, CallArguments& arguments) {
  return makeContainer(translator, arguments, *cpython::dequeType());
}

// type.__call__(cls, …), as a metaclass's __call__ comes to it.
Value typeCall(Translator& translator, const Value& self, CallArguments& arguments) {
  Value cls = translator.realized(self);
  if (!trackerOf<UserClassVariable>(cls)) {
    throw GraphBreak(GraphBreakKind::MetaclassCall, describe(cls));
  }
  return makeInstance(translator, cls, arguments);
}

void registerClassCalls() {
  registerObjectHandler(reinterpret_cast<PyObject*>(&PyBaseObject_Type), plainObject);
  registerMethodHandler(&PyBaseObject_Type, "__new__", objectNew);
  registerMethodHandler(&PyLong_Type, "__new__", dataNew<PyLong_Type>);
  registerMethodHandler(&PyFloat_Type, "__new__", dataNew<PyFloat_Type>);
  registerMethodHandler(&PyComplex_Type, "__new__", dataNew<PyComplex_Type>);
  registerMethodHandler(&PyUnicode_Type, "__new__", dataNew<PyUnicode_Type>);
  registerMethodHandler(&PyBytes_Type, "__new__", dataNew<PyBytes_Type>);
  registerMethodHandler(&PyDict_Type, "__new__", containerNew<PyDict_Type>);
  registerMethodHandler(&PyList_Type, "__new__", containerNew<PyList_Type>);
  registerMethodHandler(&PySet_Type, "__new__", containerNew<PySet_Type>);
  registerMethodHandler(cpython::dequeType(), "__new__", dequeNew);
  registerMethodHandler(&PyFrozenSet_Type, "__new__", containerNew<PyFrozenSet_Type>);
  registerMethodHandler(&PyType_Type, "__call__", typeCall);
  registerProtocolMethod(&PyType_Type, "__call__");
}
ARMATURE_REGISTER_HANDLERS(registerClassCalls);

}  // namespace

Value initializeMade(Translator& translator, const Value& cls, Value made,
                     CallArguments& arguments) {
  Heap& heap = translator.heap;
  translator.realize(made);
  PyTypeObject* type = typeOf(made);
  if (!heap.isSubtype(type, requireKind<UserClassVariable>(cls)->value())) return made;
  PyTypeObject* owner = ownerOfBuiltinInit(heap.lookup(type, initName()));
  if (auto* exception = trackerOf<ExceptionVariable>(made); exception && owner) {
    return initializeException(translator, *exception, owner, arguments) ? made : Value();
  }
  // With a __new__ of the class's own, object's takes all arguments.
  bool takesAll = arguments.values.empty() || !heap.hasNewOf(type, &PyBaseObject_Type);
  if (takesAll && heap.inherits(type, &PyBaseObject_Type, initName())) return made;
  if (cpython::staticBase(type) == &PyType_Type && heap.inherits(type, &PyType_Type, initName())) {
    return made;
  }
  return runInit(translator, made, arguments);
}

Value callClass(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto* cls = requireKind<UserClassVariable>(callable);
  BuiltinHandler handler = cls->made() ? nullptr : findHandler(cls->existing());
  if (handler) {
    arguments.tail = false;
    return handler(translator, callable, arguments);
  }
  Value result;
  if (!cls->made() && callLibrary(translator, callable, arguments, result)) return result;
  static PyObject* const callName = staticName("__call__");
  PyTypeObject* metaclass = Py_TYPE(cls->value());
  if (translator.heap.inherits(metaclass, &PyType_Type, callName)) {
    return makeInstance(translator, callable, arguments);
  }
  Found found = translator.heap.lookup(metaclass, callName);
  // A class binds as nothing: it is called with what the call was given (TypedDict's is dict).
  bool isCalled = PyFunction_Check(found.object) || PyType_Check(found.object);
  if (!isCalled) {
    throw GraphBreak(GraphBreakKind::MetaclassCall, describe(callable));
  }
  Value method = bindTypeAttribute(translator, found, callable, metaclass, callName);
  return call(translator, method, arguments);
}

}  // namespace armature
