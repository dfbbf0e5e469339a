#include "variables/objects/exception.h"

#include "core/checked.h"
#include "core/text.h"
#include "cpython/type_lookup.h"
#include "variables/ends_of_objects.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/exception_group.h"
#include "variables/objects/instance_dict.h"
#include "variables/objects/traceback.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

DictVariable* exceptionDict(Translator& translator, const Value& self) {
  auto* exception = requireKind<ExceptionVariable>(self);
  if (!exception->dict) {
    DictVariable* dict = exception->existing() ? existingInstanceDict(translator, exception)
                                               : translator.make<DictVariable>(exception);
    assignTrailed(translator.trail, exception->dict, dict);
  }
  return exception->dict;
}

namespace {

Value orNone(const Value& value) { return value ? value : Value::none(); }

ExceptionVariable* exceptionOf(const Value& self) { return requireKind<ExceptionVariable>(self); }

bool isInstance(Translator& translator, const Value& value, PyObject* exceptionClass) {
  return translator.heap.isSubtype(typeOf(value), reinterpret_cast<PyTypeObject*>(exceptionClass));
}

// --- Fields of exceptions that existed before.

PyObject* descriptorOf(const char* name) {
  return cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(PyExc_BaseException), name);
}

PyObject* memberDescriptor(const ExceptionVariable& exception, size_t index) {
  ExceptionFields fields = fieldsOf(exception.type());
  return cpython::ownAttribute(fields.owner, fields.names[index]);
}

Value existingField(Translator& translator, const ExceptionVariable& exception,
                    PyObject* descriptor) {
  PyObject* object = exception.existing();
  Ref<> value = checked(
      Py_TYPE(descriptor)
          ->tp_descr_get(descriptor, object, reinterpret_cast<PyObject*>(exception.type())));
  const Source* source =
      translator.sources->item(SourceKind::Descriptor, exception.source(), descriptor);
  return translator.wrap(source, value);
}

// A field gets another value, or none: `before` is what it holds.
void recordField(Translator& translator, ExceptionVariable& exception, PyObject* descriptor,
                 const Value& before, const Value& value) {
  if (!translator.effects.concerns(&exception)) return;
  letGo(translator, before);
  SideEffects& effects = translator.effects;
  int32_t last = effects.last(&exception);
  if (last != SideEffects::kNone && effects[last].key.is(descriptor)) effects.cancel(last);
  effects.append({EffectKind::SlotSet, &exception, Value::constant(descriptor),
                  value ? value : Value::none()});
}

void setLink(Translator& translator, ExceptionVariable& exception, const char* name, Value& link,
             const Value& before, Value value) {
  recordField(translator, exception, descriptorOf(name), before, value);
  if (!value && exception.existing()) value = Value::none();
  assignTrailed(translator.trail, link, std::move(value));
}

void setSuppressed(Translator& translator, ExceptionVariable& exception, bool suppressed) {
  assignTrailed(translator.trail, exception.suppressContext, suppressed);
  assignTrailed(translator.trail, exception.knowsSuppressContext, true);
}

// --- Attributes.

Value getArguments(Translator& translator, const Value& self) {
  return makeTuple(translator, argumentsOf(translator, *exceptionOf(self)));
}

void replaceArguments(Translator& translator, ExceptionVariable& exception, ValueVector arguments) {
  recordField(translator, exception, descriptorOf("args"), Value(),
              makeTuple(translator, arguments));
  recordUndo(translator.trail,
             [&exception, before = exception.arguments] { exception.arguments = before; });
  assignTrailed(translator.trail, exception.knowsArguments, true);
  exception.arguments = std::move(arguments);
}

// BaseException_set_args
bool setArguments(Translator& translator, const Value& self, const Value& value) {
  if (!value) {
    translator.raise(PyExc_TypeError, "args may not be deleted");
    return false;
  }
  ExceptionVariable* exception = exceptionOf(self);
  ValueVector arguments;
  if (!iterateInto(translator, value, arguments)) return false;
  if (exception->existing()) {
    letGo(translator, existingField(translator, *exception, descriptorOf("args")));
  }
  replaceArguments(translator, *exception, std::move(arguments));
  return true;
}

