// The way through offsets. Where c10::TensorImpl keeps its fields is not promised by anybody, so it
// is searched in examples whose metadata is known, and used only if every example agrees. Memory is
// first read through the kernel, which refuses a bad address instead of crashing.

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

#include "libraries/torch/process_memory.h"
#include "libraries/torch/tensor_access.h"
#include "libraries/torch/torch_symbols.h"

namespace armature {
namespace {

constexpr size_t searchedBytes = 256;   // a TensorImpl has about 200
constexpr size_t inlineDimensions = 5;  // c10::impl::SizesAndStrides; verified below
constexpr size_t none = static_cast<size_t>(-1);

struct Layout {
  size_t implementation = sizeof(PyObject);  // in the Python object: at::Tensor is one pointer
  size_t dispatchKeys = none;
  size_t dtype = none;   // caffe2::TypeMeta, a uint16_t
  size_t device = none;  // c10::Device: type and index, a byte each
  size_t sizes = none;   // their number comes before, the strides after
  size_t storageOffset = none;
};

template <class T>
T at(const char* base, size_t offset) {
  T value;
  std::memcpy(&value, base + offset, sizeof(T));
  return value;
}

// A copy of the beginning of an example's implementation.
struct Image {
  const TensorExample* example;
  char* implementation;
  char bytes[searchedBytes] = {};
};

class LayoutAccess : public TensorAccess {
 public:
  explicit LayoutAccess(const Layout& layout, DispatchKeyBits bits)
      : layout_(layout), bits_(bits) {}

  bool complete() const { return requiresGrad_ && gradFn_ && table_; }

  bool read(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) const override {
    const char* t = implementation(tensor);
    // Sparse, nested, quantized, wrapped and other tensors have classes of their own, derived from
    // c10::TensorImpl. The first words of a C++ virtual table are not the functions' (Itanium ABI).
    if (at<const char*>(t, 0) != table_ + 2 * sizeof(void*)) {
      *why = "its implementation is not that of plain dense tensors";
      return false;
    }
    metadata.library = ArrayLibraryKind::Torch;
    metadata.dispatchKeys = at<uint64_t>(t, layout_.dispatchKeys);
    metadata.dtype = static_cast<DType>(at<uint16_t>(t, layout_.dtype));
    metadata.device = device(t);
    size_t dimension = this->dimension(t);
    const int64_t* sizes = this->sizes(t, dimension);
    const int64_t* strides = sizes + stridesFromSizes(dimension);
    metadata.sizes.assign(sizes, sizes + dimension);
    metadata.strides.assign(strides, strides + dimension);
    metadata.storageOffset = at<int64_t>(t, layout_.storageOffset);
    metadata.requiresGrad = requiresGrad_(t);
    metadata.isLeaf = isLeaf(tensor);
    metadata.isInference = !(metadata.dispatchKeys & bits_.notInference);
    metadata.isConjugate = metadata.dispatchKeys & bits_.conjugate;
    metadata.isNegative = metadata.dispatchKeys & bits_.negative;
    metadata.isStrided = true;
    return true;
  }

  bool matches(BorrowedRef<> tensor, const TensorMetadata& expected,
               uint32_t observed) const override {
    const char* t = implementation(tensor);
    if (observed & ObservedDispatchKeys &&
        at<uint64_t>(t, layout_.dispatchKeys) != expected.dispatchKeys)
      return false;
    if (observed & ObservedDType &&
        at<uint16_t>(t, layout_.dtype) != static_cast<uint16_t>(expected.dtype))
      return false;
    if (observed & ObservedDevice && device(t) != expected.device) return false;
    if (observed & (ObservedDimension | ObservedSizes | ObservedStrides)) {
      size_t dimension = this->dimension(t);
      if (dimension != expected.sizes.size()) return false;
      const int64_t* sizes = this->sizes(t, dimension);
      if (observed & ObservedSizes && !std::equal(sizes, sizes + dimension, expected.sizes.begin()))
        return false;
      const int64_t* strides = sizes + stridesFromSizes(dimension);
      if (observed & ObservedStrides &&
          !std::equal(strides, strides + dimension, expected.strides.begin()))
        return false;
    }
    if (observed & ObservedStorageOffset &&
        at<int64_t>(t, layout_.storageOffset) != expected.storageOffset)
      return false;
    return !(observed & (ObservedIsLeaf | ObservedRequiresGrad)) ||
           matchesAutograd(tensor, expected, observed);
  }

