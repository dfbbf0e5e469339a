#include "libraries/torch/own_attributes.h"

#include "cpython/function_layout.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/own_methods.h"

namespace armature {

namespace {

bool isSpecial(std::string_view name) { return name.starts_with("__") && name.ends_with("__"); }

bool isCDescriptor(PyTypeObject* type) {
  return type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type ||
         type == &PyWrapperDescr_Type || type == &PyGetSetDescr_Type || type == &PyMemberDescr_Type;
}

// By which NumPy leaves operators to tensors (Tensor.__array_priority__).
constexpr long kPriority = 1000;

// Plain data needs no rule of torch's, it is what it is; but for what NumPy looks at.
bool isTorchs(PyTypeObject* owner, PyObject* name, PyObject* attribute) {
  if (stringView(name) == "__array_priority__" && PyLong_CheckExact(attribute)) {
    return PyLong_AsLong(attribute) == kPriority;
  }
  if (isCDescriptor(Py_TYPE(attribute))) {
    // Of special methods, some are other methods under a second name.
    bool hasItsName =
        isSpecial(stringView(name)) || stringView(PyDescr_NAME(attribute)) == stringView(name);
    return hasItsName && PyType_IsSubtype(owner, PyDescr_TYPE(attribute));
  }
  PyObject* function = functionOf(attribute);
  if (!function || !PyFunction_Check(function)) return false;
  return !TorchModule::modules().definedIn(function).empty();
}

}  // namespace

OwnAttributes::OwnAttributes(const TorchModule& torch) {
  add(torch.tensorType.get());
  add(torch.parameterType.get());
}

void OwnAttributes::add(PyTypeObject* type) {
  PyObject* mro = cpython::mro(type);
  for (Py_ssize_t i = PyTuple_GET_SIZE(mro) - 1; i >= 0; --i) {
    auto* owner = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    PyObject *name, *attribute;
    for (Py_ssize_t j = 0; PyDict_Next(cpython::dict(owner), &j, &name, &attribute);) {
      if (isTorchs(owner, name, attribute)) {
        known_[{type, name}] = attribute;
        kept_.push_back(Ref<>::create(attribute));
        kept_.push_back(Ref<>::create(name));
      } else {
        known_.erase({type, name});
      }
    }
  }
}

}  // namespace armature
