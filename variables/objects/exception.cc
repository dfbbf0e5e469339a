#include "variables/objects/exception.h"

#include "core/checked.h"
#include "core/text.h"
#include "cpython/type_lookup.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
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
  return setLink(translator, "context", exceptionOf(self)->context, value);
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

// The argument, unless a class of the program's own has another way to set it.
Value stopIterationValue(Translator&, const Value& self) {
  ExceptionVariable* exception = exceptionOf(self);
  if (exception->type() != reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) {
    throw GraphBreak(GraphBreakKind::AttributeOfCObject, describe(self) + ".value");
  }
  return exception->arguments.empty() ? Value::none() : exception->arguments[0];
}

constexpr BuiltinAttribute kExceptionAttributes[] = {
    {&PyExc_BaseException, "args", argumentsOf, nullptr},
    {&PyExc_BaseException, "__cause__",
     [](Translator&, const Value& self) { return orNone(exceptionOf(self)->cause); }, setCause},
    {&PyExc_BaseException, "__context__",
     [](Translator&, const Value& self) { return orNone(exceptionOf(self)->context); }, setContext},
    {&PyExc_BaseException, "__suppress_context__",
     [](Translator&, const Value& self) {
       return Value::boolean(exceptionOf(self)->suppressContext);
     },
     setSuppressContext},
    {&PyExc_StopIteration, "value", stopIterationValue, nullptr},
};

bool inheritsSpecial(Translator& translator, PyTypeObject* type, PyTypeObject* base,
                     const char* name) {
  Ref<> special = checked(PyUnicode_InternFromString(name));
  return translator.heap.inherits(type, base, special.get());
}

Value exceptionStr(Translator& translator, const Value& self) {
  auto* exception = requireKind<ExceptionVariable>(self);
  // BaseException.__str__: nothing, the one argument, or the tuple of them.
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  if (!inheritsSpecial(translator, exception->type(), base, "__str__")) {
    if (exception->real) return translator.fromPython(PyObject_Str(exception->real.get()));
    static PyObject* const special = staticName("__str__");
    Found found = translator.heap.lookup(exception->type(), special);
    if (found && PyFunction_Check(found.object)) {
      Value method = lookupSpecial(translator, self, special);
      return method ? call(translator, method, llvm::ArrayRef<Value>()) : method;
    }
    if (exception->type() == reinterpret_cast<PyTypeObject*>(PyExc_KeyError) &&
        exception->arguments.size() == 1) {
      return toRepr(translator, exception->arguments[0]);
    }
    auto* keyError = reinterpret_cast<PyTypeObject*>(PyExc_KeyError);
    if (!inheritsSpecial(translator, exception->type(), keyError, "__str__")) {
      throw GraphBreak(GraphBreakKind::TextOfException, describe(self));
    }
  }
  if (exception->arguments.empty()) return Value::string("");
  if (exception->arguments.size() == 1) return toStr(translator, exception->arguments[0]);
  return toStr(translator, makeTuple(translator, exception->arguments));
}

Value exceptionRepr(Translator& translator, const Value& self) {
  auto* exception = requireKind<ExceptionVariable>(self);
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  if (!inheritsSpecial(translator, exception->type(), base, "__repr__")) {
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

// BaseException.__init__: its arguments become `args`.
Value initException(Translator& translator, const Value& self, CallArguments& arguments) {
  auto* exception = trackerOf<ExceptionVariable>(self);
  if (!exception) throw GraphBreak(GraphBreakKind::ExistingException, describe(self));
  if (arguments.keywordCount()) {
    return translator.raise(PyExc_TypeError, "%.200s() takes no keyword arguments",
                            exception->type()->tp_name);
  }
  recordUndo(translator.trail,
             [exception, before = exception->arguments] { exception->arguments = before; });
  exception->arguments.assign(arguments.values.begin(), arguments.values.end());
  return Value::none();
}

// The builtin exceptions whose __init__ is BaseException's; each has a wrapper of its own.
void registerExceptionHandlers() {
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  PyObject* builtins = PyEval_GetBuiltins();
  Py_ssize_t position = 0;
  PyObject *name, *object;
  while (PyDict_Next(builtins, &position, &name, &object)) {
    if (!PyExceptionClass_Check(object)) continue;
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    bool plain = type->tp_init == base->tp_init && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE);
    if (plain && cpython::ownAttribute(type, "__init__")) {
      registerMethodHandler(type, "__init__", initException);
    }
  }
}
ARMATURE_REGISTER_HANDLERS(registerExceptionHandlers);

TypeSlots makeExceptionSlots() {
  TypeSlots slots;
  slots.getset = kExceptionAttributes;
  slots.instanceDict = exceptionDict;
  slots.tp_str = exceptionStr;
  slots.tp_repr = exceptionRepr;
  return slots;
}

}  // namespace

const TypeSlots kExceptionSlots = makeExceptionSlots();

}  // namespace armature
