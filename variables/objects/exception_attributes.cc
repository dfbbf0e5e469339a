// The attributes that the descriptors of builtin classes of exceptions answer.
#include "variables/objects/exception_attributes.h"
#include "variables/objects/exception.h"
#include "variables/objects/exception_group.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Value orNone(const Value& value) { return value ? value : Value::none(); }

ExceptionVariable* exceptionOf(const Value& self) { return requireKind<ExceptionVariable>(self); }

bool isInstance(Translator& translator, const Value& value, PyObject* exceptionClass) {
  return translator.heap.isSubtype(typeOf(value), reinterpret_cast<PyTypeObject*>(exceptionClass));
}

Value getArguments(Translator& translator, const Value& self) {
  return argumentsTupleOf(translator, *exceptionOf(self));
}

bool assignArguments(Translator& translator, const Value& self, const Value& value) {
  if (!value) {
    translator.raise(PyExc_TypeError, "args may not be deleted");
    return false;
  }
  ExceptionVariable* exception = exceptionOf(self);
  ValueVector arguments;
  // BaseException_set_args, by PySequence_Tuple: a tuple is taken as it is.
  Value given = translator.realized(value);
  if (!iterateInto(translator, given, arguments)) return false;
  bool isTuple = typeOf(given) == &PyTuple_Type;
  setArguments(translator, *exception, std::move(arguments), isTuple ? given : Value());
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

}  // namespace

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

namespace {

Value getSuppressContext(Translator& translator, const Value& self) {
  return suppressContextOf(translator, *exceptionOf(self));
}

bool assignSuppressContext(Translator& translator, const Value& self, const Value& value) {
  Value truth = translator.realized(value);
  if (!truth.is(Py_True) && !truth.is(Py_False)) {
    translator.raise(PyExc_TypeError, truth ? "attribute value type must be bool"
                                            : "can't delete numeric/char attribute");
    return false;
  }
  setSuppressContext(translator, *exceptionOf(self), truth.is(Py_True));
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
    {&PyExc_BaseException, "args", getArguments, assignArguments},
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

}  // namespace

llvm::ArrayRef<BuiltinAttribute> exceptionAttributes() { return kExceptionAttributes; }

Value stopIterationValue(Translator& translator, const Value& exception) {
  return getMember<0>(translator, exception);
}

}  // namespace armature
