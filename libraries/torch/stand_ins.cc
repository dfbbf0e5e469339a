#include "libraries/torch/stand_ins.h"

#include "core/pending_python_exception.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/mode_scope.h"

namespace armature {

namespace {

Ref<> method(const Ref<>& object, const char* name) {
  return Ref<>::steal(PyObject_CallMethod(object.get(), name, nullptr));
}

Ref<> integers(const Dimensions& values) {
  Ref<> tuple = Ref<>::steal(PyTuple_New(values.size()));
  for (size_t i = 0; tuple && i < values.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(values[i].value()));
  }
  return tuple;
}

// The same array with two elements where it has more, and contiguous.
TensorMetadata small(TensorMetadata metadata) {
  for (Dimension& size : metadata.sizes) {
    if (size.value() > 2) size = 2;
  }
  metadata.storageOffset = 0;
  setContiguousStrides(metadata);
  return metadata;
}

}  // namespace

BorrowedRef<> StandIns::find(const Node& node) const {
  auto found = objects_.find(&node);
  return found == objects_.end() ? nullptr : found->second.object.get();
}

void StandIns::set(const Node& node, Ref<> result) {
  objects_[&node] = {.object = std::move(result), .isInput = false};
}

Ref<> StandIns::of(const Node& node) {
  Ref<>& object = objects_[&node].object;
  if (object) return object;
  const ResultStructure& structure = inputs_(node);
  object = structureObject(structure);
  const TensorMetadata* metadata = structure.metadata.get();
  bool isInput = node.operation == NodeOperation::Placeholder;
  // Of those of inference mode, nobody knows that they are views. A parameter is none, though it
  // has the memory of another array.
  bool isLeafView = metadata && metadata->requiresGrad && metadata->isLeaf && metadata->mayBeView &&
                    !metadata->isParameter && !metadata->isInference && !isInput;
  // Only without gradients do operations make a view that is a leaf.
  ModeScope gradMode;
  if (!object || !isLeafView || !gradMode.setGradEnabled(false)) return object;
  object = Ref<>::steal(PyObject_CallMethod(object.get(), "view_as", "O", object.get()));
  return object;
}

Ref<> StandIns::structureObject(const ResultStructure& input) {
  if (input.kind == ResultStructure::Kind::Array) return tensor(*input.metadata);
  if (input.kind == ResultStructure::Kind::Constant) return input.constant;
  Ref<> list = Ref<>::steal(PyList_New(0));
  for (const ResultStructure& element : input.elements) {
    Ref<> value = structureObject(element);
    if (!value || PyList_Append(list.get(), value.get()) < 0) return nullptr;
  }
  if (input.kind == ResultStructure::Kind::List) return list;
  PyObject* type = input.type ? input.type.get() : reinterpret_cast<PyObject*>(&PyTuple_Type);
  return Ref<>::steal(PyObject_CallOneArg(type, list.get()));
}

Ref<> StandIns::tensor(const TensorMetadata& metadata) {
  if (metadata.library != ArrayLibraryKind::Torch) {
    return findLibrary(metadata.library)->standIn(metadata);
  }
  ModeScope mode;
  PyObject* isInference = metadata.isInference ? Py_True : Py_False;
  bool isDifferent = metadata.isInference != isInferenceMode();
  if (isDifferent && !mode.enterBinding("_InferenceMode", isInference)) return nullptr;
  return tensorInMode(metadata);
}

bool StandIns::isInferenceMode() const {
  static PyObject* const isEnabled = torchBinding("is_inference_mode_enabled");
  Ref<> enabled = Ref<>::steal(PyObject_CallNoArgs(isEnabled));
  clearException();
  return enabled.get() == Py_True;
}

