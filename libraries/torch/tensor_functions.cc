// The way through libtorch's stable C functions. Their tensor handle points to an at::Tensor, and
// that is what a Python tensor holds right after its header; verified on the examples.

#include "libraries/torch/tensor_access.h"
#include "libraries/torch/torch_symbols.h"

namespace armature {
namespace {

using Handle = void*;

class Functions : public TensorAccess {
 public:
  explicit Functions(const TensorAccess& attributes) : attributes_(attributes) {}

  bool complete() const {
    return dim_ && sizes_ && strides_ && dtype_ && deviceType_ && deviceIndex_ && offset_ &&
           layout_ && strided_;
  }

  bool read(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) const override {
    // Everything that the functions don't tell.
    if (!attributes_.read(tensor, metadata, why)) return false;
    return readFunctions(tensor, metadata);
  }

  // Asks the attributes only for what the functions cannot tell.
  bool matches(BorrowedRef<> tensor, const TensorMetadata& expected,
               uint32_t observed) const override {
    constexpr uint32_t toldByAttributes = ObservedDispatchKeys | ObservedRequiresGrad;
    TensorMetadata found;
    return readFunctions(tensor, found) && agree(found, expected, observed & ~toldByAttributes) &&
           (!(observed & toldByAttributes) ||
            attributes_.matches(tensor, expected, observed & toldByAttributes));
  }

 private:
  static Handle handle(BorrowedRef<> tensor) {
    return reinterpret_cast<char*>(tensor.get()) + sizeof(PyObject);
  }

  bool readFunctions(BorrowedRef<> tensor, TensorMetadata& metadata) const {
    Handle t = handle(tensor);
    int64_t dimension, offset, *sizes, *strides;
    int32_t dtype, deviceType, deviceIndex, layout;
    if (layout_(t, &layout) || layout != strided_() || dim_(t, &dimension) || sizes_(t, &sizes) ||
        strides_(t, &strides) || dtype_(t, &dtype) || deviceType_(t, &deviceType) ||
        deviceIndex_(t, &deviceIndex) || offset_(t, &offset))
      return false;
    metadata.sizes.assign(sizes, sizes + dimension);
    metadata.strides.assign(strides, strides + dimension);
    metadata.storageOffset = offset;
    metadata.dtype = static_cast<DType>(dtype);
    metadata.device = {static_cast<int8_t>(deviceType), static_cast<int8_t>(deviceIndex)};
    return true;
  }

  using GetInt64 = int32_t(Handle, int64_t*);
  using GetInt32 = int32_t(Handle, int32_t*);
  using GetArray = int32_t(Handle, int64_t**);

  GetInt64* dim_ = torchFunction<GetInt64>("aoti_torch_get_dim");
  GetArray* sizes_ = torchFunction<GetArray>("aoti_torch_get_sizes");
  GetArray* strides_ = torchFunction<GetArray>("aoti_torch_get_strides");
  GetInt32* dtype_ = torchFunction<GetInt32>("aoti_torch_get_dtype");
  GetInt32* deviceType_ = torchFunction<GetInt32>("aoti_torch_get_device_type");
  GetInt32* deviceIndex_ = torchFunction<GetInt32>("aoti_torch_get_device_index");
  GetInt64* offset_ = torchFunction<GetInt64>("aoti_torch_get_storage_offset");
  GetInt32* layout_ = torchFunction<GetInt32>("aoti_torch_get_layout");
  int32_t (*strided_)() = torchFunction<int32_t()>("aoti_torch_layout_strided");
  const TensorAccess& attributes_;
};

}  // namespace

std::unique_ptr<TensorAccess> functionAccess(const TensorAccess& attributes,
                                             const std::vector<TensorExample>& examples) {
  auto access = std::make_unique<Functions>(attributes);
  if (!access->complete()) return nullptr;
  for (const TensorExample& example : examples) {
    TensorMetadata found;
    std::string why;
    if (!access->read(example.tensor, found, &why) || !(found == example.metadata)) return nullptr;
  }
  return access;
}

}  // namespace armature
