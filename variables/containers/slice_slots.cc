// The slots of slice objects that hold something that is not a constant.
#include "core/checked.h"
#include "variables/containers/sequence.h"
#include "variables/kind_slots.h"
#include "variables/protocol/object_protocol.h"

namespace armature {

namespace {

SliceVariable* sliceOf(const Value& value) { return requireKind<SliceVariable>(value); }

Value asTuple(Translator& translator, const Value& value) {
  if (auto* slice = trackerOf<SliceVariable>(value)) {
    return makeTuple(translator, {slice->start, slice->stop, slice->step});
  }
  PyObject* object = value.objectOrNull();
  if (!object || !PySlice_Check(object)) return Value();
  auto* slice = reinterpret_cast<PySliceObject*>(object);
  return Value::steal(checked(PyTuple_Pack(3, slice->start, slice->stop, slice->step)).release());
}

// Slices compare as tuples of their parts.
Value compare(Translator& translator, const Value& left, const Value& right, int op) {
  Value a = asTuple(translator, left), b = asTuple(translator, right);
  if (!a || !b) return Value::constant(Py_NotImplemented);
  return richCompare(translator, std::move(a), std::move(b), op);
}

Value repr(Translator& translator, const Value& self) {
  SliceVariable* slice = sliceOf(self);
  Value start = toRepr(translator, slice->start);
  Value stop = start ? toRepr(translator, slice->stop) : Value();
  Value step = stop ? toRepr(translator, slice->step) : Value();
  if (!step) return step;
  return translator.fromPython(
      PyUnicode_FromFormat("slice(%U, %U, %U)", start.object(), stop.object(), step.object()));
}

Value getAttribute(Translator& translator, const Value& self, PyObject* name) {
  SliceVariable* slice = sliceOf(self);
  if (PyUnicode_CompareWithASCIIString(name, "start") == 0) return slice->start;
  if (PyUnicode_CompareWithASCIIString(name, "stop") == 0) return slice->stop;
  if (PyUnicode_CompareWithASCIIString(name, "step") == 0) return slice->step;
  return genericGetAttribute(translator, self, name);
}

TypeSlots makeSliceSlots() {
  TypeSlots slots;
  slots.tp_richcompare = compare;
  slots.tp_repr = repr;
  slots.tp_getattro = getAttribute;
  return slots;
}

}  // namespace

const TypeSlots kSliceSlots = makeSliceSlots();

}  // namespace armature
