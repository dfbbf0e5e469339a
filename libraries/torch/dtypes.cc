#include "libraries/torch/dtypes.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "core/pending_python_exception.h"
#include "cpython/type_lookup.h"
#include "libraries/torch/torch_module.h"

namespace armature {

namespace {

// By c10::ScalarType (torch/headeronly/core/ScalarType.h).
constexpr const char* kDTypeNames[] = {"uint8",
                                       "int8",
                                       "int16",
                                       "int32",
                                       "int64",
                                       "float16",
                                       "float32",
                                       "float64",
                                       "complex32",
                                       "complex64",
                                       "complex128",
                                       "bool",
                                       "qint8",
                                       "quint8",
                                       "qint32",
                                       "bfloat16",
                                       "quint4x2",
                                       "quint2x4",
                                       "bits1x8",
                                       "bits2x4",
                                       "bits4x2",
                                       "bits8",
                                       "bits16",
                                       "float8_e5m2",
                                       "float8_e4m3fn",
                                       "float8_e5m2fnuz",
                                       "float8_e4m3fnuz",
                                       "uint16",
                                       "uint32",
                                       "uint64",
                                       "uint1",
                                       "uint2",
                                       "uint3",
                                       "uint4",
                                       "uint5",
                                       "uint6",
                                       "uint7",
                                       "int1",
                                       "int2",
                                       "int3",
                                       "int4",
                                       "int5",
                                       "int6",
                                       "int7",
                                       "float8_e8m0fnu",
                                       "float4_e2m1fn_x2"};

// By c10::DeviceType (torch/headeronly/core/DeviceType.h).
constexpr const char* kDeviceNames[] = {"cpu", "cuda", "mkldnn",       "opengl", "opencl", "ideep",
                                        "hip", "fpga", "maia",         "xla",    "vulkan", "metal",
                                        "xpu", "mps",  "meta",         "hpu",    "ve",     "lazy",
                                        "ipu", "mtia", "privateuseone"};

Ref<> torchAttribute(const char* name) {
  const TorchModule* torch = TorchModule::get();
  return Ref<>::steal(torch ? PyObject_GetAttrString(torch->torch.get(), name) : nullptr);
}

PyTypeObject* deviceType() {
  static auto* const type = reinterpret_cast<PyTypeObject*>(torchAttribute("device").release());
  return type;
}

const llvm::DenseMap<PyObject*, DType>& dtypeNumbers() {
  static const auto* numbers = [] {
    auto* table = new llvm::DenseMap<PyObject*, DType>;
    for (size_t i = 0; i < std::size(kDTypeNames); ++i) {
      // dtypes live as long as torch does.
      if (Ref<> object = torchAttribute(kDTypeNames[i])) (*table)[object.get()] = i;
      clearException();
    }
    return table;
  }();
  return *numbers;
}

}  // namespace

int64_t itemSize(DType dtype) {
  switch (dtype) {
    case UInt8:
    case Int8:
    case Bool:
      return 1;
    case Int16:
    case Float16:
    case BFloat16:
      return 2;
    case Int32:
    case Float32:
    case Complex32:
      return 4;
    case Complex128:
      return 16;
    default:
      return 8;
  }
}

Ref<> dtypeObject(DType dtype) {
  if (dtype < 0 || static_cast<size_t>(dtype) >= std::size(kDTypeNames)) {
    PyErr_Format(PyExc_ValueError, "no torch dtype has the number %d", dtype);
    return nullptr;
  }
  return torchAttribute(kDTypeNames[dtype]);
}

DType dtypeNumber(BorrowedRef<> object) {
  auto found = dtypeNumbers().find(object.get());
  return found == dtypeNumbers().end() ? -1 : found->second;
}

namespace {

constexpr std::array kLegacyNames = {"Byte",        "Char",         "Short",         "Int",
                                     "Long",        "Half",         "Float",         "Double",
                                     "ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool"};
static_assert(kLegacyNames.size() == Bool + 1);

std::string legacyName(DType dtype) {
  if (!isCommon(dtype)) return {};
  const char* name = dtype == BFloat16 ? "BFloat16" : kLegacyNames[dtype];
  return "torch." + std::string(name) + "Tensor";
}

}  // namespace

Ref<> legacyTypeName(DType dtype) {
  std::string name = legacyName(dtype);
  return name.empty() ? nullptr : Ref<>::steal(PyUnicode_FromString(name.c_str()));
}

DType legacyDType(BorrowedRef<> type) {
  // A class of the program's may have any name; those of torch are no heap types.
  bool isClass = PyType_Check(type.get()) && !cpython::isHeapType(Py_TYPE(type.get())) &&
                 Py_TYPE(type.get())->tp_name == std::string_view("torch.tensortype");
  std::string_view name =
      isClass ? reinterpret_cast<PyTypeObject*>(type.get())->tp_name : stringView(type);
  for (DType dtype = 0; !name.empty() && dtype <= BFloat16; ++dtype) {
    if (legacyName(dtype) == name) return dtype;
  }
  return -1;
}

Ref<> newDeviceObject(Device device) {
  auto* type = reinterpret_cast<PyObject*>(deviceType());
  const char* name = kDeviceNames[device.type];
  return Ref<>::steal(device.index < 0 ? PyObject_CallFunction(type, "s", name)
                                       : PyObject_CallFunction(type, "si", name, device.index));
}

Ref<> deviceObject(Device device) {
  static auto* known = new llvm::DenseMap<int, PyObject*>;
  PyObject*& object = (*known)[device.type * 256 + device.index];
  if (!object) object = newDeviceObject(device).release();
  return Ref<>::create(object);
}

bool readDevice(BorrowedRef<> object, Device& device) {
  if (Py_TYPE(object.get()) != deviceType()) return false;
  Ref<> name = Ref<>::steal(PyObject_GetAttrString(object.get(), "type"));
  Ref<> index = Ref<>::steal(PyObject_GetAttrString(object.get(), "index"));
  clearException();
  std::string_view text = stringView(name);
  for (size_t i = 0; i < std::size(kDeviceNames); ++i) {
    if (text != kDeviceNames[i]) continue;
    device.type = static_cast<int8_t>(i);
    device.index = index && PyLong_Check(index.get())
                       ? static_cast<int8_t>(PyLong_AsLong(index.get()))
                       : int8_t{-1};
    return true;
  }
  return false;
}

bool mayNameDevice(BorrowedRef<> object) {
  if (!PyUnicode_Check(object.get())) return false;
  std::string_view text = stringView(object);
  return llvm::is_contained(kDeviceNames, text.substr(0, text.find(':')));
}

}  // namespace armature
