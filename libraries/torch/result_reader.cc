#include "libraries/torch/result_reader.h"

#include "core/constant.h"
#include "core/graph_break.h"
#include "core/pending_python_exception.h"
#include "guards/array_library.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/function_transforms.h"

namespace armature {

namespace {

// The own attributes of a fake tensor, or of one that is wrapped for a level, are the truth, not
// what its implementation holds.
bool readFake(BorrowedRef<> tensor, TensorMetadata& metadata, std::string* why) {
  auto attribute = [&](const char* name) {
    return Ref<>::steal(PyObject_GetAttrString(tensor.get(), name));
  };
  auto isTrue = [&](const char* name) {
    Ref<> value = attribute(name);
    if (value && PyCallable_Check(value.get())) {
      value = Ref<>::steal(PyObject_CallNoArgs(value.get()));
    }
    return value && value.get() == Py_True;
  };
  auto readIntegers = [](const Ref<>& sequence, Dimensions& into) {
    if (!sequence || !PyTuple_Check(sequence.get())) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence.get()); ++i) {
      into.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sequence.get(), i)));
    }
    return !PyErr_Occurred();
  };
  *why = "its attributes cannot be read";
  Ref<> dtype = attribute("dtype");
  Ref<> device = attribute("device");
  if (!dtype || !device || !readDevice(device, metadata.device)) return false;
  metadata.dtype = dtypeNumber(dtype);
  metadata.requiresGrad = isTrue("requires_grad");
  metadata.isLeaf = isTrue("is_leaf");
  metadata.isInference = isTrue("is_inference");
  metadata.isConjugate = isTrue("is_conj");
  metadata.isNegative = isTrue("is_neg");
  Ref<> stride = Ref<>::steal(PyObject_CallMethod(tensor.get(), "stride", nullptr));
  Ref<> offset = Ref<>::steal(PyObject_CallMethod(tensor.get(), "storage_offset", nullptr));
  if (!stride || !offset || !readIntegers(attribute("shape"), metadata.sizes) ||
      !readIntegers(stride, metadata.strides)) {
    return false;
  }
  metadata.storageOffset = PyLong_AsLongLong(offset.get());
  return !PyErr_Occurred();
}

}  // namespace

ResultStructure ResultReader::read(BorrowedRef<> object) const {
  ResultStructure result;
  const Library* other = isMixture_ ? libraryOfArrays(Py_TYPE(object.get())) : nullptr;
  bool isForeign = other && other->kind() != ArrayLibraryKind::Torch;
  if (isForeign) result.metadata = other->describe(object);
  if (PyObject_TypeCheck(object.get(), torch_.tensorType.get())) {
    result.metadata = metadata(object);
  }
  if (result.metadata) {
    // The first of those that give this very array.
    for (const auto& [node, standIn] : standIns_.all()) {
      bool isFirst = !result.returned || node->index < result.returned->index;
      if (standIn.object.get() == object.get() && isFirst) result.returned = node;
    }
    return result;
  }
  if (PyTuple_Check(object.get()) || PyList_CheckExact(object.get())) {
    bool isTuple = PyTuple_Check(object.get());
    result.kind = isTuple ? ResultStructure::Kind::Tuple : ResultStructure::Kind::List;
    if (isTuple) result.type = Ref<>::create(reinterpret_cast<PyObject*>(Py_TYPE(object.get())));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.get()); ++i) {
      result.elements.push_back(read(PySequence_Fast_GET_ITEM(object.get(), i)));
    }
    return result;
  }
  result.kind = ResultStructure::Kind::Constant;
  Device device;
  bool isMeta = standIns_.kind == Stand::Meta && readDevice(object, device);
  result.constant = isMeta ? deviceObject({}) : Ref<>::create(object);
  // Anything else may hold stand-ins, or be changed.
  if (!isConstant(result.constant)) {
    throw GraphBreak(GraphBreakKind::UnsupportedResult, targetName(node_.target),
                     "The operation returns an object of another class.");
  }
  return result;
}

bool ResultReader::sharesMemory(BorrowedRef<> tensor) const {
  for (const auto& [node, standIn] : standIns_.all()) {
    bool isOther = standIn.object.get() != tensor.get();
    if (isOther && sharesMemory(tensor, standIn.object)) return true;
  }
  return false;
}

bool ResultReader::sharesMemory(BorrowedRef<> tensor, BorrowedRef<> other) const {
  if (PyObject_TypeCheck(other.get(), torch_.tensorType.get())) {
    Ref<> isAlias = Ref<>::steal(
        PyObject_CallFunctionObjArgs(torch_.isAliasOf.get(), tensor.get(), other.get(), nullptr));
    return !isAlias || isAlias.get() != Py_False;
  }
  bool isSequence = PyTuple_Check(other.get()) || PyList_Check(other.get());
  for (Py_ssize_t i = 0; isSequence && i < PySequence_Fast_GET_SIZE(other.get()); ++i) {
    if (sharesMemory(tensor, PySequence_Fast_GET_ITEM(other.get(), i))) return true;
  }
  return false;
}

// Parameter.__new__ marks tensors of other classes, fake ones among them.
bool ResultReader::isParameter(BorrowedRef<> tensor) const {
  if (Py_TYPE(tensor.get()) == torch_.parameterType.get()) return true;
  if (standIns_.kind != Stand::Fake) return false;
  Ref<> mark = Ref<>::steal(PyObject_GetAttrString(tensor.get(), "_is_param"));
  clearException();
  return mark.get() == Py_True;
}

std::shared_ptr<const TensorMetadata> ResultReader::metadata(BorrowedRef<> tensor) const {
  auto result = std::make_shared<TensorMetadata>();
  std::string why = "torch is not registered with the guards";
  const ArrayLibrary* library = arrayLibrary(ArrayLibraryKind::Torch);
  bool isWrapped = standIns_.kind == Stand::Fake || isOfTransform(node_);
  bool read =
      isWrapped ? readFake(tensor, *result, &why) : library && library->read(tensor, *result, &why);
  if (!read) {
    clearException();
    throw GraphBreak(GraphBreakKind::UnsupportedResult, targetName(node_.target),
                     "The operation returns a tensor that a graph cannot describe: " + why + ".");
  }
  Ref<> isView = Ref<>::steal(PyObject_CallMethod(tensor.get(), "_is_view", nullptr));
  result->mayBeView = isMixture_ || !isView || isView.get() != Py_False || sharesMemory(tensor);
  clearException();
  result->isParameter = isParameter(tensor);
  // An operation in place returns what stood for its argument. Any other that does so shares it.
  for (const auto& [node, standIn] : standIns_.all()) {
    if (standIn.object.get() != tensor.get() || !standIn.isInput) continue;
    const ResultStructure& input = inputs_(*node);
    if (!input.metadata) continue;
    result->mayBeView = input.metadata->mayBeView || !changesArgument(node_);
    result->isParameter = input.metadata->isParameter;
  }
  // Meta tensors stood for the CPU's.
  if (standIns_.kind == Stand::Meta) result->device = {};
  result->dispatchKeys = 0;
  return result;
}

}  // namespace armature
