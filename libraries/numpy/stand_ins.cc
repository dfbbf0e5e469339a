#include "libraries/numpy/stand_ins.h"

#include <algorithm>
#include <array>

namespace armature {

namespace {

// The sizes that stand for others, in order. Primes: no product of sizes is taken for one of them.
constexpr std::array<Dimension, 16> kSmallSizes = {2,  3,  5,  7,  11, 13, 17, 19,
                                                   23, 29, 31, 37, 41, 43, 47, 53};
// Sizes below it stay: they broadcast, and they make arrays empty.
constexpr Dimension kFirstReplaced = 2;
// Bytes of the largest number, a complex long double.
constexpr Py_ssize_t kLargestItem = 32;

Ref<> integers(size_t count, auto value) {
  Ref<> tuple = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; tuple && i < count; ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(Dimension(value(i)).value()));
  }
  return tuple;
}

}  // namespace

Ref<> scalar(const NumPyModule& numpy, const TensorMetadata& metadata, int value) {
  auto* type = reinterpret_cast<PyObject*>(numpy.scalarTypes[metadata.dtype]);
  return Ref<>::steal(PyObject_CallFunction(type, "i", value));
}

Ref<> zeros(const NumPyModule& numpy, const TensorMetadata& metadata) {
  PyObject* dtype = numpy.dtypes[metadata.dtype].get();
  Ref<> itemSize = Ref<>::steal(PyObject_GetAttrString(dtype, "itemsize"));
  if (!itemSize) return nullptr;
  const Dimension bytes = PyLong_AsLongLong(itemSize.get());
  // Elements of its memory before that at index 0, and behind it with itself.
  Dimension before = 0, behind = 1;
  for (size_t i = 0; i < metadata.sizes.size(); ++i) {
    Dimension reach = (metadata.sizes[i] - 1) * metadata.strides[i];
    (reach < 0 ? before : behind) += reach < 0 ? -reach : reach;
  }
  if (metadata.numel() == 0) before = behind = 0;
  Ref<> memory = Ref<>::steal(PyObject_CallMethod(
      numpy.numpy.get(), "zeros", "LO", static_cast<long long>((before + behind).value()), dtype));
  Ref<> shape = integers(metadata.sizes.size(), [&](size_t i) { return metadata.sizes[i]; });
  Ref<> strides =
      integers(metadata.strides.size(), [&](size_t i) { return metadata.strides[i] * bytes; });
  if (!memory || !shape || !strides) return nullptr;
  return Ref<>::steal(PyObject_CallFunction(
      reinterpret_cast<PyObject*>(numpy.arrayType.get()), "OOOLO", shape.get(), dtype, memory.get(),
      static_cast<long long>((before * bytes).value()), strides.get()));
}

StandIns::StandIns(const NumPyModule& numpy, const Node& node, NumPyData data, StandInLayout layout)
    : numpy_(numpy), data_(data), layout_(layout) {
  if (layout_ != StandInLayout::Small) return;
  forEachInput(node, [&](Node* input) {
    for (Dimension size : input->metadata->sizes) {
      if (size >= kFirstReplaced) sizes_.push_back(size);
    }
  });
  std::ranges::sort(sizes_);
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  if (sizes_.size() > kSmallSizes.size()) layout_ = StandInLayout::Sizes;
}

Dimension StandIns::smallSize(Dimension size) const {
  if (layout_ != StandInLayout::Small || size < kFirstReplaced) return size;
  return kSmallSizes[std::ranges::lower_bound(sizes_, size) - sizes_.begin()];
}

bool StandIns::restore(Dimensions& sizes) const {
  if (layout_ != StandInLayout::Small) return true;
  for (Dimension& size : sizes) {
    if (size < kFirstReplaced) continue;
    const Dimension* small = std::ranges::lower_bound(kSmallSizes, size);
    auto index = static_cast<size_t>(small - kSmallSizes.begin());
    if (index >= sizes_.size() || *small != size) return false;
    size = sizes_[index];
  }
  return true;
}

Node* StandIns::nodeOf(BorrowedRef<> array) const {
  for (const auto& [node, standIn] : arrays_) {
    if (standIn.get() == array.get()) return node;
  }
  return nullptr;
}