// What BaseException_set_cause and BaseException_set_context demand of the value.
bool isLink(Translator& translator, const char* name, Value& value) {
  if (!value) {
    translator.raise(PyExc_TypeError, "__%s__ may not be deleted", name);
    return false;
  }
  translator.realize(value);
  if (!value.is(Py_None) && !isInstance(translator, value, PyExc_BaseException)) {
    translator.raise(PyExc_TypeError, "exception %s must be None or derive from BaseException",
                     name);
    return false;
  }
  return true;
}

bool assignCause(Translator& translator, const Value& self, const Value& value) {
  Value cause = value;
  if (!isLink(translator, "cause", cause)) return false;
  setCause(translator, *exceptionOf(self), std::move(cause));
  return true;
}

bool assignContext(Translator& translator, const Value& self, const Value& value) {
  Value context = value;
  if (!isLink(translator, "context", context)) return false;
  setContext(translator, *exceptionOf(self), std::move(context));
  return true;
}

bool assignTraceback(Translator& translator, const Value& self, const Value& value) {
  if (!value) {
    translator.raise(PyExc_TypeError, "__traceback__ may not be deleted");
    return false;
  }
  Value traceback = translator.realized(value);
  bool isNone = traceback.is(Py_None);
  if (!isNone && typeOf(traceback) != &PyTraceBack_Type) {
    translator.raise(PyExc_TypeError, "__traceback__ must be a traceback or None");
    return false;
  }
  setTraceback(translator, *exceptionOf(self), isNone ? Value() : std::move(traceback));
  return true;
}

Value getSuppressContext(Translator& translator, const Value& self) {
  ExceptionVariable* exception = exceptionOf(self);
  if (exception->knowsSuppressContext) return Value::boolean(exception->suppressContext);
  return existingField(translator, *exception, descriptorOf("__suppress_context__"));
}

bool assignSuppressContext(Translator& translator, const Value& self, const Value& value) {
  Value truth = translator.realized(value);
  if (!truth.is(Py_True) && !truth.is(Py_False)) {
    translator.raise(PyExc_TypeError, truth ? "attribute value type must be bool"
                                            : "can't delete numeric/char attribute");
    return false;
  }
  ExceptionVariable* exception = exceptionOf(self);
  recordField(translator, *exception, descriptorOf("__suppress_context__"), Value(), truth);
  setSuppressed(translator, *exception, truth.is(Py_True));
  return true;
}

// A field that is a C number, and what it is before __init__ has set it.
bool isNumber(const ExceptionFields& fields, size_t index) {
  std::string_view name = fields.names[index];
  return name == "start" || name == "end";
}

template <size_t index>
Value getMember(Translator& translator, const Value& self) {
  ExceptionVariable* exception = exceptionOf(self);
  if (Value value = fieldValue(translator, *exception, index)) return value;
  return isNumber(fieldsOf(exception->type()), index) ? Value::integer(0) : Value::none();
}

template <size_t index>
bool assignMember(Translator& translator, const Value& self, const Value& value) {
  ExceptionVariable* exception = exceptionOf(self);
  bool isDeletion = !value && exception->existing();
  if (isNumber(fieldsOf(exception->type()), index) || isDeletion) {
    throw GraphBreak(GraphBreakKind::AssignmentToCObject, describe(self));
  }
  setField(translator, *exception, index, value);
  return true;
}

bool refuseMember(Translator& translator, const Value&, const Value&) {
  translator.raise(PyExc_AttributeError, "readonly attribute");
  return false;
}

