#include "libraries/torch/torch_constants.h"

#include "core/checked.h"
#include "core/constant.h"
#include "core/pending_python_exception.h"
#include "guards/key.h"
#include "variables/constants/constant.h"
#include "variables/containers/sequence.h"
#include "variables/functions/builtin_handlers.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/translator.h"
#include "variables/type_slots.h"

namespace armature {
namespace {

// By the C code of the type, which knows no subclasses.
bool areEqual(PyObject* a, PyObject* b) {
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) clearException();
  return equal > 0;
}

size_t hashByType(PyObject* object) { return reinterpret_cast<size_t>(Py_TYPE(object)); }

// The type, kept alive; null if torch has none of that name.
PyTypeObject* findType(BorrowedRef<> torch, const char* name) {
  PyObject* type = PyObject_GetAttrString(torch, name);
  if (!type) clearException();
  return type && PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type) : nullptr;
}

// torch.Size.numel(self), of what is constant.
Value numelOfSize(Translator& translator, const Value& self, CallArguments& arguments) {
  PyObject* size = arguments.values.empty() ? translator.realized(self).objectOrNull() : nullptr;
  if (!size) return unimplemented::call(translator, self, arguments);
  Ref<> result = Ref<>::steal(PyObject_CallMethod(size, "numel", nullptr));
  return result ? translator.fromPython(result.release()) : translator.raiseFromPython();
}

// The data that a torch.Size is made of; null where something is not known, or with an error.
Ref<> dataOfSizes(Translator& translator, const Value& sizes) {
  if (sizes.isConstant() && isConstantData(sizes)) return Ref<>::create(sizes.object());
  ValueVector items;
  if (trackerOf<TensorVariable>(sizes) || !collectInto(translator, sizes, items)) return nullptr;
  Ref<> tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = translator.realized(items[i]);
    if (!item.isConstant() || !isConstantData(item)) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     Ref<>::create(item.object()).release());
  }
  return tuple;
}

}  // namespace

Value makeSize(Translator& translator, const Value& callable, CallArguments& arguments) {
  PyObject* type = callable.isTracker() ? callable.tracker()->existing() : callable.object();
  if (arguments.values.size() == 1 && !arguments.keywordCount()) {
    Value first = translator.realized(arguments.values[0]);
    Ref<> sizes = dataOfSizes(translator, first);
    if (!sizes && translator.exceptionPending()) return Value();
    if (sizes) arguments.values[0] = Value::constant(sizes);
  }
  if (!allData(arguments)) {
    throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, "torch.Size");
  }
  return callWithData(translator, type, arguments);
}

void registerTorchConstants(const TorchModule& torch) {
  auto add = [&](const char* name, const ConstantType& constant) {
    if (PyTypeObject* type = findType(torch.torch, name)) registerConstantType(type, constant);
  };
  // There is one object for each dtype, layout, ….
  for (const char* name : {"dtype", "layout", "memory_format", "qscheme"}) add(name, {});
  add("device", {.same = areEqual});
  for (const char* name : {"finfo", "iinfo"}) add(name, {.same = areEqual, .hash = hashByType});
  // An enumeration of C++, whose instances compare by their number.
  Ref<> bindings = Ref<>::steal(PyObject_GetAttrString(torch.torch.get(), "_C"));
  if (PyTypeObject* backend = bindings ? findType(bindings, "_SDPBackend") : nullptr) {
    registerConstantType(backend, {.same = areEqual});
  }
  if (PyTypeObject* size = findType(torch.torch, "Size")) {
    registerConstantTuple(size);
    Ref<> numel = Ref<>::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(size), "numel"));
    if (numel) registerObjectHandler(numel.get(), numelOfSize);
  }
  registerHashById(torch.tensorType.get());
  Ref<> nn = Ref<>::steal(PyObject_GetAttrString(torch.torch.get(), "nn"));
  if (PyTypeObject* parameter = nn ? findType(nn, "Parameter") : nullptr) {
    registerHashById(parameter);
  }
  clearException();
}

}  // namespace armature
