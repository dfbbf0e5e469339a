// The __get__ of what C types have for their attributes: torch.Tensor.shape.__get__(x).
#include "cpython/type_lookup.h"
#include "variables/containers/dict.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// Is it a class that reads its attributes as type does?
bool isPlainClass(Translator& translator, const Value& value) {
  PyTypeObject* metaclass = typeOf(value);
  static PyObject* const name = staticName("__getattribute__");
  static PyObject* const types = cpython::lookup(&PyType_Type, name);
  return PyType_IsSubtype(metaclass, &PyType_Type) &&
         translator.heap.lookup(metaclass, name).object == types;
}

// What reading the attribute of the object gives where its type has that very descriptor for it.
Value getOfDescriptor(Translator& translator, const Value& self, CallArguments& arguments) {
  size_t count = arguments.values.size();
  PyObject* descriptor = self.objectOrNull();
  bool isPlain = descriptor && !arguments.keywordCount() && (count == 1 || count == 2);
  Value instance = isPlain ? translator.realized(arguments.values[0]) : Value::none();
  PyObject* name = isPlain ? PyDescr_NAME(descriptor) : nullptr;
  PyTypeObject* owner = isPlain ? PyDescr_TYPE(descriptor) : nullptr;
  // descr_check. Under a static type there is what was made so, whatever bases a class is given.
  if (!instance.is(Py_None) && !(owner->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
      !PyType_IsSubtype(typeOf(instance), owner)) {
    return translator.raise(
        PyExc_TypeError, "descriptor '%U' for '%.100s' objects doesn't apply to a '%.100s' object",
        name, owner->tp_name, nameOf(translator, typeOf(instance)));
  }
  Found found = instance.is(Py_None) ? Found() : translator.heap.lookup(typeOf(instance), name);
  if (!found || found.object != descriptor) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(self) + ".__get__");
  }
  // Arrays know their attributes themselves; and so do classes, whose metaclass may have another
  // way to get there.
  if (trackerOf<TensorVariable>(instance) || isPlainClass(translator, instance)) {
    return getAttribute(translator, instance, name);
  }
  return bindTypeAttribute(translator, found, instance, typeOf(instance), name);
}

// type.__prepare__, whatever it is given.
Value prepare(Translator& translator, const Value&, CallArguments&) {
  return translator.make<DictVariable>();
}

void registerDescriptors() {
  registerMethodHandler(&PyGetSetDescr_Type, "__get__", getOfDescriptor);
  registerMethodHandler(&PyMemberDescr_Type, "__get__", getOfDescriptor);
  registerMethodHandler(&PyType_Type, "__prepare__", prepare);
}
ARMATURE_REGISTER_HANDLERS(registerDescriptors);

}  // namespace

}  // namespace armature
