#include "variables/objects/exception.h"

#include <cstring>

#include "core/text.h"
#include "cpython/type_lookup.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

DictVariable* exceptionDict(Translator& translator, const Value& self) {
  auto* exception = llvm::cast<ExceptionVariable>(self.tracker());
  if (!exception->dict) {
    assignTrailed(translator.trail, exception->dict, translator.make<DictVariable>(exception));
  }
  return exception->dict;
}

Value orNone(const Value& value) { return value ? value : Value::none(); }

Value exceptionAttribute(Translator& translator, const Value& self, PyObject* name) {
  auto* exception = llvm::cast<ExceptionVariable>(self.tracker());
  const std::string text = printable(name);
  auto is = [&](const char* other) { return text == other; };
  if (is("args")) return makeTuple(translator, exception->arguments);
  if (is("__cause__")) return orNone(exception->cause);
  if (is("__context__")) return orNone(exception->context);
  if (is("__suppress_context__")) return Value::boolean(exception->suppressContext);
  if (is("value") && exception->type() == reinterpret_cast<PyTypeObject*>(PyExc_StopIteration)) {
    return exception->arguments.empty() ? Value::none() : exception->arguments[0];
  }
  PyObject* found = translator.heap.lookup(exception->type(), name).object;
  bool computed =
      found && (Py_TYPE(found) == &PyMemberDescr_Type || Py_TYPE(found) == &PyGetSetDescr_Type) &&
      !is("__class__") && !is("__dict__");
  if (computed) {
    throw GraphBreak(GraphBreakKind::AttributeOfException, describe(self) + "." + text);
  }
  return genericGetAttribute(translator, self, name);
}

bool inheritsSpecial(Translator& translator, PyTypeObject* type, PyTypeObject* base,
                     const char* name) {
  Ref<> special = Ref<>::steal(PyUnicode_InternFromString(name));
  return translator.heap.inherits(type, base, special.get());
}

Value exceptionStr(Translator& translator, const Value& self) {
  auto* exception = llvm::cast<ExceptionVariable>(self.tracker());
  // BaseException.__str__: nothing, the one argument, or the tuple of them.
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  if (!inheritsSpecial(translator, exception->type(), base, "__str__")) {
    if (exception->real) return translator.fromPython(PyObject_Str(exception->real.get()));
    static PyObject* const special = PyUnicode_InternFromString("__str__");
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
  auto* exception = llvm::cast<ExceptionVariable>(self.tracker());
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
  slots.tp_getattro = exceptionAttribute;
  slots.instanceDict = exceptionDict;
  slots.tp_str = exceptionStr;
  slots.tp_repr = exceptionRepr;
  return slots;
}

}  // namespace

const TypeSlots kExceptionSlots = makeExceptionSlots();

}  // namespace armature
