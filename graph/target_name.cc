#include "graph/target_name.h"

#include <array>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "graph/graph.h"

namespace armature {

namespace {

// A module that is already imported, or null.
Ref<> importedModule(const char* name) {
  Ref<> key = checked(PyUnicode_FromString(name));
  Ref<> module = Ref<>::steal(PyImport_GetModule(key.get()));
  clearException();
  return module;
}

bool hasAttribute(BorrowedRef<> owner, const std::string& name, BorrowedRef<> value) {
  if (!owner || name.empty()) return false;
  Ref<> found = Ref<>::steal(PyObject_GetAttrString(owner.get(), name.c_str()));
  if (!found) clearException();
  return found && found.get() == value.get();
}

constexpr std::array<const char*, 2> kGuesses = {"torch", "torch.nn.functional"};

// C functions of torch have no __module__: where they are exported from is theirs.
const char* exportingModule(BorrowedRef<> target, const std::string& name) {
  for (const char* guess : kGuesses) {
    if (hasAttribute(importedModule(guess), name, target)) return guess;
  }
  return nullptr;
}

bool isMethodOfTensor(BorrowedRef<> target, const std::string& name, const std::string& module) {
  if (module == "torch._tensor" && stringAttribute(target, "__qualname__") == "Tensor." + name) {
    return true;
  }
  PyTypeObject* type = Py_TYPE(target.get());
  if (type != &PyMethodDescr_Type && type != &PyWrapperDescr_Type) return false;
  Ref<> torch = importedModule("torch");
  if (!torch) return false;
  Ref<> tensor = Ref<>::steal(PyObject_GetAttrString(torch.get(), "Tensor"));
  if (!tensor) clearException();
  return hasAttribute(tensor, name, target);
}

}  // namespace

std::string stringAttribute(BorrowedRef<> object, const char* name) {
  Ref<> value = Ref<>::steal(PyObject_GetAttrString(object.get(), name));
  if (!value) clearException();
  return value && PyUnicode_Check(value.get()) ? printable(value) : "";
}

std::string qualifiedName(BorrowedRef<> target) {
  std::string name = stringAttribute(target, "__name__");
  if (name.empty()) name = Py_TYPE(target.get())->tp_name;
  if (hasAttribute(PyImport_AddModule("builtins"), name, target)) return name;
  std::string module = stringAttribute(target, "__module__");
  if (isMethodOfTensor(target, name, module)) return "torch.Tensor." + name;
  if (module.empty()) {
    const char* exporting = exportingModule(target, name);
    if (!exporting) return name;
    module = exporting;
  }
  // What torch says of these two is not where they are found.
  if (size_t at = module.find("torch._ops"); at != std::string::npos) {
    module.replace(at, 10, "torch.ops");
  }
  if (module == "torch" && name == "segment_reduce") name = "_segment_reduce";
  return module + "." + name;
}

bool isFromTorch(BorrowedRef<> target) {
  std::string module = stringAttribute(target, "__module__");
  if (module.empty()) {
    std::string name = stringAttribute(target, "__name__");
    return name != "torch" && exportingModule(target, name);
  }
  return (module == "torch" || module.starts_with("torch.")) &&
         module.find("._dynamo.") == std::string::npos &&
         module.find("._inductor.") == std::string::npos;
}

std::string targetName(BorrowedRef<> target) {
  if (PyUnicode_Check(target.get())) return printable(target);
  std::string name = qualifiedName(target);
  if (name.starts_with("_operator.")) name.erase(0, 1);
  return name;
}

}  // namespace armature
