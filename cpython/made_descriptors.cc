#include "cpython/made_descriptors.h"

#include <memory>

namespace armature::cpython {

namespace {

// A descriptor of C points to its definition, which it does not own.
struct Getter {
  PyGetSetDef definition;
  std::function<PyObject*(PyObject*)> read;
};

PyObject* readGetter(PyObject* object, void* getter) {
  return static_cast<Getter*>(getter)->read(object);
}

void freeGetter(PyObject* capsule) {
  delete static_cast<Getter*>(PyCapsule_GetPointer(capsule, nullptr));
}

}  // namespace

Ref<> makeGetter(PyTypeObject* type, const char* name, std::function<PyObject*(PyObject*)> read) {
  auto getter = std::make_unique<Getter>();
  getter->read = std::move(read);
  getter->definition = {name, readGetter, nullptr, nullptr, getter.get()};
  Ref<> descriptor = Ref<>::steal(PyDescr_NewGetSet(type, &getter->definition));
  Ref<> owner =
      Ref<>::steal(descriptor ? PyCapsule_New(getter.get(), nullptr, freeGetter) : nullptr);
  if (!owner) return nullptr;
  getter.release();
  // The field for the qualified name, which is made when somebody asks for it, is let go of with
  // the descriptor (descr_dealloc of descrobject.c).
  reinterpret_cast<PyDescrObject*>(descriptor.get())->d_qualname = owner.release();
  return descriptor;
}

}  // namespace armature::cpython