#define MEMBER(type, name, index) \
  { &PyExc_##type, name, getMember<index>, assignMember<index> }
constexpr BuiltinAttribute kExceptionAttributes[] = {
    {&PyExc_BaseException, "args", getArguments, setArguments},
    {&PyExc_BaseException, "__cause__",
     [](Translator& translator, const Value& self) {
       return orNone(causeOf(translator, *exceptionOf(self)));
     },
     assignCause},
    {&PyExc_BaseException, "__context__",
     [](Translator& translator, const Value& self) {
       return orNone(contextOf(translator, *exceptionOf(self)));
     },
     assignContext},
    {&PyExc_BaseException, "__traceback__",
     [](Translator& translator, const Value& self) {
       return orNone(tracebackOf(translator, *exceptionOf(self)));
     },
     assignTraceback},
    {&PyExc_BaseException, "__suppress_context__", getSuppressContext, assignSuppressContext},
    MEMBER(StopIteration, "value", 0),
    MEMBER(SystemExit, "code", 0),
    {&PyExc_BaseExceptionGroup, "message", getMember<kMessage>, refuseMember},
    {&PyExc_BaseExceptionGroup, "exceptions", getMember<kExceptions>, refuseMember},
    MEMBER(OSError, "errno", 0),
    MEMBER(OSError, "strerror", 1),
    MEMBER(OSError, "filename", 2),
    MEMBER(OSError, "filename2", 3),
    MEMBER(ImportError, "msg", 0),
    MEMBER(ImportError, "name", 1),
    MEMBER(ImportError, "path", 2),
    MEMBER(NameError, "name", 0),
    MEMBER(AttributeError, "name", 0),
    MEMBER(AttributeError, "obj", 1),
    MEMBER(SyntaxError, "msg", 0),
    MEMBER(SyntaxError, "filename", 1),
    MEMBER(SyntaxError, "lineno", 2),
    MEMBER(SyntaxError, "offset", 3),
    MEMBER(SyntaxError, "text", 4),
    MEMBER(SyntaxError, "end_lineno", 5),
    MEMBER(SyntaxError, "end_offset", 6),
    MEMBER(SyntaxError, "print_file_and_line", 7),
    MEMBER(UnicodeEncodeError, "encoding", 0),
    MEMBER(UnicodeEncodeError, "object", 1),
    MEMBER(UnicodeEncodeError, "start", 2),
    MEMBER(UnicodeEncodeError, "end", 3),
    MEMBER(UnicodeEncodeError, "reason", 4),
    MEMBER(UnicodeDecodeError, "encoding", 0),
    MEMBER(UnicodeDecodeError, "object", 1),
    MEMBER(UnicodeDecodeError, "start", 2),
    MEMBER(UnicodeDecodeError, "end", 3),
    MEMBER(UnicodeDecodeError, "reason", 4),
    MEMBER(UnicodeTranslateError, "encoding", 0),
    MEMBER(UnicodeTranslateError, "object", 1),
    MEMBER(UnicodeTranslateError, "start", 2),
    MEMBER(UnicodeTranslateError, "end", 3),
    MEMBER(UnicodeTranslateError, "reason", 4),
};
#undef MEMBER

// The builtin class whose `name` the exception has; null where it is the program's own.
PyTypeObject* ownerOfBuiltin(Translator& translator, const ExceptionVariable* exception,
                             const char* name) {
  Ref<> key = checked(PyUnicode_InternFromString(name));
  Found found = translator.heap.lookup(exception->type(), key.get());
  if (!found || Py_TYPE(found.object) != &PyWrapperDescr_Type) return nullptr;
  return reinterpret_cast<PyDescrObject*>(found.object)->d_type;
}

// What the builtin class's __str__ says.
Value builtinStr(Translator& translator, const Value& self, PyTypeObject* owner) {
  ExceptionVariable* exception = exceptionOf(self);
  const ValueVector arguments = argumentsOf(translator, *exception);
  if (owner == &PyBaseObject_Type) return toRepr(translator, self);
  if (owner->tp_str == reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup)->tp_str) {
    return groupStr(translator, *exception);
  }
  // KeyError_str, which is BaseException_str for all but one argument.
  bool isKey = owner->tp_str == reinterpret_cast<PyTypeObject*>(PyExc_KeyError)->tp_str;
  if (isKey && arguments.size() == 1) return toRepr(translator, arguments[0]);
  if (!isKey && owner->tp_str != reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_str) {
    Ref<> real = realException(translator, *exception);
    if (!real) throw GraphBreak(GraphBreakKind::TextOfException, describe(self));
    return translator.fromPython(owner->tp_str(real.get()));
  }
  // BaseException.__str__: nothing, the one argument, or the tuple of them.
  if (arguments.empty()) return Value::string("");
  if (arguments.size() == 1) return toStr(translator, arguments[0]);
  return toStr(translator, makeTuple(translator, arguments));
}

// BaseException_repr, which no other builtin class replaces.
Value builtinRepr(Translator& translator, const Value& self, PyTypeObject* owner) {
  ExceptionVariable* exception = exceptionOf(self);
  const ValueVector values = argumentsOf(translator, *exception);
  if (owner->tp_repr != reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_repr) {
    throw GraphBreak(GraphBreakKind::TextOfException, describe(self));
  }
  Found name = translator.heap.nameOf(exception->type());
  if (name.source) translator.addGuard(name.source, GuardType::EQUALS_MATCH, name.object);
  Value arguments = values.size() == 1 ? toRepr(translator, values[0])
                                       : toRepr(translator, makeTuple(translator, values));
  if (!arguments) return arguments;
  return Value::steal(values.size() == 1
                          ? PyUnicode_FromFormat("%U(%U)", name.object, arguments.object())
                          : PyUnicode_FromFormat("%U%U", name.object, arguments.object()));
}

