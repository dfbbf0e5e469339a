#include "python/binding/graph_binding.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/checked.h"
#include "core/graph_break.h"
#include "cpython/integers.h"
#include "graph/graph.h"
#include "graph/json.h"
#include "libraries/torch/dtypes.h"
#include "libraries/torch/metadata_rules.h"
#include "libraries/torch/metadata_rules/table.h"
#include "libraries/torch/tensor_reader.h"
#include "libraries/torch/torch_library.h"

namespace armature {

namespace {

// A Python exception is set.
struct PythonError {};

[[noreturn]] void wrongType(const char* expected, BorrowedRef<> found) {
  PyErr_Format(PyExc_TypeError, "expected %s, not '%.200s'", expected,
               Py_TYPE(found.get())->tp_name);
  throw PythonError();
}

std::string_view text(BorrowedRef<> object) {
  if (!PyUnicode_Check(object.get())) wrongType("a str", object);
  const char* characters = PyUnicode_AsUTF8(object.get());
  if (!characters) throw PythonError();
  return characters;
}

PyObject* field(BorrowedRef<> tuple, Py_ssize_t i) {
  if (!PyTuple_Check(tuple.get())) wrongType("a tuple", tuple);
  if (i >= PyTuple_GET_SIZE(tuple.get())) throw std::invalid_argument("a tuple lacks an item");
  return PyTuple_GET_ITEM(tuple.get(), i);
}

class IgnoringObserver : public Observer {
 public:
  void observe(Node*, uint32_t) override {}
};

void requireTorch() {
  registerTorch();
  if (PyErr_Occurred()) throw PendingPythonException();
  if (!registerTorchLibrary()) throw std::runtime_error("torch is not imported");
}

// A graph from a description: a dict of
//   inputs: [(name, example), …]; a name "a.b[c]" is an item of the attribute b of the local a
//   nodes: [(operation, target, arguments, keywords[, options]), …]; options: a dict of
//          variable_name, code, line, grad_enabled
//   outputs: [reference, …]
//   evaluate: whether the library evaluates every node
// A reference to an input or node is the str "%" and its number, inputs first.
class GraphBuilder {
 public:
  explicit GraphBuilder(BorrowedRef<> description)
      : description_(description), graph_(std::make_shared<SourceTable>()) {
    if (!PyDict_Check(description.get())) wrongType("a dict", description);
    PyObject* inputs = list("inputs");
    for (Py_ssize_t i = 0; inputs && i < PyList_GET_SIZE(inputs); ++i) {
      PyObject* input = PyList_GET_ITEM(inputs, i);
      const Source* path = source(text(field(input, 0)), i);
      if (!path) throw std::invalid_argument("an input has no name");
      nodes_.push_back(graph_.addPlaceholder(path, field(input, 1)));
    }
    PyObject* nodes = list("nodes");
    for (Py_ssize_t i = 0; nodes && i < PyList_GET_SIZE(nodes); ++i) {
      addCall(PyList_GET_ITEM(nodes, i));
    }
    if (item("evaluate") == Py_True) evaluate();
  }

  void finish(bool (*isPure)(const Node&)) {
    std::vector<Node*> outputs;
    PyObject* references = list("outputs");
    for (Py_ssize_t i = 0; references && i < PyList_GET_SIZE(references); ++i) {
      outputs.push_back(reference(PyList_GET_ITEM(references, i)));
    }
    graph_.finish(outputs, isPure);
  }

  Graph& graph() { return graph_; }
  Node* last() {
    bool isCall = !nodes_.empty() && nodes_.back()->operation != NodeOperation::Placeholder;
    if (!isCall) throw std::invalid_argument("the graph has no operation");
    return nodes_.back();
  }

 private:
  // Descriptions nest as deep as this.
  static constexpr int kDeepest = 100;

  PyObject* item(const char* name) { return PyDict_GetItemString(description_.get(), name); }
  // A list, or null where there is none.
  PyObject* list(const char* name) {
    PyObject* found = item(name);
    if (found && !PyList_Check(found)) wrongType("a list", found);
    return found;
  }