Ref<> StandIns::tensorInMode(const TensorMetadata& metadata) {
  if (isSmall) {
    isSmall = false;
    Ref<> tensor = tensorInMode(small(metadata));
    isSmall = true;
    return tensor;
  }
  Device device = metadata.device;
  if (kind == Stand::Meta) device = {kMetaDevice, -1};
  Ref<> function = Ref<>::steal(PyObject_GetAttrString(torch_.torch.get(), "empty_strided"));
  Ref<> arguments = Ref<>::steal(Py_BuildValue("(NN)", integers(metadata.sizes).release(),
                                               integers(metadata.strides).release()));
  Ref<> dtype = dtypeObject(metadata.dtype);
  Ref<> where = deviceObject(device);
  if (!function || !arguments || !dtype || !where) return nullptr;
  Ref<> keywords =
      Ref<>::steal(Py_BuildValue("{sOsO}", "dtype", dtype.get(), "device", where.get()));
  if (!keywords) return nullptr;
  Ref<> tensor = Ref<>::steal(PyObject_Call(function.get(), arguments.get(), keywords.get()));
  if (tensor && metadata.storageOffset != 0) tensor = shifted(tensor, metadata);
  if (tensor && kind == Stand::Real) tensor = method(tensor, "zero_");
  bool isLeaf = metadata.isLeaf;
  if (tensor && metadata.requiresGrad && !isLeaf && !giveHistory(tensor, dtype, where)) {
    clearException();
    isLeaf = true;
  }
  if (tensor && namesParameters && metadata.isParameter) {
    return Ref<>::steal(
        PyObject_CallFunction(reinterpret_cast<PyObject*>(torch_.parameterType.get()), "OO",
                              tensor.get(), metadata.requiresGrad ? Py_True : Py_False));
  }
  if (tensor && metadata.isConjugate) tensor = method(tensor, "conj");
  if (tensor && metadata.isNegative) tensor = method(tensor, "_neg_view");
  if (!tensor || !metadata.requiresGrad || !isLeaf) return tensor;
  tensor = method(tensor, "requires_grad_");
  if (!tensor || metadata.isLeaf) return tensor;
  // Memory that overlaps cannot be changed in place, so that a view of it is as good.
  return Ref<>::steal(PyObject_CallMethod(tensor.get(), "view_as", "O", tensor.get()));
}

Ref<> StandIns::shifted(const Ref<>& tensor, const TensorMetadata& metadata) const {
  Dimension end = metadata.storageOffset;
  end += 1;
  for (size_t i = 0; i < metadata.sizes.size(); ++i) {
    if (metadata.sizes[i] == 0) continue;
    Dimension extent = metadata.sizes[i];
    extent += -1;
    extent *= metadata.strides[i];
    end += extent;
  }
  if (kind == Stand::Real && end > kMostRealElements) return tensor;
  Ref<> size = Ref<>::steal(PyTuple_New(1));
  if (!size) return nullptr;
  PyTuple_SET_ITEM(size.get(), 0, PyLong_FromLongLong(end.value()));
  Ref<> memory = Ref<>::steal(PyObject_CallMethod(tensor.get(), "new_empty", "O", size.get()));
  Ref<> storage = memory ? method(memory, "untyped_storage") : nullptr;
  if (!storage) return nullptr;
  return Ref<>::steal(PyObject_CallMethod(tensor.get(), "set_", "OLNN", storage.get(),
                                          static_cast<long long>(metadata.storageOffset.value()),
                                          integers(metadata.sizes).release(),
                                          integers(metadata.strides).release()));
}

bool StandIns::giveHistory(const Ref<>& tensor, const Ref<>& dtype, const Ref<>& device) const {
  Ref<> zeros = Ref<>::steal(PyObject_GetAttrString(torch_.torch.get(), "zeros"));
  Ref<> keywords = Ref<>::steal(Py_BuildValue("{sOsOsO}", "dtype", dtype.get(), "device",
                                              device.get(), "requires_grad", Py_True));
  Ref<> arguments = Ref<>::steal(Py_BuildValue("(())"));
  if (!zeros || !keywords || !arguments) return false;
  Ref<> leaf = Ref<>::steal(PyObject_Call(zeros.get(), arguments.get(), keywords.get()));
  return leaf && Ref<>::steal(PyObject_CallMethod(tensor.get(), "add_", "O", leaf.get()));
}

}  // namespace armature
