// What is known of an array without its data: dtype, device, shape, strides and the rest.
#pragma once

#include <cstdint>
#include <string>

#include "core/ref.h"
#include "shapes/dimension.h"

namespace armature {

// Which library an array belongs to, and thereby what `dtype` and `device` mean.
enum class ArrayLibraryKind : uint8_t { Torch, NumPy };

// c10::ScalarType numbers for torch; NPY_TYPES numbers for NumPy (native byte order only).
using DType = int8_t;

struct Device {
  int8_t type = 0;    // c10::DeviceType; 0 is the CPU, and always so for NumPy
  int8_t index = -1;  // -1: the type has no index
  bool operator==(const Device&) const = default;
};

struct TensorMetadata {
  ArrayLibraryKind library = ArrayLibraryKind::Torch;
  DType dtype = 0;
  Device device;
  bool requiresGrad = false;
  bool isLeaf = true;
  // The tensor may share the memory of another one that was there before it. Autograd may know it
  // as a view, of which it refuses some operations in place. True for all that did not come about
  // in the trace.
  bool mayBeView = true;
  bool isInference = false;
  bool isParameter = false;  // torch: its class is torch.nn.Parameter
  // torch.strided; any other layout is read through the library's own attributes and not modelled.
  bool isStrided = true;
  bool isConjugate = false;
  bool isNegative = false;
  bool isScalar = false;      // NumPy: not an array but a scalar, which has a type of its own
  uint64_t dispatchKeys = 0;  // torch._C._dispatch_keys(t).raw_repr(); 0 for traced results
  Dimensions sizes;
  Dimensions strides;  // in elements, for NumPy too
  Dimension storageOffset = 0;

  int64_t dimension() const { return static_cast<int64_t>(sizes.size()); }
  Dimension numel() const {
    Dimension n = 1;
    for (Dimension size : sizes) n *= size;
    return n;
  }
  bool isContiguous() const;
  bool operator==(const TensorMetadata&) const = default;
};

// Does an index with this metadata select by truth? The number of what it selects is data.
bool isMask(const TensorMetadata& metadata);

// Fills strides for a dense row-major array of the sizes it holds.
void setContiguousStrides(TensorMetadata& metadata);

// "f32[2, 3]" as FX prints annotations (f32, i64, b8, …); NumPy alike.
std::string toString(const TensorMetadata& metadata);

// The parts of the metadata that somebody looked at, and that a guard must therefore hold.
enum Observed : uint32_t {
  ObservedNothing = 0,            // the Python type alone, always guarded
  ObservedDispatchKeys = 1 << 0,  // backend, layout, conjugation, autograd: always with torch
  ObservedDType = 1 << 1,
  ObservedDevice = 1 << 2,
  ObservedDimension = 1 << 3,
  ObservedSizes = 1 << 4,
  ObservedStrides = 1 << 5,
  ObservedRequiresGrad = 1 << 6,
  ObservedEverything = (1 << 7) - 1,  // that results of operations depend on
  // No metadata, but also of the object: its __dict__ holds nothing.
  ObservedNoAttributes = 1 << 7,
  // Held only where somebody asks for them: other results do not depend on them, and slices of one
  // tensor differ in the latter.
  ObservedIsLeaf = 1 << 8,
  ObservedStorageOffset = 1 << 9,
};

}  // namespace armature
