#include "variables/protocol/descriptors.h"

#include <algorithm>
#include <string>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/functions/partial.h"
#include "variables/kind_slots.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

PyTypeObject* descriptorKind(Translator& translator, PyObject* object, PyObject* special) {
  PyTypeObject* type = Py_TYPE(object);
  if (cpython::isImmutable(type)) return type;
  for (PyTypeObject* kind : {&PyProperty_Type, &PyStaticMethod_Type, &PyClassMethod_Type}) {
    if (!PyType_IsSubtype(type, kind)) continue;
    Found found = translator.heap.lookup(type, special);
    PyObject* own = cpython::ownAttribute(kind, special);
    if (found && own && found.object == own) return kind;
  }
  return type;
}

Value wrapMember(Translator& translator, PyTypeObject* owner, const Source* base, PyObject* object,
                 const char* name) {
  PyObject* descriptor = cpython::ownAttribute(owner, name);
  PyObject* member = cpython::memberValue(object, descriptor);
  if (!member) return Value::none();
  return translator.wrap(
      base ? translator.sources->item(SourceKind::Slot, base, descriptor) : nullptr, member);
}

void requireOwnErrors(const Value& object, PyObject* name) {
  if (cpython::staticBase(typeOf(object)) != &PyModule_Type) return;
  throw GraphBreak(GraphBreakKind::AttributeOfCObject, describe(object) + "." + printable(name));
}

Value noAttribute(Translator& translator, const Value& object, PyObject* name) {
  requireOwnErrors(object, name);
  return translator.raise(PyExc_AttributeError, "'%.100s' object has no attribute '%U'",
                          nameOf(translator, typeOf(object)), name);
}

Value raiseNoAccessor(Translator& translator, PyObject* property, PyTypeObject* type,
                      std::string_view accessor) {
  const PyTypeObject& kind = PyProperty_Type;
  if (accessor == "getter") {
    Ref<>::steal(kind.tp_descr_get(property, Py_Ellipsis, nullptr));
  } else {
    kind.tp_descr_set(property, Py_Ellipsis, accessor == "setter" ? Py_None : nullptr);
  }
  PyObject *error, *value, *traceback;
  PyErr_Fetch(&error, &value, &traceback);
  Ref<> ownedError = Ref<>::steal(error), ownedValue = Ref<>::steal(value);
  Ref<> ownedTraceback = Ref<>::steal(traceback);
  Ref<> text = checked(PyObject_Str(value));
  std::string start = printable(text);
  start.resize(std::min(start.size(), start.find(" of 'ellipsis'")));
  Found owner = translator.heap.qualifiedNameOf(type);
  if (owner.source) translator.addGuard(owner.source, GuardType::EQUALS_MATCH, owner.object);
  return translator.raise(PyExc_AttributeError, "%s of %R object has no %s", start.c_str(),
                          owner.object, accessor.data());
}

bool isWritten(const UserObjectVariable* object, const Value& key) {
  return object->memberValues &&
         object->memberValues->entries().find(key, hashKey(key).hash) != OrderedValueMap::kAbsent;
}

Value memberOf(Translator& translator, const Found& found, const Value& instance, PyObject* name) {
  if (auto* partial = partOf<PartialVariable>(instance)) {
    if (PyDescr_TYPE(found.object) == partialType()) {
      return slotsOf(partial).tp_getattro(translator, partial, name);
    }
  }
  if (auto* object = trackerOf<UserObjectVariable>(instance)) {
    Value key = Value::constant(found.object);
    if (isWritten(object, key)) {
      Value value = object->memberValues->get(translator, key);
      return value ? value : noAttribute(translator, instance, name);
    }
    if (!object->existing()) return noAttribute(translator, instance, name);
    if (cpython::isObjectMember(found.object)) {
      Found slot = translator.heap.slot(object->source(), object->existing(), found.object);
      if (!slot.object) return noAttribute(translator, instance, name);
      return translator.wrap(slot.source, slot.object);
    }
  }
  throw GraphBreak(GraphBreakKind::AttributeOfCObject, describe(instance) + "." + printable(name));
}

const BuiltinAttribute* findBuiltinAttribute(const Value& self, PyObject* descriptor) {
  PyTypeObject* kind = Py_TYPE(descriptor);
  if (kind != &PyGetSetDescr_Type && kind != &PyMemberDescr_Type) return nullptr;
  for (const BuiltinAttribute& attribute : slotsOf(self).getset) {
    if (cpython::ownAttribute(reinterpret_cast<PyTypeObject*>(*attribute.owner), attribute.name) ==
        descriptor) {
      return &attribute;
    }
  }
  return nullptr;
}

}  // namespace armature
