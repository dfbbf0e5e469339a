#include "heap/protocol_hooks.h"

#include "core/checked.h"
#include "cpython/dict_layout.h"
#include "cpython/function_layout.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"

namespace armature {

namespace {

bool isAttributeOf(PyObject* object, const char* module, const char* name) {
  return object && cpython::importedAttribute(module, name).get() == object;
}

// Does the class leave it to type.__getattribute__ how its attributes are read?
bool hasPlainMetaclass(PyTypeObject* type) {
  auto* metaclass = reinterpret_cast<PyObject*>(Py_TYPE(type));
  return Py_TYPE(type) == &PyType_Type || isAttributeOf(metaclass, "abc", "ABCMeta") ||
         isAttributeOf(metaclass, "typing", "_ProtocolMeta");
}

template <class Holds>
bool allOfMro(PyTypeObject* type, Holds holds) {
  PyObject* mro = cpython::mro(type);
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); ++i) {
    if (!holds(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i)))) return false;
  }
  return mro;
}

// The function that Protocol.__init_subclass__ makes for each protocol.
bool isHookOf(PyTypeObject* protocol, PyObject* hook) {
  if (!cpython::isFunctionOf(hook, "typing")) return false;
  PyObject* closure = cpython::read(hook, cpython::FunctionField::Closure);
  return PyUnicode_CompareWithASCIIString(cpython::codeOf(hook)->co_name, "_proto_hook") == 0 &&
         closure && PyTuple_GET_SIZE(closure) == 1 &&
         PyCell_GET(PyTuple_GET_ITEM(closure, 0)) == reinterpret_cast<PyObject*>(protocol);
}

// _is_callable_members_only(), of what the class itself adds to the members.
bool addsFunctionsOnly(PyTypeObject* type, PyObject* noMembers) {
  static PyObject* const annotations = staticName("__annotations__");
  static PyObject* const prefix = staticName("_abc_");
  PyObject* annotated = cpython::ownAttribute(type, annotations);
  if (annotated && !(PyDict_CheckExact(annotated) && PyDict_Size(annotated) == 0)) return false;
  for (cpython::DictEntry entry; cpython::nextEntry(cpython::dict(type), entry);) {
    if (PyFunction_Check(entry.value)) continue;
    bool isNoMember = PyUnicode_CheckExact(entry.key) &&
                      (PyUnicode_Tailmatch(entry.key, prefix, 0, PY_SSIZE_T_MAX, -1) == 1 ||
                       PySequence_Contains(noMembers, entry.key) == 1);
    if (!isNoMember) return false;
  }
  return true;
}

}  // namespace

bool isInnocentProtocolHook(PyTypeObject* protocol, PyObject* hook, PyTypeObject* derived) {
  static PyObject* const isProtocol = staticName("_is_protocol");
  static PyObject* const isRuntimeProtocol = staticName("_is_runtime_protocol");
  static PyObject* const annotations = staticName("__annotations__");
  if (!isHookOf(protocol, hook) || !allOfMro(protocol, hasPlainMetaclass)) return false;
  // Of what a protocol's subclass is that is none, the hook says nothing.
  PyObject* own = cpython::ownAttribute(protocol, isProtocol);
  if (!own || own == Py_False) return true;
  PyObject* noMembers = cpython::importedAttribute("typing", "EXCLUDED_ATTRIBUTES").get();
  if (own != Py_True || cpython::lookup(protocol, isRuntimeProtocol) != Py_True || !noMembers ||
      !PyList_CheckExact(noMembers)) {
    return false;
  }
  bool hasFunctionsOnly = allOfMro(protocol, [&](PyTypeObject* type) {
    auto* object = reinterpret_cast<PyObject*>(type);
    return type == &PyBaseObject_Type || isAttributeOf(object, "typing", "Protocol") ||
           isAttributeOf(object, "typing", "Generic") || addsFunctionsOnly(type, noMembers);
  });
  // Of the other class it reads these two.
  PyObject* says = cpython::lookup(derived, isProtocol);
  return hasFunctionsOnly && (!says || PyBool_Check(says)) &&
         allOfMro(derived, [&](PyTypeObject* type) {
           PyObject* annotated = cpython::ownAttribute(type, annotations);
           return hasPlainMetaclass(type) && (!annotated || PyDict_CheckExact(annotated));
         });
}

}  // namespace armature
