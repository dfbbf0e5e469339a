#include "libraries/torch/torch_module.h"

#include <initializer_list>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"

namespace armature {

namespace {

// root.path[0].path[1]…, or null.
Ref<> attribute(BorrowedRef<> root, std::initializer_list<const char*> path) {
  Ref<> object = Ref<>::create(root);
  for (const char* name : path) {
    if (!object) break;
    object = Ref<>::steal(PyObject_GetAttrString(object.get(), name));
  }
  clearException();
  return object;
}

Ref<PyTypeObject> type(BorrowedRef<> root, std::initializer_list<const char*> path) {
  Ref<> object = attribute(root, path);
  if (!object || !PyType_Check(object.get())) return nullptr;
  return Ref<PyTypeObject>::steal(reinterpret_cast<PyTypeObject*>(object.release()));
}

// Null where torch is not imported to its end.
const TorchModule* find() {
  Ref<> name = checked(PyUnicode_FromString("torch"));
  Ref<> torch = Ref<>::steal(PyImport_GetModule(name.get()));
  clearException();
  if (!torch) return nullptr;
  auto found = TorchModule{
      .torch = torch,
      .tensorType = type(torch, {"Tensor"}),
      .parameterType = type(torch, {"nn", "Parameter"}),
      .variableFunctions = attribute(torch, {"_C", "_VariableFunctions"}),
      .opOverload = type(torch, {"_ops", "OpOverload"}),
      .opOverloadPacket = type(torch, {"_ops", "OpOverloadPacket"}),
      .higherOrderOperator = type(torch, {"_ops", "HigherOrderOperator"}),
      .schemasForOperator = attribute(torch, {"_C", "_jit_get_schemas_for_operator"}),
      .isAliasOf = attribute(torch, {"_C", "_is_alias_of"}),
  };
  bool complete = found.tensorType && found.parameterType && found.variableFunctions &&
                  found.opOverload && found.opOverloadPacket && found.higherOrderOperator &&
                  found.schemasForOperator && found.isAliasOf;
  return complete ? new TorchModule(std::move(found)) : nullptr;
}

}  // namespace

const TorchModule* TorchModule::get() {
  static const TorchModule* module = nullptr;
  if (!module) module = find();
  return module;
}

PyObject* torchBinding(const char* name) {
  static PyObject* const bindings = checked(cpython::importModule("torch._C")).release();
  return checked(PyObject_GetAttrString(bindings, name)).release();
}

PackageModules& TorchModule::modules() {
  static auto* modules = new PackageModules("torch");
  return *modules;
}

}  // namespace armature