  // The source that a name like "self._modules[fc1].weight" means.
  const Source* source(std::string_view name, int64_t index) {
    SourceTable& table = *graph_.sources();
    const Source* result = nullptr;
    while (!name.empty()) {
      bool isItem = name[0] == '[';
      if (isItem || name[0] == '.') name.remove_prefix(1);
      size_t end = std::min(name.find_first_of(isItem ? "]" : ".["), name.size());
      Ref<> part = Ref<>::steal(PyUnicode_FromStringAndSize(name.data(), end));
      if (!result) {
        result = table.local(index, part);
      } else if (isItem) {
        result = table.item(SourceKind::DictItem, result, part);
      } else {
        result = table.instanceAttribute(result, part);
      }
      name.remove_prefix(std::min(end + isItem, name.size()));
    }
    return result;
  }

  void addCall(BorrowedRef<> description) {
    std::string_view operation = text(field(description, 0));
    bool isMethod = operation == "call_method";
    if (!isMethod && operation != "call_function") throw std::invalid_argument("no such operation");
    PyObject* target = field(description, 1);
    if (isMethod) text(target);
    if (!isMethod && !PyCallable_Check(target)) wrongType("a callable", target);
    Argument arguments = argument(field(description, 2));
    bool isSequence =
        arguments.kind() == Argument::Kind::Tuple || arguments.kind() == Argument::Kind::List;
    if (!isSequence) wrongType("a tuple of arguments", field(description, 2));
    if (isMethod && arguments.elements().empty()) {
      throw std::invalid_argument("a method is called without an object");
    }
    std::vector<std::pair<Ref<>, Argument>> keywords;
    if (!PyDict_Check(field(description, 3))) wrongType("a dict", field(description, 3));
    PyObject *name, *value;
    for (Py_ssize_t at = 0; PyDict_Next(field(description, 3), &at, &name, &value);) {
      text(name);
      keywords.emplace_back(Ref<>::create(name), argument(value));
    }
    PyObject* options = PyTuple_GET_SIZE(description.get()) > 4 ? field(description, 4) : nullptr;
    if (options && !PyDict_Check(options)) wrongType("a dict", options);
    auto option = [&](const char* key) {
      return options ? PyDict_GetItemString(options, key) : nullptr;
    };
    ProgramLocation location;
    if (PyObject* code = option("code")) {
      if (!PyCode_Check(code)) wrongType("a code object", code);
      location.code = reinterpret_cast<PyCodeObject*>(code);
    }
    if (PyObject* line = option("line")) {
      location.line = cpython::asInt(line);
      if (location.line == -1 && PyErr_Occurred()) throw PythonError();
    }
    Node* node = graph_.addCall(isMethod ? NodeOperation::CallMethod : NodeOperation::CallFunction,
                                target, arguments.elements(), std::move(keywords), location);
    if (PyObject* variable = option("variable_name")) {
      text(variable);
      node->variableName = Ref<>::create(variable);
    }
    if (option("grad_enabled") == Py_False) node->mode = 0;
    nodes_.push_back(node);
  }

  Node* reference(BorrowedRef<> object) {
    int number = isReference(object) ? std::stoi(std::string(text(object).substr(1))) : -1;
    return nodes_.at(static_cast<size_t>(number));
  }

  static bool isReference(BorrowedRef<> object) {
    return PyUnicode_Check(object.get()) && text(object).starts_with('%');
  }

  Argument argument(BorrowedRef<> object, int depth = 0) {
    if (isReference(object)) return reference(object);
    if (depth == kDeepest) throw std::invalid_argument("the arguments are nested too deep");
    std::vector<Argument> elements;
    if (PyTuple_CheckExact(object.get()) || PyList_CheckExact(object.get())) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.get()); ++i) {
        elements.push_back(argument(PySequence_Fast_GET_ITEM(object.get(), i), depth + 1));
      }
      return Argument::aggregate(
          PyTuple_CheckExact(object.get()) ? Argument::Kind::Tuple : Argument::Kind::List,
          std::move(elements));
    }
    if (PySlice_Check(object.get())) {
      auto* slice = reinterpret_cast<PySliceObject*>(object.get());
      for (PyObject* part : {slice->start, slice->stop, slice->step}) {
        elements.push_back(argument(part, depth + 1));
      }
      return Argument::aggregate(Argument::Kind::Slice, std::move(elements));
    }
    if (PyDict_CheckExact(object.get())) {
      Ref<> keys = checked(PyList_New(0));
      PyObject *key, *value;
      for (Py_ssize_t at = 0; PyDict_Next(object.get(), &at, &key, &value);) {
        checked(PyList_Append(keys.get(), key));
        elements.push_back(argument(value, depth + 1));
      }
      return Argument::aggregate(Argument::Kind::Dict, std::move(elements),
                                 checked(PyList_AsTuple(keys.get())));
    }
    return Argument::constant(object);
  }

  void evaluate() {
    requireTorch();
    IgnoringObserver observer;
    for (Node* node : nodes_) {
      ResultStructure result = findLibrary(ArrayLibraryKind::Torch)->evaluate(node, observer);
      if (result.kind == ResultStructure::Kind::Constant && !result.constant) throw PythonError();
    }
  }

  BorrowedRef<> description_;
  Graph graph_;
  std::vector<Node*> nodes_;
};

