#include "libraries/torch/transform_levels.h"

#include <algorithm>

#include "core/pending_python_exception.h"
#include "core/set_exception.h"
#include "cpython/imported_modules.h"

namespace armature {

namespace {

Ref<> moduleCall(const char* module, const char* name, llvm::ArrayRef<PyObject*> arguments) {
  Ref<> found = Ref<>::steal(cpython::importModule(module));
  Ref<> function = Ref<>::steal(found ? PyObject_GetAttrString(found.get(), name) : nullptr);
  if (!function) return nullptr;
  return Ref<>::steal(
      PyObject_Vectorcall(function.get(), arguments.data(), arguments.size(), nullptr));
}

}  // namespace

Ref<> callFunctorch(const char* name, llvm::ArrayRef<PyObject*> arguments) {
  return moduleCall("torch._C._functorch", name, arguments);
}

// Levels of forward-mode differentiation do not nest: there is but one.
Ref<> leaveDualLevel() {
  Ref<> arguments = Ref<>::steal(PyTuple_New(0));
  Ref<> keywords = Ref<>::steal(Py_BuildValue("{si}", "level", 0));
  Ref<> module = Ref<>::steal(cpython::importModule("torch._C"));
  Ref<> function =
      Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "_exit_dual_level") : nullptr);
  if (!arguments || !keywords || !function) return nullptr;
  return Ref<>::steal(PyObject_Call(function.get(), arguments.get(), keywords.get()));
}

TransformLevels::~TransformLevels() {
  SetException kept;
  while (!entered_.empty()) {
    if (!leaveInnermost()) clearException();
  }
}

bool TransformLevels::set(uint32_t mode) {
  std::vector<uint32_t> wanted = regionsOf(mode);
  std::erase_if(wanted, [](uint32_t number) { return !isTransform(regionAt(number)); });
  auto [differs, next] =
      std::mismatch(entered_.begin(), entered_.end(), wanted.begin(), wanted.end());
  for (auto count = entered_.end() - differs; count > 0; --count) {
    if (!leaveInnermost()) return false;
  }
  for (; next != wanted.end(); ++next) {
    if (!enter(*next)) return false;
  }
  return true;
}

bool TransformLevels::enter(uint32_t number) {
  const Region& region = regionAt(number);
  switch (region.kind) {
    case RegionKind::Autocast:
    case RegionKind::Setting:
    case RegionKind::Inference:
      return true;
    case RegionKind::Grad:
      // The level remembers whether gradients were on around it.
      if (!moduleCall("torch._C", "_set_grad_enabled", {region.settings[0].get()})) return false;
      number_ = callFunctorch("_grad_increment_nesting");
      break;
    case RegionKind::Vmap:
      if (!moduleCall("torch._functorch.predispatch", "lazy_load_decompositions", {})) return false;
      number_ = callFunctorch("_vmap_increment_nesting",
                              {region.settings[0].get(), region.settings[1].get()});
      break;
    case RegionKind::Jvp:
      number_ = callFunctorch("_jvp_increment_nesting");
      break;
    case RegionKind::Dual:
      if (!moduleCall("torch.autograd.forward_ad", "_maybe_load_decompositions", {})) return false;
      number_ = moduleCall("torch._C", "_enter_dual_level", {});
      break;
  }
  if (!number_) return false;
  entered_.push_back(number);
  return true;
}

bool TransformLevels::leaveInnermost() {
  const Region& region = regionAt(entered_.back());
  entered_.pop_back();
  switch (region.kind) {
    case RegionKind::Autocast:
    case RegionKind::Setting:
    case RegionKind::Inference:
      return true;
    case RegionKind::Grad:
      return static_cast<bool>(callFunctorch("_grad_decrement_nesting"));
    case RegionKind::Vmap:
      return static_cast<bool>(callFunctorch("_vmap_decrement_nesting"));
    case RegionKind::Jvp:
      return static_cast<bool>(callFunctorch("_jvp_decrement_nesting"));
    case RegionKind::Dual:
      return static_cast<bool>(leaveDualLevel());
  }
  return true;
}

}  // namespace armature
