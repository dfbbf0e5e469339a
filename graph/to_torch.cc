#include <cmath>

#include "core/checked.h"
#include "cpython/imported_modules.h"
#include "graph/graph.h"
#include "graph/module_source.h"
#include "graph/source_line.h"

namespace armature {

namespace {

// Builds a torch.fx.Graph through its Python interface. Every step returns null or false with the
// Python exception set.
class Converter {
 public:
  explicit Converter(const Graph& graph, ExampleValues exampleValues = nullptr)
      : graph_(graph), exampleValues_(exampleValues), nodes_(graph.size()) {}

  Ref<> convert() {
    Ref<> fx = Ref<>::steal(cpython::importModule("torch.fx"));
    Ref<> fxGraph = convertGraph(fx);
    if (!fxGraph) return nullptr;
    Ref<> module = Ref<>::steal(
        PyObject_CallMethod(fx.get(), "GraphModule", "OO", root_.get(), fxGraph.get()));
    return module && keepSourceWithCode(module) ? module : nullptr;
  }

  Ref<> convertGraph(const Ref<>& fx) {
    Ref<> fxGraph = Ref<>::steal(fx ? PyObject_CallMethod(fx.get(), "Graph", nullptr) : nullptr);
    if (!fxGraph) return nullptr;
    createNode_ = Ref<>::steal(PyObject_GetAttrString(fxGraph.get(), "create_node"));
    if (!createNode_) return nullptr;
    root_ = Ref<>::steal(PyDict_New());
    if (!root_) return nullptr;
    for (const auto& node : graph_.nodes()) {
      if (!convertNode(*node)) return nullptr;
    }
    return fxGraph;
  }

 private:
  bool convertNode(const Node& node) {
    isTorchs_ = node.library == ArrayLibraryKind::Torch && !node.mixesLibraries;
    Ref<> arguments = Ref<>::steal(PyTuple_New(node.arguments.size()));
    Ref<> keywords = Ref<>::steal(PyDict_New());
    if (!arguments || !keywords) return false;
    for (size_t i = 0; i < node.arguments.size(); ++i) {
      Ref<> value = convertArgument(node.arguments[i]);
      if (!value) return false;
      PyTuple_SET_ITEM(arguments.get(), i, value.release());
    }
    for (const auto& [name, argument] : node.keywordArguments) {
      // torch.fx writes them into the text of a function.
      if (!PyUnicode_IsIdentifier(name.get())) {
        PyErr_Format(PyExc_ValueError, "not the name of a keyword: %R", name.get());
        return false;
      }
      Ref<> value = convertArgument(argument);
      if (!value || PyDict_SetItem(keywords.get(), name.get(), value.get()) < 0) return false;
    }
    const char* operation = "call_function";
    Ref<> target = node.target;
    switch (node.operation) {
      case NodeOperation::Placeholder:
        operation = "placeholder";
        target = checked(PyUnicode_FromString(node.parameter.c_str()));
        break;
      case NodeOperation::CallFunction:
        if (isPowerOfNegative(node)) {
          static const Ref<> power = importedFunction("torch", "pow");
          target = power;
        }
        break;
      case NodeOperation::CallMethod:
        operation = "call_method";
        break;
      case NodeOperation::GetAttribute: {
        operation = "get_attr";
        target = Ref<>::steal(PyUnicode_FromString(node.name.c_str()));
        Ref<> body = Converter(*node.body, exampleValues_).convert();
        if (!target || !body || PyDict_SetItem(root_.get(), target.get(), body.get()) < 0) {
          return false;
        }
        break;
      }
      case NodeOperation::Output:
        operation = "output";
        target = Ref<>::steal(PyUnicode_FromString("output"));
        break;
    }
    if (!target) return false;
    Ref<> created =
        Ref<>::steal(PyObject_CallFunction(createNode_.get(), "sOOOs", operation, target.get(),
                                           arguments.get(), keywords.get(), node.name.c_str()));
    if (!created) return false;
    if (std::string trace = stackTrace(node.location); !trace.empty()) {
      Ref<> text = Ref<>::steal(PyUnicode_FromString(trace.c_str()));
      if (!text || PyObject_SetAttrString(created.get(), "stack_trace", text.get()) < 0) {
        return false;
      }
    }
    if (node.metadata && node.metadata->library == ArrayLibraryKind::NumPy &&
        !describeNumPy(created, *node.metadata)) {
      return false;
    }
    if (!describe(created, node)) return false;
    nodes_[node.index] =
        node.keepsName ? nodes_[node.arguments[0].node()->index] : std::move(created);
    return true;
  }

  static Ref<> importedFunction(const char* module, const char* name) {
    return checked(PyObject_GetAttrString(checked(cpython::importModule(module)).get(), name));
  }