Value callText(Translator& translator, const Value& self, PyObject* special) {
  Value method = lookupSpecial(translator, self, special);
  return method ? call(translator, method, llvm::ArrayRef<Value>()) : method;
}

Value exceptionStr(Translator& translator, const Value& self) {
  static PyObject* const special = staticName("__str__");
  PyTypeObject* owner = ownerOfBuiltin(translator, exceptionOf(self), "__str__");
  return owner ? builtinStr(translator, self, owner) : callText(translator, self, special);
}

Value exceptionRepr(Translator& translator, const Value& self) {
  static PyObject* const special = staticName("__repr__");
  PyTypeObject* owner = ownerOfBuiltin(translator, exceptionOf(self), "__repr__");
  if (owner) return builtinRepr(translator, self, owner);
  Value method = lookupSpecial(translator, self, special);
  // slot_tp_repr takes one that fails to bind for none.
  if (!method) throw GraphBreak(GraphBreakKind::TextOfObject, describe(self));
  return call(translator, method, llvm::ArrayRef<Value>());
}

template <PyObject** owner>
Value strHandler(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!arguments.values.empty()) return unimplemented::call(translator, self, arguments);
  return builtinStr(translator, self, reinterpret_cast<PyTypeObject*>(*owner));
}

Value reprHandler(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!arguments.values.empty()) return unimplemented::call(translator, self, arguments);
  return builtinRepr(translator, self, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

template <PyObject** owner>
Value initHandler(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* exception = trackerOf<ExceptionVariable>(self);
  if (!exception) throw GraphBreak(GraphBreakKind::ExistingException, describe(self));
  auto* type = reinterpret_cast<PyTypeObject*>(*owner);
  bool done = initializeException(translator, *exception, type, arguments);
  return done ? Value::none() : Value();
}

// owner.__new__(cls, …), which is no method: cls is an argument.
template <PyObject** owner>
Value newHandler(Translator& translator, const Value& callable, CallArguments& arguments) {
  if (arguments.positionalCount() == 0) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, describe(callable));
  }
  Value classVariable = translator.realized(arguments.values.front());
  if (!isExceptionClass(classVariable)) {
    throw GraphBreak(GraphBreakKind::ClassWithNew, describe(classVariable));
  }
  CallArguments rest = arguments;
  rest.values.erase(rest.values.begin());
  return constructException(translator, classVariable, asClass(classVariable),
                            reinterpret_cast<PyTypeObject*>(*owner), nullptr, rest);
}

struct TypeFunctions {
  PyObject** type;
  BuiltinHandler init;
  BuiltinHandler make;
  BuiltinHandler str;
};
#define FUNCTIONS(type)                                                   \
  {                                                                       \
    &PyExc_##type, initHandler<&PyExc_##type>, newHandler<&PyExc_##type>, \
        strHandler<&PyExc_##type>                                         \
  }
const TypeFunctions kTypeFunctions[] = {
    FUNCTIONS(BaseException),
    FUNCTIONS(StopIteration),
    FUNCTIONS(SystemExit),
    FUNCTIONS(OSError),
    FUNCTIONS(ImportError),
    FUNCTIONS(NameError),
    FUNCTIONS(AttributeError),
    FUNCTIONS(SyntaxError),
    FUNCTIONS(UnicodeEncodeError),
    FUNCTIONS(UnicodeDecodeError),
    FUNCTIONS(UnicodeTranslateError),
    FUNCTIONS(KeyError),
    FUNCTIONS(BaseExceptionGroup),
};
#undef FUNCTIONS

// BaseException_add_note
Value addNote(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "BaseException.add_note", arguments, 1, 1)) return Value();
  static PyObject* const notesName = staticName("__notes__");
  Value note = translator.realized(arguments.values[0]);
  if (!translator.heap.isSubtype(typeOf(note), &PyUnicode_Type)) {
    return translator.raise(PyExc_TypeError, "note must be a str, not '%s'", typeOf(note)->tp_name);
  }
  Value notes = translator.realized(getOptionalAttribute(translator, self, notesName));
  if (translator.exceptionPending()) return Value();
  if (!notes) {
    notes = translator.make<ListVariable>(ValueVector());
    if (!setAttribute(translator, self, notesName, notes)) return Value();
  } else if (!translator.heap.isSubtype(typeOf(notes), &PyList_Type)) {
    return translator.raise(PyExc_TypeError, "Cannot add note: __notes__ is not a list");
  }
  static PyObject* const append = cpython::ownAttribute(&PyList_Type, "append");
  return call(translator, Value::constant(append), {notes, note});
}

