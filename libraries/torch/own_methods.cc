#include "libraries/torch/own_methods.h"

#include <llvm/ADT/STLExtras.h>

#include "cpython/member_descriptors.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/torch_module.h"

namespace armature {

PyObject* functionOf(PyObject* attribute) {
  PyTypeObject* type = Py_TYPE(attribute);
  if (type == &PyProperty_Type) {
    return cpython::memberValue(attribute, cpython::ownAttribute(type, "fget"));
  }
  if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type) {
    return cpython::memberValue(attribute, cpython::ownAttribute(type, "__func__"));
  }
  return attribute;
}

bool hasOwnMethods(Translator& translator, PyTypeObject* type, llvm::ArrayRef<PyObject*> names) {
  return llvm::all_of(names, [&](PyObject* name) {
    Found found = translator.heap.lookup(type, name);
    if (!found) return false;
    if (found.object == cpython::lookup(&PyBaseObject_Type, name)) return true;
    PyObject* function = functionOf(found.object);
    return function && PyFunction_Check(function) &&
           !TorchModule::modules().definedIn(function).empty();
  });
}

}  // namespace armature
