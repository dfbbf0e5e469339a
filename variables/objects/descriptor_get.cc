// The __get__ of what C types have for their attributes: torch.Tensor.shape.__get__(x).
#include "cpython/type_lookup.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/attribute_protocol.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

// What reading the attribute of the object gives where its type has that very descriptor for it.
Value getOfDescriptor(Translator& translator, const Value& self, CallArguments& arguments) {
  size_t count = arguments.values.size();
  PyObject* descriptor = self.objectOrNull();
  bool isPlain = descriptor && !arguments.keywordCount() && (count == 1 || count == 2);
  Value instance = isPlain ? translator.realized(arguments.values[0]) : Value::none();
  PyObject* name = isPlain ? PyDescr_NAME(descriptor) : nullptr;
  Found found = instance.is(Py_None) ? Found() : translator.heap.lookup(typeOf(instance), name);
  if (!found || found.object != descriptor) {
    throw GraphBreak(GraphBreakKind::UnknownCFunction, describe(self) + ".__get__");
  }
  // Arrays know their attributes themselves.
  if (trackerOf<TensorVariable>(instance)) return getAttribute(translator, instance, name);
  return bindTypeAttribute(translator, found, instance, typeOf(instance), name);
}

void registerDescriptors() {
  registerMethodHandler(&PyGetSetDescr_Type, "__get__", getOfDescriptor);
  registerMethodHandler(&PyMemberDescr_Type, "__get__", getOfDescriptor);
}
ARMATURE_REGISTER_HANDLERS(registerDescriptors);

}  // namespace

}  // namespace armature
