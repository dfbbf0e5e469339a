#include "variables/objects/context_variable.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/c_functions.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/protocol/object_protocol.h"
#include "variables/trailed.h"

namespace armature {

namespace {

PyObject* newField(PyGetSetDef& definition) {
  return checked(PyDescr_NewGetSet(&PyContextVar_Type, &definition)).release();
}

// Fields of a variable, as guards and generated code read them: is it set in this context, and what
// get() gives there without an argument.
PyObject* isSetField() {
  static PyGetSetDef definition = {
      "is set in this context",
      [](PyObject* variable, void*) -> PyObject* {
        Ref<> context = Ref<>::steal(PyContext_CopyCurrent());
        int isSet = context ? PySequence_Contains(context.get(), variable) : -1;
        return isSet < 0 ? nullptr : PyBool_FromLong(isSet);
      },
      nullptr, nullptr, nullptr};
  static PyObject* const field = newField(definition);
  return field;
}

PyObject* valueField() {
  static PyGetSetDef definition = {"value in this context",
                                   [](PyObject* variable, void*) -> PyObject* {
                                     PyObject* value = nullptr;
                                     if (PyContextVar_Get(variable, nullptr, &value) < 0)
                                       return nullptr;
                                     if (!value) PyErr_SetObject(PyExc_LookupError, variable);
                                     return value;
                                   },
                                   nullptr, nullptr, nullptr};
  static PyObject* const field = newField(definition);
  return field;
}

Ref<> read(PyObject* field, ContextVarVariable* variable) {
  return Ref<>::steal(Py_TYPE(field)->tp_descr_get(field, variable->existing(),
                                                   reinterpret_cast<PyObject*>(variable->type())));
}

const Source* sourceOf(Translator& translator, ContextVarVariable* variable, PyObject* field) {
  return translator.sources->item(SourceKind::Descriptor, variable->source(), field);
}

ContextVarVariable* variableOf(Translator& translator, const Value& self) {
  auto* variable = trackerOf<ContextVarVariable>(self);
  if (!variable || !variable->source()) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self));
  }
  translator.addGuard(variable->source(), GuardType::ID_MATCH, variable->existing());
  return variable;
}

// Is it set in the context in which the trace began?
bool isSetBefore(Translator& translator, ContextVarVariable* variable) {
  Ref<> isSet = checked(read(isSetField(), variable).release());
  translator.addGuard(sourceOf(translator, variable, isSetField()), GuardType::EQUALS_MATCH, isSet);
  return isSet.get() == Py_True;
}

// contextvar_get
Value get(Translator& translator, const Value& self, CallArguments& arguments) {
  ContextVarVariable* variable = variableOf(translator, self);
  if (!checkArgumentCount(translator, "get", arguments, 0, 1)) return Value();
  if (variable->token) return variable->token->value;
  bool isSet = isSetBefore(translator, variable);
  if (!isSet && !arguments.values.empty()) return arguments.values[0];
  Ref<> value = read(valueField(), variable);
  if (value) return translator.wrap(sourceOf(translator, variable, valueField()), value);
  clearException();
  return translator.raiseWithArguments(PyExc_LookupError, {self});
}

// set(variable, value), which gives the token.
PyObject* setFunction() {
  static PyObject* const method =
      checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyContextVar_Type), "set"))
          .release();
  return method;
}

Value set(Translator& translator, const Value& self, CallArguments& arguments) {
  ContextVarVariable* variable = variableOf(translator, self);
  if (!checkArgumentCount(translator, "ContextVar.set", arguments, 1, 1)) return Value();
  translator.effects.changes(variable);
  if (!translator.effects.concerns(variable)) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, describe(self));
  }
  auto* token = translator.make<ContextTokenVariable>(variable, arguments.values[0]);
  token->effect = translator.effects.append(
      {EffectKind::Call, variable, Value::constant(setFunction()), Value(token)});
  assignTrailed(translator.trail, variable->token, token);
  return token;
}

// PyContextVar_Reset, of a token of the trace.
Value reset(Translator& translator, const Value& self, CallArguments& arguments) {
  ContextVarVariable* variable = variableOf(translator, self);
  if (!checkArgumentCount(translator, "ContextVar.reset", arguments, 1, 1)) return Value();
  auto* token = trackerOf<ContextTokenVariable>(translator.realized(arguments.values[0]));
  if (!token || token->isUsed || token->variable != variable) {
    throw GraphBreak(GraphBreakKind::UnsupportedOperation, "reset: " + describe(self));
  }
  translator.effects.changes(variable);
  SideEffects& effects = translator.effects;
  for (int32_t last; (last = effects.last(variable)) >= token->effect;) effects.cancel(last);
  // Those that were set in between are worth nothing, either.
  for (auto* each = variable->token; each && each != token->previous; each = each->previous) {
    assignTrailed(translator.trail, each->isUsed, true);
  }
  assignTrailed(translator.trail, token->isUsed, true);
  assignTrailed(translator.trail, variable->token, token->previous);
  return Value::none();
}

void registerContextVariables() {
  setFunction();
  registerMethodHandler(&PyContextVar_Type, "get", get);
  registerMethodHandler(&PyContextVar_Type, "set", set);
  registerMethodHandler(&PyContextVar_Type, "reset", reset);
}
ARMATURE_REGISTER_HANDLERS(registerContextVariables);

}  // namespace

Value contextAttribute(Translator& translator, const Value& self, PyObject* name) {
  PyTypeObject* type = self.tracker()->type();
  auto isNamed = [&](const char* text) {
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
  };
  if (auto* token = trackerOf<ContextTokenVariable>(self)) {
    if (isNamed("var")) return token->variable;
    if (!isNamed("old_value")) return Value();
    if (token->previous) return token->previous->value;
    if (!isSetBefore(translator, token->variable)) return Value();
    Ref<> value = checked(read(valueField(), token->variable).release());
    return translator.wrap(sourceOf(translator, token->variable, valueField()), value);
  }
  auto* variable = trackerOf<ContextVarVariable>(self);
  PyObject* found = variable ? cpython::ownAttribute(type, name) : nullptr;
  if (!found) return Value();
  if (Py_TYPE(found) == &PyMethodDescr_Type) {
    return translator.make<BoundMethodVariable>(cpython::boundType(found), Value::constant(found),
                                                self);
  }
  bool isName = cpython::isMember(found) && isNamed("name") && variable->source();
  if (!isName) return Value();
  return translator.wrap(translator.sources->item(SourceKind::Slot, variable->source(), found),
                         cpython::memberValue(variable->existing(), found));
}

}  // namespace armature
