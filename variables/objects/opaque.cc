// Objects that can only be handed on: what looks inside is a graph break.
#include "variables/objects/user_defined.h"

#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "cpython/instance_attributes.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "cpython/weak_references.h"
#include "guards/key.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/functions/functions.h"
#include "variables/kind_slots.h"
#include "variables/objects/context_variable.h"
#include "variables/objects/thread_local.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

Value callOpaque(Translator& translator, const Value& callable, CallArguments& arguments) {
  PyTypeObject* type = callable.tracker()->type();
  // weakref.WeakValueDictionary has references of a class of its own.
  PyTypeObject* references = cpython::weakReferenceType();
  static PyObject* const call = staticName("__call__");
  bool isReference = type != references && PyType_IsSubtype(type, references) &&
                     translator.heap.inherits(type, references, call);
  if (BuiltinHandler handler = findInstanceHandler(isReference ? references : type)) {
    return handler(translator, callable, arguments);
  }
  return unimplemented::call(translator, callable, arguments);
}

// What a property was made of, and its __doc__. Null for its other attributes.
Value partOfProperty(Translator& translator, const Value& self, PyObject* name) {
  VariableTracker* property = self.tracker();
  PyObject* descriptor = cpython::ownAttribute(&PyProperty_Type, name);
  bool isPart = descriptor && Py_TYPE(descriptor) == &PyMemberDescr_Type && property->source() &&
                property->existing();
  if (!isPart) return Value();
  PyObject* member = cpython::memberValue(property->existing(), descriptor);
  if (!member) return Value::none();
  return translator.wrap(translator.sources->item(SourceKind::Slot, property->source(), descriptor),
                         member);
}

// A static method of a C type is what it is, whatever the instance. Of all other attributes, C code
// decides.
Value attributeOfOpaque(Translator& translator, const Value& self, PyObject* name) {
  if (DictVariable* dict = threadDict(translator, self)) {
    return threadAttribute(translator, self, dict, name);
  }
  PyTypeObject* type = self.tracker()->type();
  if (Value part = contextAttribute(translator, self, name)) return part;
  if (type == &PyProperty_Type) {
    Value part = partOfProperty(translator, self, name);
    if (part) return part;
  }
  bool isPlain = cpython::isImmutable(type) && type->tp_getattro == PyObject_GenericGetAttr &&
                 !cpython::hasInstanceDict(type);
  Found found = isPlain ? translator.heap.lookup(type, name) : Found();
  if (found && PyObject_TypeCheck(found.object, &PyStaticMethod_Type)) {
    return bindTypeAttribute(translator, found, self, type, name);
  }
  return unimplemented::getAttribute(translator, self, name);
}

bool setAttributeOfOpaque(Translator& translator, const Value& self, PyObject* name,
                          const Value& value) {
  DictVariable* dict = threadDict(translator, self);
  return dict ? setThreadAttribute(translator, self, dict, name, value)
              : unimplemented::setAttribute(translator, self, name, value);
}

// An iterator over an object without __iter__: nothing tells which object that is.
Value iterateOpaque(Translator& translator, const Value& self) {
  if (self.tracker()->type() == &PySeqIter_Type) {
    throw GraphBreak(GraphBreakKind::IterationThroughGetitem, describe(self));
  }
  return unimplemented::unary(translator, self);
}

}  // namespace

TypeSlots makeOpaqueSlots() {
  TypeSlots slots;
  slots.nb.fill(unimplemented::binary);
  slots.nb_unary = unimplemented::unaryOperation;
  slots.nb_bool = unimplemented::unary;
  slots.nb_index = unimplemented::unary;
  slots.nb_int = unimplemented::unary;
  slots.nb_float = unimplemented::unary;
  slots.mp_length = unimplemented::unary;
  slots.mp_subscript = unimplemented::subscript;
  slots.mp_ass_subscript = unimplemented::assignSubscript;
  slots.sq_contains = unimplemented::subscript;
  slots.sq_concat = unimplemented::binary;
  slots.sq_repeat = unimplemented::binary;
  slots.tp_iter = iterateOpaque;
  slots.tp_iternext = iterateOpaque;
  slots.tp_call = callOpaque;
  slots.tp_hash = unimplemented::unary;
  slots.tp_richcompare = unimplemented::compare;
  slots.tp_getattro = attributeOfOpaque;
  slots.tp_setattro = setAttributeOfOpaque;
  return slots;
}

const TypeSlots kOpaqueSlots = makeOpaqueSlots();

}  // namespace armature
