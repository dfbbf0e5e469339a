// torch's dtypes and devices: their numbers in C++, their objects in Python.
#pragma once

#include "core/ref.h"
#include "shapes/tensor_metadata.h"

namespace armature {

// c10::ScalarType, as far as rules compute with it.
enum ScalarType : DType {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Float16 = 5,
  Float32 = 6,
  Float64 = 7,
  Complex32 = 8,
  Complex64 = 9,
  Complex128 = 10,
  Bool = 11,
  BFloat16 = 15,
};

constexpr bool isComplex(DType dtype) { return dtype >= Complex32 && dtype <= Complex128; }
constexpr bool isFloating(DType dtype) {
  return (dtype >= Float16 && dtype <= Float64) || dtype == BFloat16;
}
constexpr bool isIntegral(DType dtype) { return dtype >= UInt8 && dtype <= Int64; }
// One of the dtypes above; the rules know no others.
constexpr bool isCommon(DType dtype) {
  return (dtype >= UInt8 && dtype <= Bool) || dtype == BFloat16;
}
// Bytes of an element.
int64_t itemSize(DType dtype);

// The torch.dtype object; null with an exception set if there is none.
Ref<> dtypeObject(DType dtype);
// The number of a torch.dtype object; -1 for any other object.
DType dtypeNumber(BorrowedRef<> object);

// The dtype of tensors on the CPU that a legacy type means, be it the class torch.DoubleTensor or
// its name "torch.DoubleTensor"; -1 for any other object.
DType legacyDType(BorrowedRef<> type);
// The name of the legacy type of such tensors; null for a dtype without one.
Ref<> legacyTypeName(DType dtype);

// A torch.device object: a new one, by a call that the program's modes would see; or the one that
// is made once.
Ref<> newDeviceObject(Device device);
Ref<> deviceObject(Device device);
// The device that a torch.device object means; false for any other object.
bool readDevice(BorrowedRef<> object, Device& device);
// Is it a str that names a device where torch takes one ("cpu", "cuda:1")? Elsewhere it may mean
// anything else.
bool mayNameDevice(BorrowedRef<> object);

constexpr int8_t kCpuDevice = 0;
constexpr int8_t kMetaDevice = 14;

}  // namespace armature