bool isNeverPure(const Node&) { return false; }
bool isPureForLibrary(const Node& node) {
  const Library* library = findLibrary(ArrayLibraryKind::Torch);
  return library && library->isPure(node);
}

// Runs `function` and turns what it throws into a Python exception.
template <class Function>
PyObject* guarded(Function&& function) {
  try {
    return function().release();
  } catch (const PythonError&) {
  } catch (const PendingPythonException&) {
  } catch (const GraphBreak& graphBreak) {
    PyErr_Format(PyExc_NotImplementedError, "%s: %s: %s", entryOf(graphBreak.kind()).gbType,
                 graphBreak.context().c_str(), graphBreak.explanation().c_str());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  }
  return nullptr;
}

template <class Function>
PyObject* withGraph(PyObject* description, Function&& function) {
  return guarded([&] {
    GraphBuilder builder(description);
    bool prune = PyDict_GetItemString(description, "prune") == Py_True;
    builder.finish(prune ? isPureForLibrary : isNeverPure);
    return function(builder.graph());
  });
}

Ref<> string(const std::string& value) {
  return Ref<>::steal(PyUnicode_DecodeUTF8(value.data(), value.size(), "replace"));
}

PyObject* graphText(PyObject*, PyObject* description) {
  return withGraph(description, [](Graph& graph) { return string(toString(graph)); });
}

PyObject* graphJson(PyObject*, PyObject* description) {
  return withGraph(description, [](Graph& graph) { return string(toJson(graph).dump()); });
}

PyObject* graphToTorch(PyObject*, PyObject* description) {
  return withGraph(description, [](Graph& graph) { return toTorchGraphModule(graph); });
}

PyObject* graphToFunction(PyObject*, PyObject* description) {
  return withGraph(description, [](Graph& graph) { return toFunction(graph); });
}

// --- What is known of torch.

Ref<> integers(const Dimensions& values) {
  Ref<> tuple = Ref<>::steal(PyTuple_New(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(values[i].value()));
  }
  return tuple;
}

// An array as a dict, a sequence as (type, elements), a constant as ("constant", object).
Ref<> toPython(const ResultStructure& structure) {
  if (structure.kind == ResultStructure::Kind::Constant) {
    return Ref<>::steal(Py_BuildValue("(sO)", "constant", structure.constant.get()));
  }
  if (structure.kind == ResultStructure::Kind::Array) {
    const TensorMetadata& metadata = *structure.metadata;
    return Ref<>::steal(Py_BuildValue(
        "{sNsNsNsNsLsNsNsNsNsN}", "sizes", integers(metadata.sizes).release(), "strides",
        integers(metadata.strides).release(), "dtype", dtypeObject(metadata.dtype).release(),
        "device", deviceObject(metadata.device).release(), "storage_offset",
        static_cast<long long>(metadata.storageOffset.value()), "requires_grad",
        PyBool_FromLong(metadata.requiresGrad), "is_leaf", PyBool_FromLong(metadata.isLeaf),
        "is_conj", PyBool_FromLong(metadata.isConjugate), "is_neg",
        PyBool_FromLong(metadata.isNegative), "is_inference",
        PyBool_FromLong(metadata.isInference)));
  }
  Ref<> elements = Ref<>::steal(PyList_New(0));
  for (const ResultStructure& element : structure.elements) {
    Ref<> value = toPython(element);
    if (!value || PyList_Append(elements.get(), value.get()) < 0) throw PythonError();
  }
  PyObject* type = structure.kind == ResultStructure::Kind::List
                       ? reinterpret_cast<PyObject*>(&PyList_Type)
                       : structure.type.get();
  return Ref<>::steal(Py_BuildValue("(OO)", type, elements.get()));
}

