#include "libraries/torch/tensor_constants.h"

#include <llvm/ADT/StringMap.h>

#include <optional>

#include "libraries/torch/dtypes.h"
#include "libraries/torch/mode_scope.h"
#include "libraries/torch/thread_state.h"
#include "libraries/torch/torch_module.h"

namespace armature {

namespace {

Ref<> boolean(bool value) { return Ref<>::create(value ? Py_True : Py_False); }
Ref<> integer(int64_t value) { return Ref<>::steal(PyLong_FromLongLong(value)); }

Ref<> tuple(const Dimensions& values) {
  Ref<> result = Ref<>::steal(PyTuple_New(values.size()));
  for (size_t i = 0; result && i < values.size(); ++i) {
    PyTuple_SET_ITEM(result.get(), i, integer(values[i].value()).release());
  }
  return result;
}

Ref<> torchAttribute(const char* name) {
  return Ref<>::steal(PyObject_GetAttrString(TorchModule::get()->torch.get(), name));
}

Ref<> shape(const TensorMetadata& metadata) {
  static PyObject* const type = torchAttribute("Size").release();
  Ref<> sizes = tuple(metadata.sizes);
  return Ref<>::steal(sizes ? PyObject_CallOneArg(type, sizes.get()) : nullptr);
}
Ref<> stride(const TensorMetadata& metadata) { return tuple(metadata.strides); }
Ref<> dtype(const TensorMetadata& metadata) { return dtypeObject(metadata.dtype); }
// Each time another object, as where the attribute is read.
Ref<> device(const TensorMetadata& metadata) {
  std::optional<ModeScope> modes;
  if (askFunctionModes()) {
    modes.emplace();
    if (!modes->leaveModes(/*keepFunctionModes=*/false)) return nullptr;
  }
  return newDeviceObject(metadata.device);
}
Ref<> dimension(const TensorMetadata& metadata) { return integer(metadata.dimension()); }
Ref<> numel(const TensorMetadata& metadata) { return integer(metadata.numel().value()); }
Ref<> elementSize(const TensorMetadata& metadata) {
  Ref<> object = dtypeObject(metadata.dtype);
  return Ref<>::steal(object ? PyObject_GetAttrString(object.get(), "itemsize") : nullptr);
}
Ref<> byteCount(const TensorMetadata& metadata) {
  Ref<> size = elementSize(metadata);
  return size ? integer((metadata.numel() * PyLong_AsLongLong(size.get())).value()) : nullptr;
}
Ref<> isSigned(const TensorMetadata& metadata) {
  Ref<> object = dtypeObject(metadata.dtype);
  return Ref<>::steal(object ? PyObject_GetAttrString(object.get(), "is_signed") : nullptr);
}
Ref<> layout(const TensorMetadata&) { return torchAttribute("strided"); }
Ref<> names(const TensorMetadata& metadata) {
  Ref<> result = Ref<>::steal(PyTuple_New(metadata.dimension()));
  for (int64_t i = 0; result && i < metadata.dimension(); ++i) {
    PyTuple_SET_ITEM(result.get(), i, Ref<>::create(Py_None).release());
  }
  return result;
}
Ref<> typeName(const TensorMetadata& metadata) {
  return metadata.device.type == kCpuDevice ? legacyTypeName(metadata.dtype) : nullptr;
}
Ref<> no(const TensorMetadata&) { return boolean(false); }

using Reader = Ref<> (*)(const TensorMetadata&);

const llvm::StringMap<Reader>& readers() {
  static const auto* table = new llvm::StringMap<Reader>{
      {"shape", shape},
      {"size", shape},
      {"stride", stride},
      {"dtype", dtype},
      {"device", device},
      {"ndim", dimension},
      {"dim", dimension},
      {"ndimension", dimension},
      {"numel", numel},
      {"nelement", numel},
      {"itemsize", elementSize},
      {"element_size", elementSize},
      {"nbytes", byteCount},
      {"layout", layout},
      {"names", names},
      {"type", typeName},
      {"is_signed", isSigned},
      {"storage_offset",
       [](const auto& metadata) { return integer(metadata.storageOffset.value()); }},
      {"get_device",
       [](const auto& metadata) {
         return integer(metadata.device.type == kCpuDevice ? -1 : metadata.device.index);
       }},
      {"is_contiguous", [](const auto& metadata) { return boolean(metadata.isContiguous()); }},
      {"is_floating_point",
       [](const auto& metadata) {
         return boolean(isFloating(metadata.dtype) || metadata.dtype > BFloat16);
       }},
      {"is_complex", [](const auto& metadata) { return boolean(isComplex(metadata.dtype)); }},
      {"requires_grad", [](const auto& metadata) { return boolean(metadata.requiresGrad); }},
      {"is_leaf", [](const auto& metadata) { return boolean(metadata.isLeaf); }},
      // Of others, autograd knows.
      {"grad_fn",
       [](const auto& metadata) { return metadata.isLeaf ? Ref<>::create(Py_None) : Ref<>(); }},
      {"retains_grad",
       [](const auto& metadata) { return metadata.isLeaf ? boolean(false) : Ref<>(); }},
      {"output_nr", [](const auto& metadata) { return metadata.isLeaf ? integer(0) : Ref<>(); }},
      {"is_inference", [](const auto& metadata) { return boolean(metadata.isInference); }},
      {"is_conj", [](const auto& metadata) { return boolean(metadata.isConjugate); }},
      {"is_neg", [](const auto& metadata) { return boolean(metadata.isNegative); }},
      {"is_cpu", [](const auto& metadata) { return boolean(metadata.device.type == kCpuDevice); }},
      {"is_cuda", [](const auto& metadata) { return boolean(metadata.device.type == 1); }},
      {"is_meta",
       [](const auto& metadata) { return boolean(metadata.device.type == kMetaDevice); }},
      {"is_mps", [](const auto& metadata) { return boolean(metadata.device.type == 13); }},
      {"is_xpu", [](const auto& metadata) { return boolean(metadata.device.type == 12); }},
      {"is_sparse", no},
      {"is_sparse_csr", no},
      {"is_mkldnn", no},
      {"is_quantized", no},
      {"is_nested", no},
      {"is_distributed", no},
      {"has_names", no},
  };
  return *table;
}

}  // namespace

Ref<> tensorConstant(const TensorMetadata& metadata, std::string_view name) {
  auto found = readers().find(llvm::StringRef(name.data(), name.size()));
  return found == readers().end() ? nullptr : found->second(metadata);
}

}  // namespace armature
