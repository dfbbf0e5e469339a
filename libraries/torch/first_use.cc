#include "libraries/torch/first_use.h"

#include <llvm/ADT/STLExtras.h>

#include <utility>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "cpython/imported_modules.h"
#include "cpython/type_lookup.h"
#include "libraries/package_modules.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/torch_module.h"
#include "variables/containers/dict.h"
#include "variables/containers/sequence.h"
#include "variables/functions/functions.h"
#include "variables/objects/user_defined.h"
#include "variables/protocol/object_protocol.h"
#include "variables/tensors/tensor.h"
#include "variables/tensors/tensor_attributes.h"
#include "variables/trace_again.h"
#include "variables/translator.h"

namespace armature {

namespace {

Value inlined(Translator& translator, const Value& callable, CallArguments& arguments) {
  return translator.callUserFunction(requireKind<UserFunctionVariable>(callable), arguments);
}

PyObject* existingObject(const Value& value) {
  return value.isTracker() ? value.tracker()->existing() : value.objectOrNull();
}

// torch.ops.NAMESPACE and torch.ops.NAMESPACE.OPERATOR, which torch makes when it is asked for them
// and keeps from then on.
Value operatorOfNamespace(Translator& translator, const Value& callable, CallArguments& arguments) {
  bool isPlain = arguments.values.size() == 2 && !arguments.keywordCount();
  PyObject* self = isPlain ? existingObject(translator.realized(arguments.values[0])) : nullptr;
  PyObject* name = isPlain ? translator.realized(arguments.values[1]).objectOrNull() : nullptr;
  bool isNamespace = self && llvm::any_of(llvm::ArrayRef{"_OpNamespace", "_Ops"}, [&](auto type) {
                       return cpython::importedAttribute("torch._ops", type).get() ==
                              reinterpret_cast<PyObject*>(Py_TYPE(self));
                     });
  if (!isNamespace || !name || !PyUnicode_CheckExact(name)) {
    return inlined(translator, callable, arguments);
  }
  PyObject* attributes = PyModule_GetDict(self);
  bool wasThere = PyDict_Contains(attributes, name) == 1;
  Ref<> made = Ref<>::steal(PyObject_GetAttr(self, name));
  clearUnlessInterrupted();
  if (made && !wasThere && PyDict_Contains(attributes, name) == 1) throw TraceAgain();
  return inlined(translator, callable, arguments);
}

bool isTorchsMethod(PyTypeObject* type, const char* name) {
  PyObject* method = cpython::lookup(type, Ref<>::steal(staticName(name)).get());
  if (!method || !PyFunction_Check(method)) return false;
  return !TorchModule::modules().definedIn(method).empty();
}

// A tensor without memory that has the sizes of an argument; constants stand for themselves. Null
// for all others, or with an exception pending.
Ref<> likeArgument(Translator& translator, const Value& given) {
  Value argument = translator.realized(given);
  auto* tensor = trackerOf<TensorVariable>(argument);
  if (!tensor) return argument.isConstant() ? Ref<>::create(argument.object()) : nullptr;
  const TensorMetadata* metadata = observedMetadata(translator, tensor, "shape");
  if (!metadata || metadata->library != ArrayLibraryKind::Torch) return nullptr;
  Ref<> sizes = checked(PyTuple_New(metadata->dimension()));
  for (int64_t i = 0; i < metadata->dimension(); ++i) {
    Ref<> size = checked(PyLong_FromLongLong(metadata->sizes[i].value()));
    PyTuple_SET_ITEM(sizes.get(), i, size.release());
  }
  Ref<> empty = checked(PyObject_GetAttrString(TorchModule::get()->torch.get(), "empty"));
  Ref<> dtype = checked(dtypeObject(metadata->dtype).release());
  Ref<> device = checked(deviceObject({kMetaDevice, -1}).release());
  Ref<> keywords =
      checked(Py_BuildValue("{s:O,s:O}", "dtype", dtype.get(), "device", device.get()));
  Ref<> arguments = checked(PyTuple_Pack(1, sizes.get()));
  return Ref<>::steal(PyObject_Call(empty.get(), arguments.get(), keywords.get()));
}

// Numbers that the graph draws come before those that the parameters begin with.
bool drawsBefore(const Graph& graph) {
  return llvm::any_of(graph.nodes(), [](const auto& node) {
    return node->isCall() && (callsBodies(*node) || drawsRandomNumbers(nameOf(*node)));
  });
}

// Does a call of a module read that attribute, up to its hooks?
bool isReadByCall(PyObject* name) {
  if (!name || !PyUnicode_CheckExact(name)) return false;
  std::string_view text = stringView(name);
  return text.starts_with("_forward_") || text.starts_with("_backward_") || text == "forward" ||
         text == "_call_impl" || text == "_compiled_call_impl";
}

// Has the trace looked at more of the module than its call does? That was another before its first
// use: the trace that is made again would take it for what it is by then.
bool wasLookedAt(Translator& translator, const Source* module) {
  return llvm::any_of(translator.guards(), [&](const Guard& guard) {
    const Source *part = nullptr, *inPart = nullptr;
    const Source* source = guard.source;
    for (; source && source != module; source = source->base()) {
      inPart = std::exchange(part, source);
    }
    if (!source || !part) return false;
    // An attribute, or what is asked of all of them.
    BorrowedRef<> name = part->object();
    if (part->kind() == SourceKind::InstanceDict) name = inPart ? inPart->object() : guard.operand;
    return !isReadByCall(name.get());
  });
}

// Does the path of a value begin with that of another?
bool isReachedThrough(const Source* other, const Source* source) {
  while (source && source != other) source = source->base();
  return source;
}

// LazyModuleMixin._infer_parameters(self, module, args, kwargs), the hook that makes the parameters
// before the first call. torch's own modules look at the sizes of their input alone. What a module
// of the program's does there, Python does: it is done once.
Value inferParameters(Translator& translator, const Value& callable, CallArguments& arguments) {
  bool isPlain = arguments.values.size() == 4 && !arguments.keywordCount();
  Value module = isPlain ? translator.realized(arguments.values[1]) : Value::none();
  auto* object = trackerOf<UserObjectVariable>(module);
  auto* inputs =
      isPlain ? trackerOf<TupleVariable>(translator.realized(arguments.values[2])) : nullptr;
  auto* named =
      isPlain ? trackerOf<DictVariable>(translator.realized(arguments.values[3])) : nullptr;
  bool isExisting = object && object->existing() && object->source();
  bool isKnown = isExisting && inputs && named && isSame(translator, arguments.values[0], module) &&
                 named->size(translator) == 0;
  auto leave = [&]() -> Value {
    if (!isExisting) return inlined(translator, callable, arguments);
    throw GraphBreak(GraphBreakKind::FirstUse, describe(module));
  };
  PyTypeObject* type = isKnown ? object->type() : nullptr;
  for (const char* name : {"initialize_parameters", "reset_parameters", "has_uninitialized_params",
                           "__setattr__", "__getattr__", "__delattr__"}) {
    isKnown = isKnown && isTorchsMethod(type, name);
  }
  if (!isKnown || drawsBefore(*translator.graph)) return leave();
  if (wasLookedAt(translator, object->source())) return leave();
  // A frame that has read the hooks before it was resumed would call this one once more.
  if (!isReachedThrough(object->source(), callable.tracker()->source())) return leave();
  Ref<> given = checked(PyTuple_New(static_cast<Py_ssize_t>(inputs->items().size())));
  for (size_t i = 0; i < inputs->items().size(); ++i) {
    Ref<> argument = likeArgument(translator, inputs->items()[i]);
    if (!argument && translator.exceptionPending()) return Value();
    clearUnlessInterrupted();
    if (!argument) return leave();
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), argument.release());
  }
  PyObject* self = object->existing();
  Ref<> none = checked(PyDict_New());
  PyObject* all[] = {self, self, given.get(), none.get()};
  Ref<> done = Ref<>::steal(PyObject_Vectorcall(callable.tracker()->existing(), all, 4, nullptr));
  clearUnlessInterrupted();
  // What it refuses, Python refuses in the same way.
  if (!done) throw GraphBreak(GraphBreakKind::UnsupportedLibraryFunction, describe(callable));
  throw TraceAgain();
}

}  // namespace

LibraryCallHandler findFirstUseHandler(std::string_view module, std::string_view codeName) {
  if (module == "torch._ops") {
    bool isAttribute = codeName == "_OpNamespace.__getattr__" || codeName == "_Ops.__getattr__";
    return isAttribute ? operatorOfNamespace : nullptr;
  }
  bool isHook =
      module == "torch.nn.modules.lazy" && codeName == "LazyModuleMixin._infer_parameters";
  return isHook ? inferParameters : nullptr;
}

}  // namespace armature
