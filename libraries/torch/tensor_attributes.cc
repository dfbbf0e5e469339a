// The way through Python attributes: slow, and independent of torch's C++ structures.

#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/tensor_access.h"

namespace armature {
namespace {

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

Dimensions integers(const Ref<>& sequence) {
  Dimensions result;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence.get()); ++i)
    result.push_back(integer(Ref<>::create(PyTuple_GET_ITEM(sequence.get(), i))));
  return result;
}

class Attributes : public TensorAccess {
 public:
  Attributes() : torch_(attribute(checked(cpython::importModule("torch")), "_C")) {}

  bool read(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) const override {
    // Overriding (torch function modes) would run Python code on every attribute.
    Ref<> disabled;
    try {
      disabled = callMethod(torch_, "DisableTorchFunction");
      callMethod(disabled, "__enter__");
    } catch (const AttributeError&) {
      clearException();
      *why = "torch function modes cannot be switched off";
      return false;
    }
    bool done = false;
    try {
      done = readAll(tensor, metadata, why);
    } catch (const AttributeError&) {
      clearException();
      *why = "an attribute raises";
    }
    Ref<> result = Ref<>::steal(
        PyObject_CallMethod(disabled.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    if (!result) clearException();
    return done;
  }

 private:
  bool readAll(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) const {
    Ref<> layout = checked(PyObject_Str(attribute(tensor, "layout").get()));
    if (printable(layout) != "torch.strided" || truth(attribute(tensor, "is_nested")) ||
        truth(attribute(tensor, "is_quantized"))) {
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
    metadata.dtype = dtypeNumber(attribute(tensor, "dtype"));
    if (metadata.dtype < 0 || !readDevice(attribute(tensor, "device"), metadata.device)) {
      *why = "its dtype or device is unknown";
      return false;
    }
    metadata.requiresGrad = truth(attribute(tensor, "requires_grad"));
    metadata.isLeaf = truth(attribute(tensor, "is_leaf"));
    metadata.isInference = truth(callMethod(tensor, "is_inference"));
    metadata.isStrided = true;
    metadata.isConjugate = truth(callMethod(tensor, "is_conj"));
    metadata.isNegative = truth(callMethod(tensor, "is_neg"));
    Ref<> keys = checked(PyObject_CallMethod(torch_.get(), "_dispatch_keys", "O", tensor.get()));
    metadata.dispatchKeys = PyLong_AsUnsignedLongLong(callMethod(keys, "raw_repr").get());
    if (PyErr_Occurred()) throw AttributeError{};
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
         (!(observed & ObservedRequiresGrad) || found.requiresGrad == expected.requiresGrad) &&
         (!(observed & ObservedIsLeaf) || found.isLeaf == expected.isLeaf) &&
         (!(observed & ObservedStorageOffset) || found.storageOffset == expected.storageOffset);
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
    clearException();
    return nullptr;
  }
}

}  // namespace armature