Value withTraceback(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "BaseException.with_traceback", arguments, 1, 1)) {
    return Value();
  }
  if (!trackerOf<ExceptionVariable>(self)) {
    throw GraphBreak(GraphBreakKind::ExistingException, describe(self));
  }
  return assignTraceback(translator, self, arguments.values[0]) ? self : Value();
}

// (type, value, traceback) of what is handled.
Value excInfo(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "sys.exc_info", arguments, 0, 0)) return Value();
  Value handled = translator.handledException();
  if (handled.is(Py_None)) {
    return makeTuple(translator, {Value::none(), Value::none(), Value::none()});
  }
  auto* exception = trackerOf<ExceptionVariable>(translator.realized(handled));
  if (!exception) throw GraphBreak(GraphBreakKind::ExistingException, describe(handled));
  return makeTuple(translator, {exception->classVariable, Value(exception),
                                orNone(tracebackOf(translator, *exception))});
}

Value sysException(Translator& translator, const Value&, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "sys.exception", arguments, 0, 0)) return Value();
  return translator.handledException();
}

// Each builtin class of exceptions has wrappers of its own around the functions of a few.
void registerExceptionHandlers() {
  PyObject* builtins = PyEval_GetBuiltins();
  Py_ssize_t position = 0;
  PyObject *name, *object;
  while (PyDict_Next(builtins, &position, &name, &object)) {
    if (!PyExceptionClass_Check(object)) continue;
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) continue;
    for (const TypeFunctions& functions : kTypeFunctions) {
      auto* owner = reinterpret_cast<PyTypeObject*>(*functions.type);
      if (type->tp_init == owner->tp_init && cpython::ownAttribute(type, "__init__")) {
        registerMethodHandler(type, "__init__", functions.init);
      }
      if (type->tp_new == owner->tp_new && cpython::ownAttribute(type, "__new__")) {
        registerMethodHandler(type, "__new__", functions.make);
      }
      if (type->tp_str == owner->tp_str && cpython::ownAttribute(type, "__str__")) {
        registerMethodHandler(type, "__str__", functions.str);
      }
    }
  }
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  registerMethodHandler(base, "__repr__", reprHandler);
  registerMethodHandler(base, "add_note", addNote);
  registerMethodHandler(base, "with_traceback", withTraceback);
  registerFunctionHandler("sys", "exc_info", excInfo);
  registerFunctionHandler("sys", "exception", sysException);
}
ARMATURE_REGISTER_HANDLERS(registerExceptionHandlers);

TypeSlots makeExceptionSlots() {
  TypeSlots slots = makeObjectSlots();
  slots.getset = kExceptionAttributes;
  slots.instanceDict = exceptionDict;
  slots.tp_str = exceptionStr;
  slots.tp_repr = exceptionRepr;
  return slots;
}

}  // namespace

const TypeSlots kExceptionSlots = makeExceptionSlots();

bool isExceptionClass(const Value& value) {
  PyTypeObject* type = asClass(value);
  return type && PyExceptionClass_Check(reinterpret_cast<PyObject*>(type));
}

bool readHandledClasses(Translator& translator, const Value& wanted, ValueVector& classes) {
  Value value = translator.realized(wanted);
  PyObject* object = value.objectOrNull();
  auto* tuple = partOf<TupleVariable>(value);
  if ((object && PyTuple_Check(object)) || tuple) {
    if (!iterateInto(translator, tuple ? Value(tuple) : value, classes)) return false;
  } else {
    classes.push_back(value);
  }
  for (Value& each : classes) {
    translator.realize(each);
    if (isExceptionClass(each)) continue;
    translator.raise(PyExc_TypeError,
                     "catching classes that do not inherit from BaseException is not allowed");
    return false;
  }
  return true;
}

bool isOfClass(Translator& translator, const Value& exception, const Value& exceptionClass) {
  return translator.heap.isSubtype(typeOf(exception), asClass(exceptionClass));
}

