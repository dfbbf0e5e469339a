#include "libraries/numpy/array_reader.h"

#include <array>
#include <cstring>
#include <memory>

#include "core/checked.h"
#include "core/describe.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "libraries/numpy/global_state.h"
#include "libraries/verification.h"

namespace armature {
namespace {

// The fields of an array and of its dtype up to the last that we read, as numpy/ndarraytypes.h has
// them in NumPy 1 and 2 (PyArrayObject_fields, PyArray_Descr). Verified when NumPy is registered.
struct Descriptor {
  PyObject_HEAD PyTypeObject* scalarType;
  char kind;
  char type;
  char byteOrder;
  char formerFlags;
  int typeNumber;
};

struct Array {
  PyObject_HEAD char* data;
  int dimension;
  Py_ssize_t* sizes;
  Py_ssize_t* strides;  // in bytes
  PyObject* base;
  Descriptor* descriptor;
};

// Bytes of an element by NPY_TYPES, on machines with 64 bits; 0 for what is not modelled (objects,
// texts, records, dates).
constexpr std::array<int8_t, 24> elementSizes = {1, 1,  1, 2,  2,  4, 4, 8, 8, 8, 8, 4,
                                                 8, 16, 8, 16, 32, 0, 0, 0, 0, 0, 0, 2};

constexpr int kObjects = 17;  // NPY_OBJECT

int64_t elementSize(const Descriptor& descriptor) {
  bool known = descriptor.typeNumber >= 0 &&
               static_cast<size_t>(descriptor.typeNumber) < elementSizes.size();
  // NumPy writes the machine's own order as '=', and '|' where there is none.
  bool native = descriptor.byteOrder == '=' || descriptor.byteOrder == '|';
  return known && native ? elementSizes[static_cast<size_t>(descriptor.typeNumber)] : 0;
}

const Array& asArray(BorrowedRef<> object) { return *reinterpret_cast<Array*>(object.get()); }

bool readArray(const Array& array, TensorMetadata& metadata, std::string* why) {
  int64_t size = elementSize(*array.descriptor);
  if (!size) {
    *why = "its dtype is not a number of the machine's own format";
    return false;
  }
  metadata.library = ArrayLibraryKind::NumPy;
  metadata.dtype = static_cast<DType>(array.descriptor->typeNumber);
  metadata.sizes.assign(array.sizes, array.sizes + array.dimension);
  metadata.strides.clear();
  for (int i = 0; i < array.dimension; ++i) {
    if (array.strides[i] % size) {
      *why = "its strides are no multiples of its elements";
      return false;
    }
    metadata.strides.push_back(array.strides[i] / size);
  }
  return true;
}

// The objects in the elements of an array of objects, from this dimension on.
int traverseElements(const Array& array, int dimension, char* first, visitproc visit,
                     void* argument) {
  if (dimension == array.dimension) {
    auto* element = *reinterpret_cast<PyObject**>(first);
    return element ? visit(element, argument) : 0;
  }
  for (Py_ssize_t i = 0; i < array.sizes[dimension]; ++i) {
    int stopped = traverseElements(array, dimension + 1, first + i * array.strides[dimension],
                                   visit, argument);
    if (stopped) return stopped;
  }
  return 0;
}

// What all ways to read have in common.
class ArrayReader : public ArrayLibrary {
 public:
  ArrayReader(Ref<> arrayType, Ref<> numpy)
      : arrayType_(std::move(arrayType)), state_(std::move(numpy)) {}

  bool read(BorrowedRef<> object, TensorMetadata& metadata, std::string* why) const override {
    std::string reason;
    if (reinterpret_cast<PyObject*>(Py_TYPE(object.get())) != arrayType_.get())
      reason = typeName(Py_TYPE(object.get())) + " is not numpy.ndarray";
    else if (readAll(object, metadata, &reason))
      return true;
    if (why) *why = reason;
    return false;
  }

