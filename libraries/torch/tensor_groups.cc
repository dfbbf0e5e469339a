#include "libraries/torch/tensor_groups.h"

#include <utility>

#include "core/checked.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/dtypes.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor_attributes.h"
#include "variables/translator.h"

namespace armature {

namespace {

// Empty arrays of the same device and dtype stand for the program's: in which order the groups
// come, only torch's own function knows.
Ref<> standIn(const TensorMetadata& metadata) {
  static PyObject* const empty = Py_XNewRef(cpython::importedAttribute("torch", "empty").get());
  Ref<> dtype = dtypeObject(metadata.dtype), device = deviceObject(metadata.device);
  if (!empty || !dtype || !device) return nullptr;
  Ref<> arguments = Ref<>::steal(Py_BuildValue("(i)", 0));
  Ref<> keywords =
      Ref<>::steal(Py_BuildValue("{sOsO}", "dtype", dtype.get(), "device", device.get()));
  if (!arguments || !keywords) return nullptr;
  return Ref<>::steal(PyObject_Call(empty, arguments.get(), keywords.get()));
}

// _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)
Value callGroupTensors(Translator& translator, const Value& callable, CallArguments& arguments) {
  auto refuse = [&]() {
    return GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable),
                      "its arguments are not lists of tensors");
  };
  if (arguments.values.size() != 2 || arguments.keywordCount()) throw refuse();
  Value withIndices = translator.realized(arguments.values[1]);
  auto* lists = trackerOf<ListVariable>(translator.realized(arguments.values[0]));
  if (!lists || lists->items().empty() || !withIndices.isConstant()) throw refuse();
  std::vector<ListVariable*> columns;
  for (const Value& item : lists->items()) {
    columns.push_back(trackerOf<ListVariable>(translator.realized(item)));
    bool fits = columns.back() && (columns.back()->items().empty() ||
                                   columns.back()->items().size() == columns[0]->items().size());
    if (!fits) throw refuse();
  }
  if (columns[0]->items().empty()) throw refuse();  // torch raises
  Ref<> first = checked(PyList_New(0));
  for (ListVariable* column : columns) {
    for (const Value& item : column->items()) {
      Value value = translator.realized(item);
      auto* tensor = trackerOf<TensorVariable>(value);
      if (value.is(Py_None) && column != columns[0]) continue;
      if (!tensor || tensor->libraryKind() != ArrayLibraryKind::Torch) throw refuse();
      // Others of a row are like its first array, or torch may refuse them.
      const TensorMetadata* metadata = observedMetadata(translator, tensor, "dtype");
      if (metadata) metadata = observedMetadata(translator, tensor, "device");
      if (!metadata) return Value();
      if (column == columns[0]) {
        checked(PyList_Append(first.get(), checked(standIn(*metadata).release()).get()));
        continue;
      }
      size_t index = &item - column->items().begin();
      auto* row = requireKind<TensorVariable>(translator.realized(columns[0]->items()[index]));
      const TensorMetadata* expected = observedMetadata(translator, row, "dtype");
      if (!expected) return Value();
      bool isStep = metadata->device.type == kCpuDevice &&
                    (metadata->dtype == Float32 || metadata->dtype == Float64);
      bool isAlike =
          isStep || (metadata->dtype == expected->dtype && metadata->device == expected->device);
      if (!isAlike) throw refuse();
    }
  }
  static const BorrowedRef<> group =
      cpython::importedAttribute("torch._C", "_group_tensors_by_device_and_dtype");
  Ref<> groups = checked(PyObject_CallFunction(group.get(), "[O]O", first.get(), Py_True));
  DictVariable* result = translator.make<DictVariable>();
  PyObject *key, *pair;
  for (Py_ssize_t at = 0; PyDict_Next(groups.get(), &at, &key, &pair);) {
    PyObject* indices = PyTuple_GET_ITEM(pair, 1);
    ValueVector members, numbers;
    for (ListVariable* column : columns) {
      ValueVector items;
      for (Py_ssize_t i = 0; !column->items().empty() && i < PyList_GET_SIZE(indices); ++i) {
        items.push_back(column->items()[PyLong_AsSize_t(PyList_GET_ITEM(indices, i))]);
      }
      members.push_back(translator.make<ListVariable>(std::move(items)));
    }
    for (Py_ssize_t i = 0; withIndices.is(Py_True) && i < PyList_GET_SIZE(indices); ++i) {
      numbers.push_back(Value::constant(PyList_GET_ITEM(indices, i)));
    }
    Value lists = translator.make<ListVariable>(std::move(members));
    Value order = translator.make<ListVariable>(std::move(numbers));
    result->set(translator, Value::constant(key), makeTuple(translator, {lists, order}));
  }
  return result;
}

}  // namespace

LibraryCallHandler findTensorGroupsHandler(std::string_view name) {
  return name == "torch._C._group_tensors_by_device_and_dtype" ? callGroupTensors : nullptr;
}

}  // namespace armature