  // torch.fx writes operator.pow(-1, x) as `-1 ** x`, which Python reads as `-(1 ** x)`.
  static bool isPowerOfNegative(const Node& node) {
    static const Ref<> power = importedFunction("operator", "pow");
    if (node.target.get() != power.get()) return false;
    PyObject* base = node.arguments[0].kind() == Argument::Kind::Constant
                         ? node.arguments[0].object().get()
                         : nullptr;
    if (base && PyFloat_Check(base)) return std::signbit(PyFloat_AS_DOUBLE(base));
    return base && PyLong_Check(base) && Py_SIZE(base) < 0;
  }

  bool describe(const Ref<>& created, const Node& node) {
    if (!exampleValues_) return true;
    PyObject* example = node.example.get();
    if (example && PyObject_SetAttrString(created.get(), "type",
                                          reinterpret_cast<PyObject*>(Py_TYPE(example))) < 0) {
      return false;
    }
    Ref<> value = exampleValues_(node);
    if (!value) return !PyErr_Occurred();
    Ref<> meta = Ref<>::steal(PyObject_GetAttrString(created.get(), "meta"));
    return meta && PyDict_SetItemString(meta.get(), "example_value", value.get()) == 0;
  }

  // Of an array: "f64[2, 3]"; of a scalar: "f64".
  static bool describeNumPy(const Ref<>& node, const TensorMetadata& metadata) {
    std::string text = toString(metadata);
    if (metadata.isScalar) text.resize(text.find('['));
    Ref<> meta = Ref<>::steal(PyObject_GetAttrString(node.get(), "meta"));
    Ref<> value = Ref<>::steal(PyUnicode_FromString(text.c_str()));
    return meta && value && PyDict_SetItemString(meta.get(), "numpy", value.get()) == 0;
  }

  Ref<> convertArgument(const Argument& argument) {
    switch (argument.kind()) {
      case Argument::Kind::Constant:
        return isTorchs_ ? namedDType(argument.object()) : Ref<>::create(argument.object());
      case Argument::Kind::Node:
        return nodes_[argument.node()->index];
      case Argument::Kind::Dict:
        return convertDict(argument);
      default:
        break;
    }
    const auto& elements = argument.elements();
    bool isList = argument.kind() == Argument::Kind::List;
    Ref<> sequence =
        Ref<>::steal(isList ? PyList_New(elements.size()) : PyTuple_New(elements.size()));
    if (!sequence) return nullptr;
    for (size_t i = 0; i < elements.size(); ++i) {
      Ref<> value = convertArgument(elements[i]);
      if (!value) return nullptr;
      if (isList) {
        PyList_SET_ITEM(sequence.get(), i, value.release());
      } else {
        PyTuple_SET_ITEM(sequence.get(), i, value.release());
      }
    }
    if (argument.kind() != Argument::Kind::Slice) return sequence;
    return Ref<>::steal(PySlice_New(PyTuple_GET_ITEM(sequence.get(), 0),
                                    PyTuple_GET_ITEM(sequence.get(), 1),
                                    PyTuple_GET_ITEM(sequence.get(), 2)));
  }

  // torch's operations take Python's types for dtypes; torch.fx has no text for them.
  static Ref<> namedDType(BorrowedRef<> constant) {
    static constexpr std::pair<PyTypeObject*, const char*> kNames[] = {
        {&PyFloat_Type, "float64"},
        {&PyLong_Type, "int64"},
        {&PyBool_Type, "bool"},
        {&PyComplex_Type, "complex128"}};
    for (const auto& [type, name] : kNames) {
      if (constant.get() != reinterpret_cast<PyObject*>(type)) continue;
      Ref<> torch = Ref<>::steal(cpython::importModule("torch"));
      return Ref<>::steal(torch ? PyObject_GetAttrString(torch.get(), name) : nullptr);
    }
    return Ref<>::create(constant);
  }

  Ref<> convertDict(const Argument& argument) {
    Ref<> dict = Ref<>::steal(PyDict_New());
    for (size_t i = 0; dict && i < argument.elements().size(); ++i) {
      Ref<> value = convertArgument(argument.elements()[i]);
      PyObject* key = PyTuple_GET_ITEM(argument.object().get(), i);
      if (!value || PyDict_SetItem(dict.get(), key, value.get()) < 0) return nullptr;
    }
    return dict;
  }

  const Graph& graph_;
  ExampleValues exampleValues_;
  bool isTorchs_ = true;  // the node that is converted is an operation of torch's
  Ref<> createNode_;
  Ref<> root_;                // a dict: the module's attributes
  std::vector<Ref<>> nodes_;  // torch's, by the index of ours
};

}  // namespace

Ref<> toTorchGraphModule(const Graph& graph, ExampleValues exampleValues) {
  graph.nameNodes();
  return Converter(graph, exampleValues).convert();
}

Ref<> toTorchGraph(const Graph& graph) {
  graph.nameNodes();
  return Converter(graph).convertGraph(Ref<>::steal(cpython::importModule("torch.fx")));
}

}  // namespace armature