bool isException(const Value& value) {
  return isExceptionClass(value) ||
         PyType_IsSubtype(typeOf(value), reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

const ValueVector& argumentsOf(Translator& translator, ExceptionVariable& exception) {
  if (exception.knowsArguments) return exception.arguments;
  ValueVector arguments;
  // An exact tuple.
  iterateInto(translator, existingField(translator, exception, descriptorOf("args")), arguments);
  recordUndo(translator.trail, [&exception] { exception.arguments.clear(); });
  exception.arguments = std::move(arguments);
  assignTrailed(translator.trail, exception.knowsArguments, true);
  return exception.arguments;
}

Value fieldValue(Translator& translator, const ExceptionVariable& exception, size_t index) {
  const Value& member = exception.members[index];
  if (member || !exception.existing()) return member;
  return existingField(translator, exception, memberDescriptor(exception, index));
}

Value causeOf(Translator& translator, const ExceptionVariable& exception) {
  if (exception.cause || !exception.existing()) return exception.cause;
  return existingField(translator, exception, descriptorOf("__cause__"));
}

Value contextOf(Translator& translator, const ExceptionVariable& exception) {
  settleContext(translator, const_cast<ExceptionVariable&>(exception));
  if (exception.context || !exception.existing()) return exception.context;
  return existingField(translator, exception, descriptorOf("__context__"));
}

Value tracebackOf(Translator& translator, const ExceptionVariable& exception) {
  if (exception.traceback || !exception.existing()) return exception.traceback;
  return existingField(translator, exception, descriptorOf("__traceback__"));
}

void setField(Translator& translator, ExceptionVariable& exception, size_t index, Value value) {
  if (exception.existing()) {
    recordField(translator, exception, memberDescriptor(exception, index),
                fieldValue(translator, exception, index), value);
  }
  assignTrailed(translator.trail, exception.members[index], std::move(value));
}

void setCause(Translator& translator, ExceptionVariable& exception, Value cause) {
  setLink(translator, exception, "__cause__", exception.cause, causeOf(translator, exception),
          std::move(cause));
  setSuppressed(translator, exception, true);
}

void setContext(Translator& translator, ExceptionVariable& exception, Value context) {
  assignTrailed(translator.trail, exception.contextIsCallers, false);
  setLink(translator, exception, "__context__", exception.context, contextOf(translator, exception),
          std::move(context));
}

void setTraceback(Translator& translator, ExceptionVariable& exception, Value traceback) {
  // An entry more keeps the others.
  auto* entry = trackerOf<TracebackVariable>(traceback);
  Value before = tracebackOf(translator, exception);
  auto existing = [](const Value& value) {
    return value.isTracker() ? value.tracker()->existing() : nullptr;
  };
  if (entry && existing(entry->next) == existing(before)) before = Value();
  setLink(translator, exception, "__traceback__", exception.traceback, before,
          std::move(traceback));
}

void chainContext(Translator& translator, ExceptionVariable& raised, const Value& handling) {
  if (!handling) {
    assignTrailed(translator.trail, raised.contextIsCallers, true);
    return;
  }
  // Nothing that existed before refers to an exception that the trace has made, unless the trace
  // has seen to that.
  bool looks = raised.existing();
  Value handled = looks ? translator.realized(handling) : handling;
  if (handled.sameAs(Value(&raised))) return;
  auto next = [&](ExceptionVariable* exception) {
    Value context =
        looks ? translator.realized(contextOf(translator, *exception)) : exception->context;
    return trackerOf<ExceptionVariable>(context);
  };
  // A chain that leads to the exception raised is cut there; one may have a cycle already.
  auto* at = trackerOf<ExceptionVariable>(handled);
  ExceptionVariable* slow = at;
  for (bool even = false; at; even = !even) {
    ExceptionVariable* after = next(at);
    if (after == &raised) {
      setContext(translator, *at, Value());
      break;
    }
    at = after;
    if (at == slow) break;
    if (even) slow = next(slow);
  }
  setContext(translator, raised, std::move(handled));
}

void settleContext(Translator& translator, ExceptionVariable& raised) {
  if (!raised.contextIsCallers) return;
  assignTrailed(translator.trail, raised.contextIsCallers, false);
  Value handled = translator.handledByCaller();
  if (!handled.is(Py_None)) chainContext(translator, raised, handled);
}

Value stopIterationValue(Translator& translator, const Value& exception) {
  return getMember<0>(translator, exception);
}

}  // namespace armature
