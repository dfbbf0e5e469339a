#include "shapes/tensor_metadata.h"

#include <algorithm>

namespace armature {
namespace {

// FX's abbreviations (torch.utils._dtype_abbrs), by c10::ScalarType.
constexpr const char* torchAbbreviations[] = {
    "u8",       "i8",         "i16",        "i32",  "i64",       "f16",       "f32",   "f64",
    "c32",      "c64",        "c128",       "b8",   "qi8",       "qu8",       "qi32",  "bf16",
    "qu4x2",    "qu2x4",      "b1x8",       "b2x4", "b4x2",      "b8x1",      "b16x1", "f8e5m2",
    "f8e4m3fn", "f8e5m2fnuz", "f8e4m3fnuz", "u16",  "u32",       "u64",       "u1",    "u2",
    "u3",       "u4",         "u5",         "u6",   "u7",        "i1",        "i2",    "i3",
    "i4",       "i5",         "i6",         "i7",   "f8e8m0fnu", "f4e2m1fnx2"};

// The same for NPY_TYPES (numpy/ndarraytypes.h), where C's long and long long are 64 bits.
constexpr const char* numpyAbbreviations[] = {
    "b8",   "i8",     "u8",    "i16", "u16",  "i32",      "u32",       "i64",
    "u64",  "i64",    "u64",   "f32", "f64",  "f128",     "c64",       "c128",
    "c256", "object", "bytes", "str", "void", "datetime", "timedelta", "f16"};

template <size_t count>
std::string abbreviation(const char* const (&names)[count], DType dtype) {
  if (dtype >= 0 && static_cast<size_t>(dtype) < count) return names[dtype];
  return "dtype" + std::to_string(dtype);
}

}  // namespace

// torch's rule (c10::TensorImpl::compute_contiguous): the stride of a dimension of size 1 means
// nothing, and an array without elements is contiguous.
bool TensorMetadata::isContiguous() const {
  Dimension expected = 1;
  bool contiguous = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) contiguous = false;
    expected *= sizes[i];
  }
  return contiguous;
}

void setContiguousStrides(TensorMetadata& metadata) {
  metadata.strides.resize(metadata.sizes.size());
  Dimension stride = 1;
  for (size_t i = metadata.sizes.size(); i-- > 0;) {
    metadata.strides[i] = stride;
    stride *= std::max<Dimension>(metadata.sizes[i], 1);
  }
}

bool isMask(const TensorMetadata& metadata) {
  constexpr DType kNumPyBool = 0, kTorchByte = 0, kTorchBool = 11;
  if (metadata.library == ArrayLibraryKind::NumPy) return metadata.dtype == kNumPyBool;
  return metadata.dtype == kTorchBool || metadata.dtype == kTorchByte;
}

std::string toString(const TensorMetadata& metadata) {
  std::string text = metadata.library == ArrayLibraryKind::Torch
                         ? abbreviation(torchAbbreviations, metadata.dtype)
                         : abbreviation(numpyAbbreviations, metadata.dtype);
  text += "[";
  for (size_t i = 0; i < metadata.sizes.size(); ++i)
    text += (i ? ", " : "") + std::to_string(metadata.sizes[i].value());
  return text + "]";
}

}  // namespace armature
