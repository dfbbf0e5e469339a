#include "libraries/torch/module_calls.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "cpython/instance_attributes.h"
#include "cpython/type_lookup.h"

namespace armature {

namespace {

PyObject* interned(const char* name) { return staticName(name); }

// torch.nn.Module and the methods of it that a call runs, for the life of the process.
struct ModuleClass {
  PyTypeObject* type = nullptr;
  PyObject* globals = nullptr;
  PyObject* call = nullptr;
  PyObject* callImplementation = nullptr;
  // What they run, as long as nobody gives them other code.
  PyObject* callCode = nullptr;
  PyObject* implementationCode = nullptr;

  bool hasItsCode() const {
    return PyFunction_GET_CODE(call) == callCode &&
           PyFunction_GET_CODE(callImplementation) == implementationCode;
  }

  // Null while torch is not imported, or not completely.
  static const ModuleClass* get() {
    static ModuleClass known;
    if (known.type) return &known;
    ModuleClass found;
    found.globals = cpython::importedVariables("torch.nn.modules.module").get();
    if (!found.globals) return nullptr;
    PyObject* type = PyDict_GetItemString(found.globals, "Module");
    if (!type || !PyType_Check(type)) return nullptr;
    found.type = reinterpret_cast<PyTypeObject*>(type);
    static PyObject* const callName = interned("__call__");
    static PyObject* const implementationName = interned("_call_impl");
    found.call = cpython::lookup(found.type, callName);
    found.callImplementation = cpython::lookup(found.type, implementationName);
    for (PyObject* function : {found.call, found.callImplementation}) {
      if (!function || !PyFunction_Check(function)) return nullptr;
    }
    found.callCode = Py_NewRef(PyFunction_GET_CODE(found.call));
    found.implementationCode = Py_NewRef(PyFunction_GET_CODE(found.callImplementation));
    known = found;
    for (PyObject* kept : {found.globals, found.call, found.callImplementation}) Py_INCREF(kept);
    Py_INCREF(found.type);
    return &known;
  }
};

// Is there such a dict, and nothing in it?
bool isEmpty(PyObject* dict, PyObject* name) {
  PyObject* hooks = PyDict_GetItemWithError(dict, name);
  if (hooks && PyDict_Check(hooks)) return PyDict_GET_SIZE(hooks) == 0;
  clearException();
  return false;
}

bool isWithoutHooks(const ModuleClass& module, PyObject* attributes) {
  static PyObject* const own[] = {interned("_forward_hooks"), interned("_forward_pre_hooks"),
                                  interned("_backward_hooks"), interned("_backward_pre_hooks")};
  static PyObject* const global[] = {
      interned("_global_forward_hooks"), interned("_global_forward_pre_hooks"),
      interned("_global_backward_hooks"), interned("_global_backward_pre_hooks")};
  for (PyObject* name : own) {
    if (!isEmpty(attributes, name)) return false;
  }
  for (PyObject* name : global) {
    if (!isEmpty(module.globals, name)) return false;
  }
  return true;
}

}  // namespace

BorrowedRef<> forwardOf(BorrowedRef<> object) {
  static PyObject* const call = interned("__call__");
  static PyObject* const callImplementation = interned("_call_impl");
  static PyObject* const compiledCall = interned("_compiled_call_impl");
  static PyObject* const forward = interned("forward");
  static PyObject* const access = interned("__getattribute__");
  const ModuleClass* module = ModuleClass::get();
  PyTypeObject* type = Py_TYPE(object.get());
  if (!module || !PyType_IsSubtype(type, module->type)) return nullptr;
  bool isPlain = module->hasItsCode() && cpython::lookup(type, call) == module->call &&
                 cpython::lookup(type, callImplementation) == module->callImplementation &&
                 cpython::lookup(type, compiledCall) == Py_None &&
                 cpython::lookup(type, access) == cpython::lookup(&PyBaseObject_Type, access);
  if (!isPlain) return nullptr;
  PyObject* attributes = cpython::materializedInstanceDict(object);
  if (!attributes || !isWithoutHooks(*module, attributes)) return nullptr;
  for (PyObject* name : {forward, callImplementation, compiledCall}) {
    PyObject* own = PyDict_GetItemWithError(attributes, name);
    if (!own) clearException();
    if (own && !(name == compiledCall && own == Py_None)) return nullptr;
  }
  PyObject* function = cpython::lookup(type, forward);
  return function && PyFunction_Check(function) ? function : nullptr;
}

}  // namespace armature