 private:
  const char* implementation(BorrowedRef<> tensor) const {
    return at<const char*>(reinterpret_cast<char*>(tensor.get()), layout_.implementation);
  }
  // As Tensor.is_leaf, which asks for the function that made the tensor: that of a view is brought
  // up to date by it. TensorBase::is_leaf only looks at what was known last.
  bool isLeaf(BorrowedRef<> tensor) const {
    if (!requiresGrad_(implementation(tensor))) return true;
    try {
      const void* base = reinterpret_cast<char*>(tensor.get()) + layout_.implementation;
      return !*static_cast<void* const*>(gradFn_(base));
    } catch (const std::exception&) {
      return false;  // A view of what autograd did not allow to be changed.
    }
  }
  // Apart, so that what most guards ask for calls nothing and saves no registers.
  [[gnu::noinline]] bool matchesAutograd(BorrowedRef<> tensor, const TensorMetadata& expected,
                                         uint32_t observed) const {
    if (observed & ObservedIsLeaf && isLeaf(tensor) != expected.isLeaf) return false;
    return !(observed & ObservedRequiresGrad) ||
           requiresGrad_(implementation(tensor)) == expected.requiresGrad;
  }
  Device device(const char* t) const {
    return {at<int8_t>(t, layout_.device), at<int8_t>(t, layout_.device + 1)};
  }
  size_t dimension(const char* t) const { return at<size_t>(t, layout_.sizes - sizeof(size_t)); }
  const int64_t* sizes(const char* t, size_t dimension) const {
    return dimension <= inlineDimensions ? reinterpret_cast<const int64_t*>(t + layout_.sizes)
                                         : at<const int64_t*>(t, layout_.sizes);
  }
  static size_t stridesFromSizes(size_t dimension) {
    return dimension <= inlineDimensions ? inlineDimensions : dimension;
  }

