#include "variables/protocol/indexing.h"

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/integers.h"
#include "cpython/special_slots.h"
#include "variables/containers/sequence.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

// _PyEval_SliceIndex: None or anything with __index__, clipped. A null value counts as None.
bool readSlicePart(Translator& translator, Value part, Ref<>& result) {
  translator.realize(part);
  if (part.is(Py_None)) {
    result = Ref<>::create(Py_None);
    return true;
  }
  if (!hasIndex(translator, part)) {
    translator.raise(PyExc_TypeError,
                     "slice indices must be integers or None or have an __index__ method");
    return false;
  }
  Value index = toIndex(translator, std::move(part));
  if (!index) return false;
  result = Ref<>::create(index.object());
  return true;
}

}  // namespace

bool hasIndex(Translator& translator, const Value& value) {
  return translator.heap.hasSpecial(typeOf(value), cpython::SpecialSlot::Index);
}

bool isSlice(const Value& value) {
  PyObject* object = value.objectOrNull();
  return object ? PySlice_Check(object) : trackerOf<SliceVariable>(value) != nullptr;
}

bool readSize(Translator& translator, const Value& value, PyObject* overflow, int64_t& result) {
  Value index = toIndex(translator, value);
  if (!index) return false;
  result = PyNumber_AsSsize_t(index.object(), overflow);
  if (result != -1 || !PyErr_Occurred()) return true;
  // The message names the type of the value, not of what its __index__ gave.
  clearException();
  translator.raise(overflow, "cannot fit '%.200s' into an index-sized integer",
                   nameOf(translator, value));
  return false;
}

bool readMachineSize(Translator& translator, const Value& value, int64_t& result) {
  Value index = toIndex(translator, value);
  if (!index) return false;
  result = PyLong_AsSsize_t(index.object());
  if (result != -1 || !PyErr_Occurred()) return true;
  translator.raiseFromPython();
  return false;
}

Value raiseNoItemAssignment(Translator& translator, const Value& container, const Value& key,
                            bool deletes) {
  PyTypeObject* type = typeOf(container);
  const char* format = deletes ? "'%.200s' object does not support item deletion"
                               : "'%.200s' object does not support item assignment";
  if (cpython::hasSequenceSlots(type) && hasIndex(translator, key)) {
    int64_t index;
    if (!readSize(translator, key, PyExc_IndexError, index)) return Value();
    if (deletes) format = "'%.200s' object doesn't support item deletion";  // PySequence_DelItem
  }
  return translator.raise(PyExc_TypeError, format, nameOf(translator, container));
}

Value toConstantSlice(Translator& translator, const Value& slice) {
  auto* traced = trackerOf<SliceVariable>(slice);
  if (!traced) return slice;
  Ref<> start, stop, step;
  // In the order of PySlice_Unpack, which looks at the step before it asks for the others.
  if (!readSlicePart(translator, traced->step, step)) return Value();
  if (PyLong_Check(step.get()) && cpython::bitLength(step) == 0) {
    return translator.raise(PyExc_ValueError, "slice step cannot be zero");
  }
  if (!readSlicePart(translator, traced->start, start) ||
      !readSlicePart(translator, traced->stop, stop)) {
    return Value();
  }
  return Value::steal(checked(PySlice_New(start.get(), stop.get(), step.get())).release());
}

bool readSlice(Translator& translator, const Value& slice, LengthOf length, SliceRange& result) {
  Value real = toConstantSlice(translator, slice);
  if (!real) return false;
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(real.object(), &start, &stop, &step) < 0) {
    translator.raiseFromPython();
    return false;
  }
  result.count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(length()), &start, &stop, step);
  result.start = start;
  result.stop = stop;
  result.step = step;
  return true;
}

}  // namespace armature