// torch_rule(description, use_torch): what the metadata rule of the last node says, None if there
// is no answer; with use_torch, what torch says when it is asked.
PyObject* torchRule(PyObject*, PyObject* arguments) {
  PyObject* description;
  int useTorch;
  if (!PyArg_ParseTuple(arguments, "O!p", &PyDict_Type, &description, &useTorch)) return nullptr;
  return guarded([&]() -> Ref<> {
    requireTorch();
    GraphBuilder builder(description);
    const Library& library = *findLibrary(ArrayLibraryKind::Torch);
    IgnoringObserver observer;
    std::vector<ResultStructure> structures(builder.graph().size());
    for (size_t i = 0; i + 1 < structures.size(); ++i) {
      structures[i] = library.evaluate(builder.graph().nodes()[i].get(), observer);
      bool failed =
          structures[i].kind == ResultStructure::Kind::Constant && !structures[i].constant;
      if (failed) throw PythonError();
    }
    auto inputs = [&](const Node& node) -> const ResultStructure& {
      return structures[node.index];
    };
    ResultStructure result;
    if (useTorch) {
      result = evaluateOnMeta(*TorchModule::get(), *builder.last(), inputs);
      if (result.kind == ResultStructure::Kind::Constant && !result.constant) throw PythonError();
    } else if (!applyMetadataRule(*builder.last(), inputs, result)) {
      return Ref<>::create(Py_None);
    }
    return toPython(result);
  });
}

// The name of the rule for the last node of a described graph, or None.
PyObject* torchRuleName(PyObject*, PyObject* description) {
  return guarded([&]() -> Ref<> {
    GraphBuilder builder(description);
    const RuleEntry* entry = findRule(*builder.last());
    return entry ? string(entry->name) : Ref<>::create(Py_None);
  });
}

PyObject* torchRuleNames(PyObject*, PyObject*) {
  return guarded([] {
    Ref<> names = checked(PyList_New(0));
    for (const std::string& name : ruleNames()) {
      checked(PyList_Append(names.get(), checked(string(name).release()).get()));
    }
    return names;
  });
}

const char* nameOf(CallKind kind) {
  switch (kind) {
    case CallKind::NotOurs:
      return "not ours";
    case CallKind::GraphOperation:
      return "graph operation";
    case CallKind::ConstantFoldable:
      return "constant foldable";
    case CallKind::Inline:
      return "inline";
    case CallKind::Handled:
      return "handled";
    case CallKind::Unsupported:
      return "unsupported";
  }
  return nullptr;
}

Ref<> toPython(const CallRule& rule) {
  return Ref<>::steal(Py_BuildValue("{sssOsOss}", "kind", nameOf(rule.kind), "returns_one_array",
                                    rule.returnsOneArray ? Py_True : Py_False, "mutates",
                                    rule.mutates ? Py_True : Py_False, "reason", rule.reason));
}

PyObject* torchClassify(PyObject*, PyObject* callable) {
  return guarded([&] {
    if (!registerTorchLibrary()) throw std::runtime_error("torch is not imported");
    return toPython(findLibrary(ArrayLibraryKind::Torch)->classify(callable));
  });
}

PyObject* torchClassifyMethod(PyObject*, PyObject* name) {
  return guarded([&] {
    if (!registerTorchLibrary()) throw std::runtime_error("torch is not imported");
    text(name);
    return toPython(findLibrary(ArrayLibraryKind::Torch)->classifyMethod(name));
  });
}

PyMethodDef functions[] = {
    {"graph_text", graphText, METH_O, "The text of a described graph."},
    {"graph_json", graphJson, METH_O, "The JSON of a described graph."},
    {"graph_to_torch", graphToTorch, METH_O, "A described graph as a torch.fx.GraphModule."},
    {"graph_to_function", graphToFunction, METH_O, "A described graph as a function."},
    {"torch_rule", torchRule, METH_VARARGS, "What the last node of a described graph returns."},
    {"torch_rule_name", torchRuleName, METH_O, "The name of that rule."},
    {"torch_rule_names", torchRuleNames, METH_NOARGS, "The names of all rules."},
    {"torch_classify", torchClassify, METH_O, "What a callable of torch is to a trace."},
    {"torch_classify_method", torchClassifyMethod, METH_O, "The same for a method's name."},
    {},
};

}  // namespace

int addGraphFunctions(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace armature