  Layout layout_;
  DispatchKeyBits bits_;
  bool (*requiresGrad_)(const void*) =
      torchFunction<bool(const void*)>("_ZNK3c1010TensorImpl13requires_gradEv");
  // A reference to a shared pointer, whose first word is the pointer.
  const void* (*gradFn_)(const void*) =
      torchFunction<const void*(const void*)>("_ZNK2at10TensorBase7grad_fnEv");
  const char* table_ = static_cast<const char*>(torchSymbol("_ZTVN3c1010TensorImplE"));
};

// The only multiple of `step` at which all images fit; `none` if there is no such place, or
// several.
template <class Fits>
size_t uniqueOffset(const std::vector<Image>& images, size_t begin, size_t step, Fits fits) {
  size_t found = none;
  for (size_t offset = begin; offset + sizeof(uint64_t) <= searchedBytes; offset += step) {
    if (!std::all_of(images.begin(), images.end(),
                     [&](const Image& image) { return fits(image, offset); }))
      continue;
    if (found != none) return none;
    found = offset;
  }
  return found;
}

bool fitsSizes(const Image& image, size_t offset) {
  const TensorMetadata& metadata = image.example->metadata;
  size_t dimension = metadata.sizes.size();
  size_t bytes = dimension * sizeof(int64_t);
  if (offset < sizeof(size_t) || at<size_t>(image.bytes, offset - sizeof(size_t)) != dimension)
    return false;
  if (dimension > inlineDimensions) {
    std::vector<int64_t> both(2 * dimension);
    return readMemory(at<const void*>(image.bytes, offset), both.data(), 2 * bytes) &&
           std::equal(metadata.sizes.begin(), metadata.sizes.end(), both.begin()) &&
           std::equal(metadata.strides.begin(), metadata.strides.end(), both.begin() + dimension);
  }
  size_t strides = offset + inlineDimensions * sizeof(int64_t);
  return strides + bytes <= searchedBytes &&
         std::memcmp(image.bytes + offset, metadata.sizes.data(), bytes) == 0 &&
         std::memcmp(image.bytes + strides, metadata.strides.data(), bytes) == 0;
}

std::optional<Layout> findLayout(const std::vector<Image>& images) {
  Layout layout;
  layout.sizes = uniqueOffset(images, sizeof(size_t), 8, fitsSizes);
  if (layout.sizes == none) return std::nullopt;
  size_t afterSizes = layout.sizes + 2 * inlineDimensions * sizeof(int64_t);
  layout.dispatchKeys = uniqueOffset(images, 0, 8, [](const Image& image, size_t offset) {
    return at<uint64_t>(image.bytes, offset) == image.example->metadata.dispatchKeys;
  });
  layout.storageOffset = uniqueOffset(images, afterSizes, 8, [](const Image& image, size_t offset) {
    return at<int64_t>(image.bytes, offset) == image.example->metadata.storageOffset;
  });
  layout.dtype = uniqueOffset(images, afterSizes, 2, [](const Image& image, size_t offset) {
    return at<uint16_t>(image.bytes, offset) ==
           static_cast<uint16_t>(image.example->metadata.dtype);
  });
  // c10::Device in an optional: type, index, and that it is there.
  layout.device = uniqueOffset(images, afterSizes, 1, [](const Image& image, size_t offset) {
    const TensorMetadata& metadata = image.example->metadata;
    return at<int8_t>(image.bytes, offset) == metadata.device.type &&
           at<int8_t>(image.bytes, offset + 1) == metadata.device.index &&
           at<uint8_t>(image.bytes, offset + 2) == 1;
  });
  if (layout.dispatchKeys == none || layout.storageOffset == none || layout.dtype == none ||
      layout.device == none)
    return std::nullopt;
  return layout;
}

// A property's bits are those that all tensors with the property have, and no other.
DispatchKeyBits findBits(const std::vector<TensorExample>& examples) {
  DispatchKeyBits bits{~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
  for (const TensorExample& example : examples) {
    const TensorMetadata& metadata = example.metadata;
    uint64_t keys = metadata.dispatchKeys;
    bits.conjugate &= metadata.isConjugate ? keys : ~keys;
    bits.negative &= metadata.isNegative ? keys : ~keys;
    bits.notInference &= metadata.isInference ? ~keys : keys;
  }
  return bits;
}

}  // namespace

std::unique_ptr<TensorAccess> layoutAccess(const std::vector<TensorExample>& examples) {
  std::vector<Image> images;
  for (const TensorExample& example : examples) {
    Image image{&example, nullptr, {}};
    const char* place = reinterpret_cast<char*>(example.tensor.get()) + sizeof(PyObject);
    image.implementation = at<char*>(place, 0);
    if (!readMemory(image.implementation, image.bytes, searchedBytes)) return nullptr;
    images.push_back(image);
  }
  std::optional<Layout> layout = findLayout(images);
  if (!layout) return nullptr;
  auto access = std::make_unique<LayoutAccess>(*layout, findBits(examples));
  if (!access->complete()) return nullptr;
  for (const TensorExample& example : examples) {
    TensorMetadata found;
    std::string why;
    if (!access->read(example.tensor, found, &why) || !(found == example.metadata) ||
        !access->matches(example.tensor, example.metadata, ObservedEverything))
      return nullptr;
  }
  return access;
}

}  // namespace armature