Ref<> StandIns::argument(const Argument& argument) {
  if (argument.kind() == Argument::Kind::Constant) return Ref<>::create(argument.object());
  if (argument.kind() == Argument::Kind::Node) return standIn(*argument.node());
  size_t count = argument.elements().size();
  Ref<> elements = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; elements && i < count; ++i) {
    Ref<> element = this->argument(argument.elements()[i]);
    if (!element) return nullptr;
    PyTuple_SET_ITEM(elements.get(), i, element.release());
  }
  if (!elements || argument.kind() == Argument::Kind::Tuple) return elements;
  if (argument.kind() == Argument::Kind::List) return Ref<>::steal(PySequence_List(elements.get()));
  auto item = [&](size_t i) { return PyTuple_GET_ITEM(elements.get(), i); };
  if (argument.kind() == Argument::Kind::Slice) {
    return Ref<>::steal(PySlice_New(item(0), item(1), item(2)));
  }
  Ref<> dict = Ref<>::steal(PyDict_New());
  for (size_t i = 0; dict && i < count; ++i) {
    PyObject* key = PyTuple_GET_ITEM(argument.object().get(), i);
    if (PyDict_SetItem(dict.get(), key, item(i)) < 0) return nullptr;
  }
  return dict;
}

Ref<> StandIns::standIn(Node& node) {
  const TensorMetadata& metadata = *node.metadata;
  if (metadata.isScalar) return scalar(numpy_, metadata, data_ == NumPyData::Zeros ? 0 : 1);
  Ref<>& object = arrays_[&node];
  if (object) return object;
  if (layout_ != StandInLayout::True) {
    object = array(metadata);
  } else if (Ref<> made = zeros(numpy_, metadata); made && fill(made, metadata)) {
    object = std::move(made);
  }
  return object;
}

bool StandIns::fill(const Ref<>& array, const TensorMetadata& metadata) const {
  bool isIdentity = data_ == NumPyData::Identity && metadata.dimension() >= 2;
  if (isIdentity) {
    Ref<> sizes = shape(metadata);
    Ref<> values = sizes ? identity(sizes, numpy_.dtypes[metadata.dtype]) : nullptr;
    return values && Ref<>::steal(PyObject_CallMethod(numpy_.numpy.get(), "copyto", "OO",
                                                      array.get(), values.get()));
  }
  return data_ != NumPyData::Ones || Ref<>::steal(PyObject_CallMethod(array.get(), "fill", "i", 1));
}

Ref<> StandIns::shape(const TensorMetadata& metadata) const {
  return integers(metadata.sizes.size(), [&](size_t i) { return smallSize(metadata.sizes[i]); });
}

Ref<> StandIns::array(const TensorMetadata& metadata) {
  static PyObject* const zeros = [] {
    PyObject* bytes = PyBytes_FromStringAndSize(nullptr, kLargestItem);
    std::fill_n(PyBytes_AS_STRING(bytes), kLargestItem, '\0');
    return bytes;
  }();
  Ref<> sizes = shape(metadata);
  PyObject* dtype = numpy_.dtypes[metadata.dtype].get();
  if (!sizes) return nullptr;
  if (data_ == NumPyData::Ones) {
    return Ref<>::steal(PyObject_CallMethod(numpy_.numpy.get(), "ones", "OO", sizes.get(), dtype));
  }
  if (data_ == NumPyData::Identity && metadata.dimension() >= 2) return identity(sizes, dtype);
  // One zero, seen at all places: every stride is 0.
  Ref<> strides = integers(metadata.sizes.size(), [](size_t) { return 0LL; });
  if (!strides) return nullptr;
  return Ref<>::steal(PyObject_CallFunction(reinterpret_cast<PyObject*>(numpy_.arrayType.get()),
                                            "OOOiO", sizes.get(), dtype, zeros, 0, strides.get()));
}

Ref<> StandIns::identity(BorrowedRef<> shape, BorrowedRef<> dtype) const {
  PyObject* numpy = numpy_.numpy.get();
  Py_ssize_t dimension = PyTuple_GET_SIZE(shape.get());
  Ref<> matrix = Ref<>::steal(
      PyObject_CallMethod(numpy, "eye", "OOiO", PyTuple_GET_ITEM(shape.get(), dimension - 2),
                          PyTuple_GET_ITEM(shape.get(), dimension - 1), 0, dtype.get()));
  if (!matrix) return nullptr;
  return Ref<>::steal(PyObject_CallMethod(numpy, "broadcast_to", "OO", matrix.get(), shape.get()));
}

}  // namespace armature
