// Facts about what cells and the slots of objects hold.
#include "cpython/member_descriptors.h"
#include "heap/heap.h"

namespace armature {

Found Heap::slot(const Source* source, PyObject* object, PyObject* descriptor) {
  PyObject* value = cpython::memberValue(object, descriptor);
  if (isNew(source, GuardType::SLOT_IS_SET, descriptor)) {
    depend(source, GuardType::SLOT_IS_SET, descriptor, value != nullptr);
  }
  if (!value) return {};
  return {value, sources_.item(SourceKind::Slot, source, descriptor)};
}

bool Heap::isSet(const Source* source, PyObject* cell) {
  bool isSet = PyCell_GET(cell) != nullptr;
  if (isNew(source, GuardType::CELL_IS_SET, nullptr)) {
    depend(source, GuardType::CELL_IS_SET, nullptr, isSet);
  }
  return isSet;
}

}  // namespace armature