  std::string captureGlobalState(uint64_t) const override { return state_.capture(); }
  bool globalStateMatches(const std::string& state) const override { return state_.matches(state); }
  std::string explainGlobalState(const std::string& state) const override {
    return state_.explain(state);
  }

 protected:
  bool isArray(PyObject* object) const {
    return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(arrayType_.get()));
  }
  // Of an array whose exact type was checked.
  virtual bool readAll(BorrowedRef<> array, TensorMetadata& metadata, std::string* why) const = 0;

 private:
  Ref<> arrayType_;
  NumPyState state_;
};

// Through the fields of the array's C structure.
class FieldReader : public ArrayReader {
 public:
  using ArrayReader::ArrayReader;

  bool matches(BorrowedRef<> object, const TensorMetadata& expected,
               uint32_t observed) const override {
    const Array& array = asArray(object);
    const Descriptor& descriptor = *array.descriptor;
    if (observed & ObservedDType && descriptor.typeNumber != expected.dtype) return false;
    int64_t size = elementSize(descriptor);
    if (!size) return false;
    if (!(observed & (ObservedDimension | ObservedSizes | ObservedStrides))) return true;
    if (static_cast<size_t>(array.dimension) != expected.sizes.size()) return false;
    for (int i = 0; i < array.dimension; ++i) {
      if (observed & ObservedSizes && array.sizes[i] != expected.sizes[i]) return false;
      if (observed & ObservedStrides && array.strides[i] != expected.strides[i] * size)
        return false;
    }
    return true;
  }

  // What owns its memory; and the elements of arrays of objects, which are its own.
  int traverse(PyObject* object, visitproc visit, void* argument) const override {
    if (!isArray(object)) return 0;
    const Array& array = asArray(object);
    if (array.base) return visit(array.base, argument);
    bool isOfObjects = array.descriptor->typeNumber == kObjects;
    return isOfObjects ? traverseElements(array, 0, array.data, visit, argument) : 0;
  }

 private:
  bool readAll(BorrowedRef<> array, TensorMetadata& metadata, std::string* why) const override {
    return readArray(asArray(array), metadata, why);
  }
};

// Through attributes of exact arrays and dtypes, which run no Python code: slow, and independent of
// NumPy's structures.
class AttributeReader : public ArrayReader {
 public:
  using ArrayReader::ArrayReader;

  // It cannot tell.
  int traverse(PyObject* object, visitproc, void*) const override { return isArray(object); }

  bool matches(BorrowedRef<> object, const TensorMetadata& expected,
               uint32_t observed) const override {
    TensorMetadata found;
    std::string why;
    return readAll(object, found, &why) &&
           (!(observed & ObservedDType) || found.dtype == expected.dtype) &&
           (!(observed & ObservedDimension) || found.sizes.size() == expected.sizes.size()) &&
           (!(observed & ObservedSizes) || found.sizes == expected.sizes) &&
           (!(observed & ObservedStrides) || found.strides == expected.strides);
  }

 private:
  static Ref<> attribute(BorrowedRef<> object, const char* name) {
    return Ref<>::steal(object ? PyObject_GetAttrString(object.get(), name) : nullptr);
  }
  static int64_t number(const Ref<>& object) {
    return object ? PyLong_AsLongLong(object.get()) : -1;
  }
  static Dimensions numbers(const Ref<>& tuple) {
    Dimensions values;
    for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple.get()); ++i)
      values.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.get(), i)));
    return values;
  }

  bool readAll(BorrowedRef<> array, TensorMetadata& metadata, std::string* why) const override {
    Ref<> dtype = attribute(array, "dtype");
    Ref<> isNative = attribute(dtype, "isnative");
    int64_t typeNumber = number(attribute(dtype, "num"));
    int64_t size = number(attribute(dtype, "itemsize"));
    bool isKnown = isNative.get() == Py_True && typeNumber >= 0 &&
                   static_cast<size_t>(typeNumber) < elementSizes.size() &&
                   elementSizes[static_cast<size_t>(typeNumber)] == size;
    metadata.library = ArrayLibraryKind::NumPy;
    metadata.dtype = static_cast<DType>(typeNumber);
    metadata.sizes = numbers(attribute(array, "shape"));
    metadata.strides = numbers(attribute(array, "strides"));
    clearException();
    if (!isKnown || size == 0) {
      *why = "its dtype is not a number of the machine's own format";
      return false;
    }
    for (Dimension& stride : metadata.strides) {
      if (stride % size != 0) {
        *why = "its strides are no multiples of its elements";
        return false;
      }
      stride /= size;
    }
    return true;
  }
};

