#include "libraries/torch/fake_tensors.h"

#include "cpython/imported_modules.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/mode_scope.h"

namespace armature {

namespace {

Ref<> tupleOf(const Dimensions& dimensions) {
  Ref<> tuple = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(dimensions.size())));
  for (size_t i = 0; tuple && i < dimensions.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(dimensions[i].value());
    if (!number) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, number);
  }
  return tuple;
}

Ref<> withoutData(const TensorMetadata& metadata) {
  Ref<> torch = Ref<>::steal(cpython::importModule("torch"));
  Ref<> function =
      Ref<>::steal(torch ? PyObject_GetAttrString(torch.get(), "empty_strided") : nullptr);
  Ref<> sizes = tupleOf(metadata.sizes), strides = tupleOf(metadata.strides);
  Ref<> dtype = dtypeObject(metadata.dtype), device = deviceObject({kMetaDevice, -1});
  if (!function || !sizes || !strides || !dtype || !device) return nullptr;
  Ref<> arguments = Ref<>::steal(PyTuple_Pack(2, sizes.get(), strides.get()));
  Ref<> keywords =
      Ref<>::steal(Py_BuildValue("{sOsO}", "dtype", dtype.get(), "device", device.get()));
  if (!arguments || !keywords) return nullptr;
  return Ref<>::steal(PyObject_Call(function.get(), arguments.get(), keywords.get()));
}

}  // namespace

Ref<> fakeTensor(const TensorMetadata& metadata, Ref<>& mode) {
  if (!metadata.isStrided) return nullptr;
  Ref<> module = Ref<>::steal(cpython::importModule("torch._subclasses.fake_tensor"));
  if (!module) return nullptr;
  ModeScope modes;
  if (!modes.leaveModes(false)) return nullptr;
  if (!mode) mode = Ref<>::steal(PyObject_CallMethod(module.get(), "FakeTensorMode", nullptr));
  Ref<> device = deviceObject(metadata.device);
  Ref<> tensor = withoutData(metadata);
  if (!mode || !device || !tensor) return nullptr;
  Ref<> fake = Ref<>::steal(PyObject_CallMethod(module.get(), "FakeTensor", "OOO", mode.get(),
                                                tensor.get(), device.get()));
  if (fake && metadata.requiresGrad &&
      PyObject_SetAttrString(fake.get(), "requires_grad", Py_True) < 0) {
    return nullptr;
  }
  return fake;
}

}  // namespace armature
