#include "libraries/torch/tensor_types.h"

#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"

namespace armature {

namespace {

PyTypeObject* tensorBase() {
  BorrowedRef<> base = cpython::importedAttribute("torch._C", "TensorBase");
  return base && PyType_Check(base.get()) ? reinterpret_cast<PyTypeObject*>(base.get()) : nullptr;
}

// Tensor_instancecheck of torch/csrc/tensor/python_tensor.cpp: by the dtype and the kind of memory,
// which x.type() names as the class is named.
Value isOfTensorType(Translator& translator, const Value& self, CallArguments& arguments) {
  if (!checkArgumentCount(translator, "__instancecheck__", arguments, 1, 1)) return Value();
  Value type = translator.realized(self);
  // A constant: known by its identity.
  PyObject* known = type.objectOrNull();
  PyTypeObject* base = tensorBase();
  if (!known || !base) throw GraphBreak(GraphBreakKind::ClassCheckAgainstObject, describe(self));
  Value object = arguments.values[0];
  translator.realize(object);
  if (!PyType_IsSubtype(typeOf(object), base)) return Value::boolean(false);
  PyObject* method = cpython::ownAttribute(base, "type");
  if (!method || !trackerOf<TensorVariable>(object)) {
    throw GraphBreak(GraphBreakKind::ClassCheckAgainstObject, describe(object));
  }
  Value name = translator.realized(call(translator, Value::constant(method), {object}));
  if (!name) return name;
  PyObject* text = name.objectOrNull();
  if (!text || !PyUnicode_Check(text)) {
    throw GraphBreak(GraphBreakKind::ClassCheckAgainstObject, describe(object));
  }
  Ref<> module = checked(PyObject_GetAttrString(known, "__module__"));
  Ref<> ownName = checked(PyObject_GetAttrString(known, "__name__"));
  Ref<> wanted = checked(PyUnicode_FromFormat("%S.%S", module.get(), ownName.get()));
  if (PyUnicode_Compare(text, wanted.get()) != 0) return Value::boolean(false);
  // Those of a bit that is still to be applied are of another kind.
  for (const char* bit : {"is_neg", "is_conj"}) {
    PyObject* question = cpython::ownAttribute(base, bit);
    Value isSet = question
                      ? translator.realized(call(translator, Value::constant(question), {object}))
                      : Value::boolean(false);
    if (!isSet) return isSet;
    if (!isSet.is(Py_False)) return Value::boolean(false);
  }
  return Value::boolean(true);
}

}  // namespace

void registerTensorTypes() {
  BorrowedRef<> example = cpython::importedAttribute("torch", "FloatTensor");
  PyObject* check =
      example ? cpython::ownAttribute(Py_TYPE(example.get()), "__instancecheck__") : nullptr;
  if (check) registerObjectHandler(check, isOfTensorType);
}

}  // namespace armature
