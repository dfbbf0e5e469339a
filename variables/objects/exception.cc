#include "variables/objects/exception.h"

#include "core/checked.h"
#include "core/text.h"
#include "cpython/type_lookup.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

DictVariable* exceptionDict(Translator& translator, const Value& self) {
  auto* exception = requireKind<ExceptionVariable>(self);
  if (!exception->dict) {
    assignTrailed(translator.trail, exception->dict, translator.make<DictVariable>(exception));
  }
  return exception->dict;
}

Value orNone(const Value& value) { return value ? value : Value::none(); }

ExceptionVariable* exceptionOf(const Value& self) { return requireKind<ExceptionVariable>(self); }

bool isInstance(Translator& translator, const Value& value, PyObject* exceptionClass) {
  return translator.heap.isSubtype(typeOf(value), reinterpret_cast<PyTypeObject*>(exceptionClass));
}

Value argumentsOf(Translator& translator, const Value& self) {
  return makeTuple(translator, exceptionOf(self)->arguments);
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
  recordUndo(translator.trail,
             [exception, before = exception->arguments] { exception->arguments = before; });
  exception->arguments = std::move(arguments);
  return true;
}

// BaseException_set_cause and BaseException_set_context.
bool setLink(Translator& translator, const char* name, Value& link, Value value) {
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
  assignTrailed(translator.trail, link, std::move(value));
  return true;
}

bool setCause(Translator& translator, const Value& self, const Value& value) {
  ExceptionVariable* exception = exceptionOf(self);
  if (!setLink(translator, "cause", exception->cause, value)) return false;
  assignTrailed(translator.trail, exception->suppressContext, true);
  return true;
}

bool setContext(Translator& translator, const Value& self, const Value& value) {
  assignTrailed(translator.trail, exceptionOf(self)->contextIsCallers, false);
  return setLink(translator, "context", exceptionOf(self)->context, value);
}

Value contextOf(Translator& translator, const Value& self) {
  ExceptionVariable* exception = exceptionOf(self);
  settleContext(translator, *exception);
  return orNone(exception->context);
}

bool setTraceback(Translator& translator, const Value& self, const Value& value) {
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
  assignTrailed(translator.trail, exceptionOf(self)->traceback,
                isNone ? Value() : std::move(traceback));
  return true;
}

bool setSuppressContext(Translator& translator, const Value& self, const Value& value) {
  Value truth = translator.realized(value);
  if (!truth.is(Py_True) && !truth.is(Py_False)) {
    translator.raise(PyExc_TypeError, truth ? "attribute value type must be bool"
                                            : "can't delete numeric/char attribute");
    return false;
  }
  assignTrailed(translator.trail, exceptionOf(self)->suppressContext, truth.is(Py_True));
  return true;
}

// A field that is a C number, and what it is before __init__ has set it.
bool isNumber(const ExceptionFields& fields, size_t index) {
  std::string_view name = fields.names[index];
  return name == "start" || name == "end";
}

template <size_t index>
Value getMember(Translator&, const Value& self) {
  ExceptionVariable* exception = exceptionOf(self);
  if (exception->members[index]) return exception->members[index];
  return isNumber(fieldsOf(exception->type()), index) ? Value::integer(0) : Value::none();
}

template <size_t index>
bool setMember(Translator& translator, const Value& self, const Value& value) {
  ExceptionVariable* exception = exceptionOf(self);
  if (isNumber(fieldsOf(exception->type()), index)) {
    throw GraphBreak(GraphBreakKind::AssignmentToCObject, describe(self));
  }
  assignTrailed(translator.trail, exception->members[index], value);
  return true;
}

#define MEMBER(type, name, index) \
  { &PyExc_##type, name, getMember<index>, setMember<index> }
constexpr BuiltinAttribute kExceptionAttributes[] = {
    {&PyExc_BaseException, "args", argumentsOf, setArguments},
    {&PyExc_BaseException, "__cause__",
     [](Translator&, const Value& self) { return orNone(exceptionOf(self)->cause); }, setCause},
    {&PyExc_BaseException, "__context__", contextOf, setContext},
    {&PyExc_BaseException, "__traceback__",
     [](Translator&, const Value& self) { return orNone(exceptionOf(self)->traceback); },
     setTraceback},
    {&PyExc_BaseException, "__suppress_context__",
     [](Translator&, const Value& self) {
       return Value::boolean(exceptionOf(self)->suppressContext);
     },
     setSuppressContext},
    MEMBER(StopIteration, "value", 0),
    MEMBER(SystemExit, "code", 0),
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
  const ExceptionVariable* exception = exceptionOf(self);
  const ValueVector& arguments = exception->arguments;
  if (owner == &PyBaseObject_Type) return toRepr(translator, self);
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
  const ExceptionVariable* exception = exceptionOf(self);
  if (owner->tp_repr != reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_repr) {
    throw GraphBreak(GraphBreakKind::TextOfException, describe(self));
  }
  Found name = translator.heap.nameOf(exception->type());
  if (name.source) translator.addGuard(name.source, GuardType::EQUALS_MATCH, name.object);
  Value arguments = exception->arguments.size() == 1
                        ? toRepr(translator, exception->arguments[0])
                        : toRepr(translator, makeTuple(translator, exception->arguments));
  if (!arguments) return arguments;
  return Value::steal(exception->arguments.size() == 1
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
  return owner ? builtinRepr(translator, self, owner) : callText(translator, self, special);
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
  auto* user = trackerOf<UserClassVariable>(classVariable);
  auto* type = user ? user->value() : reinterpret_cast<PyTypeObject*>(classVariable.object());
  CallArguments rest = arguments;
  rest.values.erase(rest.values.begin());
  return constructException(translator, classVariable, type,
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
  return setTraceback(translator, self, arguments.values[0]) ? self : Value();
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
  return makeTuple(translator, {exception->classVariable, handled, orNone(exception->traceback)});
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
  auto* user = trackerOf<UserClassVariable>(value);
  PyObject* object = user ? user->existing() : value.objectOrNull();
  return object && PyExceptionClass_Check(object);
}

bool isException(const Value& value) {
  return isExceptionClass(value) ||
         PyType_IsSubtype(typeOf(value), reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

void chainContext(Translator& translator, ExceptionVariable& raised, const Value& handled) {
  if (!handled) {
    assignTrailed(translator.trail, raised.contextIsCallers, true);
    return;
  }
  if (handled.sameAs(Value(&raised))) return;
  // A chain that leads to the exception raised is cut there; one may have a cycle already.
  auto* at = trackerOf<ExceptionVariable>(handled);
  ExceptionVariable* slow = at;
  for (bool even = false; at; even = !even) {
    auto* next = trackerOf<ExceptionVariable>(at->context);
    if (next == &raised) {
      assignTrailed(translator.trail, at->context, Value());
      break;
    }
    at = next;
    if (at == slow) break;
    if (even) slow = trackerOf<ExceptionVariable>(slow->context);
  }
  assignTrailed(translator.trail, raised.context, Value(handled));
  assignTrailed(translator.trail, raised.contextIsCallers, false);
}

void settleContext(Translator& translator, ExceptionVariable& raised) {
  if (!raised.contextIsCallers) return;
  assignTrailed(translator.trail, raised.contextIsCallers, false);
  Value handled = translator.handledByCaller();
  if (!handled.is(Py_None)) assignTrailed(translator.trail, raised.context, std::move(handled));
}

Value stopIterationValue(Translator& translator, const Value& exception) {
  return getMember<0>(translator, exception);
}

}  // namespace armature
