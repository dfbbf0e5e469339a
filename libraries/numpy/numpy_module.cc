#include "libraries/numpy/numpy_module.h"

#include <string>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "libraries/verification.h"

namespace armature {

namespace {

// One character for each number type (numpy.typecodes), native byte order.
constexpr const char* kTypeCodes = "?bBhHiIlLqQefdgFDG";

Ref<PyTypeObject> typeNamed(const NumPyModule& module, const char* name) {
  Ref<> type = module.attribute(name);
  if (!type || !PyType_Check(type.get())) return nullptr;
  return Ref<PyTypeObject>::steal(reinterpret_cast<PyTypeObject*>(type.release()));
}

}  // namespace

Ref<> NumPyModule::attribute(const char* path) const {
  Ref<> object = numpy;
  std::string rest = path;
  while (object && !rest.empty()) {
    size_t dot = rest.find('.');
    object = Ref<>::steal(PyObject_GetAttrString(object.get(), rest.substr(0, dot).c_str()));
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
  }
  clearException();
  return object;
}

bool NumPyModule::load() {
  if (!trusts("numpy.module")) return false;
  arrayType = typeNamed(*this, "ndarray");
  scalarBase = typeNamed(*this, "generic");
  ufuncType = typeNamed(*this, "ufunc");
  errorHandling = attribute("_core._multiarray_umath._extobj_contextvar");
  Ref<> dtypeType = attribute("dtype");
  if (!arrayType || !scalarBase || !ufuncType || !errorHandling || !dtypeType ||
      !PyContextVar_CheckExact(errorHandling.get())) {
    return false;
  }
  for (const char* code = kTypeCodes; *code; ++code) {
    Ref<> dtype = Ref<>::steal(PyObject_CallFunction(dtypeType.get(), "C", *code));
    Ref<> number = Ref<>::steal(dtype ? PyObject_GetAttrString(dtype.get(), "num") : nullptr);
    Ref<> type = Ref<>::steal(number ? PyObject_GetAttrString(dtype.get(), "type") : nullptr);
    if (!type || !PyType_Check(type.get())) return false;
    size_t index = PyLong_AsSize_t(number.get());
    if (index >= kDTypeCount) return false;
    dtypes[index] = std::move(dtype);
    scalarTypes[index] = reinterpret_cast<PyTypeObject*>(type.get());
    // The type's own dtype decides where two numbers have one type.
    numberOfScalarType[scalarTypes[index]] = static_cast<DType>(index);
  }
  Ref<> make = attribute("_core._multiarray_umath._make_extobj");
  auto onErrors = [&](const char* reaction) {
    Ref<> settings = checked(Py_BuildValue("{ss}", "all", reaction));
    Ref<> none = checked(PyTuple_New(0));
    return Ref<>::steal(make ? PyObject_Call(make.get(), none.get(), settings.get()) : nullptr);
  };
  ignoreErrors = onErrors("ignore");
  raiseErrors = ignoreErrors ? onErrors("raise") : nullptr;
  return static_cast<bool>(raiseErrors);
}

const NumPyModule* NumPyModule::get() {
  static NumPyModule* loaded = nullptr;
  static bool tried = false;
  if (tried) return loaded;
  // What numpy imports last.
  if (!cpython::importedAttribute("numpy", "linalg")) return nullptr;
  tried = true;
  auto* candidate = new NumPyModule;
  candidate->numpy = Ref<>::create(cpython::importedModule("numpy"));
  if (candidate->load()) {
    loaded = candidate;
  } else {
    delete candidate;
  }
  clearException();
  return loaded;
}

}  // namespace armature
