// The methods of exceptions: what they say of themselves, how they are called, and what sys tells
// of the one that is handled.
#include "core/checked.h"
#include "core/text.h"
#include "cpython/type_lookup.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/objects/exception.h"
#include "variables/objects/exception_attributes.h"
#include "variables/objects/exception_group.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

ExceptionVariable* exceptionOf(const Value& self) { return requireKind<ExceptionVariable>(self); }

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
  Value traceback = tracebackOf(translator, *exception);
  return makeTuple(translator, {exception->classVariable, Value(exception),
                                traceback ? traceback : Value::none()});
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
  slots.getset = exceptionAttributes();
  slots.instanceDict = exceptionDict;
  slots.tp_str = exceptionStr;
  slots.tp_repr = exceptionRepr;
  return slots;
}

}  // namespace

const TypeSlots kExceptionSlots = makeExceptionSlots();

}  // namespace armature
