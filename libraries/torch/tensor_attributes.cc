// The way through Python attributes: slow, and independent of torch's C++ structures.

#include <algorithm>
#include <stdexcept>

#include "libraries/torch/tensor_access.h"

namespace armature {
namespace {

// The names of torch.dtype objects by c10::ScalarType (torch/headeronly/core/ScalarType.h).
constexpr const char* dtypeNames[] = {"uint8",
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

// Device types by c10::DeviceType (torch/headeronly/core/DeviceType.h).
constexpr const char* deviceNames[] = {"cpu", "cuda", "mkldnn",       "opengl", "opencl", "ideep",
                                       "hip", "fpga", "maia",         "xla",    "vulkan", "metal",
                                       "xpu", "mps",  "meta",         "hpu",    "ve",     "lazy",
                                       "ipu", "mtia", "privateuseone"};

// A Python exception on the way; caught in read().
struct AttributeError {};

Ref<> checked(PyObject* result) {
  if (!result) throw AttributeError{};
  return Ref<>::steal(result);
}

Ref<> attribute(BorrowedRef<> object, const char* name) {
  return checked(PyObject_GetAttrString(object, name));
}

Ref<> callMethod(BorrowedRef<> object, const char* name) {
  return checked(PyObject_CallMethod(object, name, nullptr));
}

bool truth(const Ref<>& object) { return object.get() == Py_True; }

int64_t integer(const Ref<>& object) {
  int64_t value = PyLong_AsLongLong(object.get());
  if (value == -1 && PyErr_Occurred()) throw AttributeError{};
  return value;
}

SymIntVector integers(const Ref<>& sequence) {
  SymIntVector result;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence.get()); ++i)
    result.push_back(integer(Ref<>::create(PyTuple_GET_ITEM(sequence.get(), i))));
  return result;
}

template <size_t count>
int indexIn(const char* const (&names)[count], const Ref<>& text) {
  const char* name = PyUnicode_AsUTF8(text.get());
  if (!name) throw AttributeError{};
  auto found = std::find(std::begin(names), std::end(names), std::string(name));
  if (found == std::end(names)) throw std::runtime_error(std::string("unknown name ") + name);
  return static_cast<int>(found - names);
}

class Attributes : public TensorAccess {
 public:
  Attributes() : torch_(attribute(checked(PyImport_ImportModule("torch")), "_C")) {}

  bool read(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) const override {
    // Overriding (torch function modes) would run Python code on every attribute.
    Ref<> disabled;
    try {
      disabled = callMethod(torch_, "DisableTorchFunction");
      callMethod(disabled, "__enter__");
    } catch (const AttributeError&) {
      PyErr_Clear();
      *why = "torch function modes cannot be switched off";
      return false;
    }
    bool done = false;
    try {
      done = readAll(tensor, metadata, why);
    } catch (const AttributeError&) {
      PyErr_Clear();
      *why = "an attribute raises";
    } catch (const std::runtime_error& error) {
      *why = error.what();
    }
    Ref<> result = Ref<>::steal(
        PyObject_CallMethod(disabled.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    if (!result) PyErr_Clear();
    return done;
  }

 private:
  bool readAll(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) const {
    Ref<> layout = checked(PyObject_Str(attribute(tensor, "layout").get()));
    if (std::string(PyUnicode_AsUTF8(layout.get())) != "torch.strided" ||
        truth(attribute(tensor, "is_nested")) || truth(attribute(tensor, "is_quantized"))) {
      *why = "its layout is not dense strided";
      return false;
    }
    Ref<> functorch = attribute(torch_, "_functorch");
    Ref<> isWrapper = checked(
        PyObject_CallMethod(functorch.get(), "is_functorch_wrapped_tensor", "O", tensor.get()));
    if (truth(isWrapper)) {
      *why = "it is wrapped by a function transform";
      return false;
    }
    metadata.library = ArrayLibraryKind::Torch;
    Ref<> dtype = checked(PyObject_Str(attribute(tensor, "dtype").get()));
    metadata.dtype = static_cast<DType>(indexIn(
        dtypeNames, checked(PyUnicode_Substring(dtype.get(), 6, PY_SSIZE_T_MAX))));  // "torch."
    Ref<> device = attribute(tensor, "device");
    metadata.device.type = static_cast<int8_t>(indexIn(deviceNames, attribute(device, "type")));
    Ref<> index = attribute(device, "index");
    metadata.device.index = index.get() == Py_None ? -1 : static_cast<int8_t>(integer(index));
    metadata.requiresGrad = truth(attribute(tensor, "requires_grad"));
    metadata.isLeaf = truth(attribute(tensor, "is_leaf"));
    metadata.isInference = truth(callMethod(tensor, "is_inference"));
    metadata.isStrided = true;
    metadata.isConjugate = truth(callMethod(tensor, "is_conj"));
    metadata.isNegative = truth(callMethod(tensor, "is_neg"));
    Ref<> keys = checked(PyObject_CallMethod(torch_.get(), "_dispatch_keys", "O", tensor.get()));
    metadata.dispatchKeys = PyLong_AsUnsignedLongLong(callMethod(keys, "raw_repr").get());
    metadata.sizes = integers(attribute(tensor, "shape"));
    metadata.strides = integers(callMethod(tensor, "stride"));
    metadata.storageOffset = integer(callMethod(tensor, "storage_offset"));
    return true;
  }

  Ref<> torch_;  // torch._C
};

}  // namespace

bool agree(const TensorMetadata& found, const TensorMetadata& expected, uint32_t observed) {
  return (!(observed & ObservedDispatchKeys) || found.dispatchKeys == expected.dispatchKeys) &&
         (!(observed & ObservedDType) || found.dtype == expected.dtype) &&
         (!(observed & ObservedDevice) || found.device == expected.device) &&
         (!(observed & ObservedDimension) || found.sizes.size() == expected.sizes.size()) &&
         (!(observed & ObservedSizes) || found.sizes == expected.sizes) &&
         (!(observed & ObservedStrides) || found.strides == expected.strides) &&
         (!(observed & ObservedRequiresGrad) || found.requiresGrad == expected.requiresGrad);
}

bool TensorAccess::matches(BorrowedRef<> tensor, const TensorMetadata& expected,
                           uint32_t observed) const {
  TensorMetadata found;
  std::string why;
  return read(tensor, found, &why) && agree(found, expected, observed);
}

std::unique_ptr<TensorAccess> attributeAccess() {
  try {
    return std::make_unique<Attributes>();
  } catch (const AttributeError&) {
    PyErr_Clear();
    return nullptr;
  }
}

}  // namespace armature