// Arrays in which every field has several values, beside what NumPy says of them.
constexpr const char* exampleProgram = R"(
import numpy
examples = []
for array in [
    numpy.empty((2, 3)), numpy.empty((), 'f4'), numpy.empty(5, 'i8')[::2], numpy.empty((0, 4), '?'),
    numpy.empty((2, 3, 4, 5), 'u2').transpose(2, 0, 3, 1)[1:], numpy.empty((7, 1), 'c16')[::-1],
]:
    examples.append((array, array.dtype.num, array.shape,
                     tuple(stride // array.itemsize for stride in array.strides)))
objects = numpy.array([examples, None], dtype=object)
view = examples[0][0][1:]
owner = examples[0][0]
)";

bool equals(PyObject* tuple, const Dimensions& values) {
  if (PyTuple_GET_SIZE(tuple) != static_cast<Py_ssize_t>(values.size())) return false;
  for (size_t i = 0; i < values.size(); ++i)
    if (PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(i))) != values[i])
      return false;
  return true;
}

// Are the fields where we look for them?
bool verify() {
  Ref<> names = checked(PyDict_New());
  PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins());
  Ref<> done = Ref<>::steal(PyRun_String(exampleProgram, Py_file_input, names.get(), names.get()));
  if (!done) return false;
  PyObject* examples = PyDict_GetItemString(names.get(), "examples");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(examples); ++i) {
    PyObject *example = PyList_GET_ITEM(examples, i), *array, *sizes, *strides;
    int typeNumber;
    TensorMetadata found;
    std::string why;
    if (!PyArg_ParseTuple(example, "OiOO", &array, &typeNumber, &sizes, &strides) ||
        Py_TYPE(array)->tp_basicsize < static_cast<Py_ssize_t>(sizeof(Array)) ||
        !readArray(asArray(array), found, &why) || found.dtype != typeNumber ||
        !equals(sizes, found.sizes) || !equals(strides, found.strides)) {
      clearException();
      return false;
    }
  }
  auto arrayOf = [&](const char* name) -> const Array& {
    return asArray(PyDict_GetItemString(names.get(), name));
  };
  const Array& objects = arrayOf("objects");
  return objects.descriptor->typeNumber == kObjects && !objects.base &&
         *reinterpret_cast<PyObject**>(objects.data) == examples &&
         arrayOf("view").base == PyDict_GetItemString(names.get(), "owner");
}

}  // namespace

bool registerNumPy() {
  static bool decided = false;
  if (decided) return arrayLibrary(ArrayLibraryKind::NumPy);
  // Present, and its import complete.
  BorrowedRef<> arrayType = cpython::importedAttribute("numpy", "ndarray");
  if (!arrayType || !cpython::importedAttribute("numpy", "linalg")) return false;
  bool hasKnownLayout = trusts("numpy.layout") && verify();
  if (interrupted()) return false;
  clearException();
  decided = true;
  Ref<> type = Ref<>::create(arrayType);
  Ref<> numpy = Ref<>::create(cpython::importedModule("numpy"));
  const ArrayLibrary* reader;
  if (hasKnownLayout)
    reader = new FieldReader(std::move(type), std::move(numpy));
  else
    reader = new AttributeReader(std::move(type), std::move(numpy));
  registerArrayLibrary(ArrayLibraryKind::NumPy, reader);
  return true;
}

}  // namespace armature
