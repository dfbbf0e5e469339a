#include "variables/objects/exception.h"

#include "core/checked.h"
#include "cpython/type_lookup.h"
#include "variables/ends_of_objects.h"
#include "variables/objects/instance_dict.h"
#include "variables/objects/traceback.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

DictVariable* exceptionDict(Translator& translator, const Value& self) {
  auto* exception = requireKind<ExceptionVariable>(self);
  return instanceDictOf(translator, exception, exception->dict);
}

namespace {

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

}  // namespace

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

const Value& argumentsTupleOf(Translator& translator, ExceptionVariable& exception) {
  if (!exception.argumentsTuple) {
    Value tuple = exception.existing() ? existingField(translator, exception, descriptorOf("args"))
                                       : makeTuple(translator, argumentsOf(translator, exception));
    assignTrailed(translator.trail, exception.argumentsTuple, std::move(tuple));
  }
  return exception.argumentsTuple;
}

Value fieldValue(Translator& translator, const ExceptionVariable& exception, size_t index) {
  const Value& member = exception.members[index];
  if (member || !exception.existing()) return member;
  return existingField(translator, exception, memberDescriptor(exception, index));
}

Value suppressContextOf(Translator& translator, const ExceptionVariable& exception) {
  if (exception.knowsSuppressContext) return Value::boolean(exception.suppressContext);
  return existingField(translator, exception, descriptorOf("__suppress_context__"));
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

void setArguments(Translator& translator, ExceptionVariable& exception, ValueVector arguments,
                  Value tuple) {
  if (exception.existing()) {
    letGo(translator, existingField(translator, exception, descriptorOf("args")));
  }
  if (!tuple) tuple = makeTuple(translator, arguments);
  recordField(translator, exception, descriptorOf("args"), Value(), tuple);
  assignTrailed(translator.trail, exception.argumentsTuple, std::move(tuple));
  recordUndo(translator.trail,
             [&exception, before = exception.arguments] { exception.arguments = before; });
  assignTrailed(translator.trail, exception.knowsArguments, true);
  exception.arguments = std::move(arguments);
}

void setSuppressContext(Translator& translator, ExceptionVariable& exception, bool suppressed) {
  recordField(translator, exception, descriptorOf("__suppress_context__"), Value(),
              Value::boolean(suppressed));
  setSuppressed(translator, exception, suppressed);
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

}  // namespace armature
