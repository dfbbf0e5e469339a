#include <llvm/ADT/DenseMap.h>

#include <array>
#include <string_view>

#include "core/pending_python_exception.h"
#include "core/text.h"
#include "graph/graph.h"
#include "graph/namespace.h"
#include "graph/source_line.h"
#include "graph/target_name.h"

namespace armature {

namespace {

struct OperatorText {
  std::string_view name;  // in the operator module
  std::string_view symbol;
};

constexpr std::array kUnaryOperators = {OperatorText{"pos", "+"}, OperatorText{"neg", "-"},
                                        OperatorText{"invert", "~"}};

constexpr std::array kBinaryOperators = {
    OperatorText{"eq", "=="},       OperatorText{"ne", "!="},     OperatorText{"lt", "<"},
    OperatorText{"gt", ">"},        OperatorText{"le", "<="},     OperatorText{"ge", ">="},
    OperatorText{"add", "+"},       OperatorText{"sub", "-"},     OperatorText{"mul", "*"},
    OperatorText{"floordiv", "//"}, OperatorText{"truediv", "/"}, OperatorText{"mod", "%"},
    OperatorText{"pow", "**"},      OperatorText{"lshift", "<<"}, OperatorText{"rshift", ">>"},
    OperatorText{"and_", "&"},      OperatorText{"or_", "|"},     OperatorText{"xor", "^"},
    OperatorText{"matmul", "@"}};

constexpr std::array kInPlaceOperators = {
    OperatorText{"iadd", "+="},     OperatorText{"iand", "&="}, OperatorText{"ifloordiv", "//="},
    OperatorText{"ilshift", "<<="}, OperatorText{"imod", "%="}, OperatorText{"imul", "*="},
    OperatorText{"imatmul", "@="},  OperatorText{"ior", "|="},  OperatorText{"ipow", "**="},
    OperatorText{"irshift", ">>="}, OperatorText{"isub", "-="}, OperatorText{"itruediv", "/="},
    OperatorText{"ixor", "^="}};

template <size_t Count>
std::string_view symbolOf(const std::array<OperatorText, Count>& table, std::string_view name) {
  for (const OperatorText& entry : table) {
    if (entry.name == name) return entry.symbol;
  }
  return {};
}

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string result;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) result += separator;
    result += parts[i];
  }
  return result;
}

std::string tupleText(const std::vector<std::string>& elements) {
  return "(" + join(elements, ", ") + (elements.size() == 1 ? ",)" : ")");
}

// Writes one graph. Layout and wording are those of FX's print_readable, which users know.
class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) { findLastUses(); }

  // The class of that name, indented by so many levels; those of subgraphs are inside of it.
  std::string print(const std::string& className, size_t level) {
    std::string subgraphs;
    std::vector<std::string> parameters = {"self"};
    for (const auto& node : graph_.nodes()) {
      if (node->operation == NodeOperation::Placeholder) {
        parameters.push_back(node->parameter + annotation(*node));
        if (node->parameter != node->name) addLine(node->name + " = " + node->parameter);
        continue;
      }
      if (node->operation == NodeOperation::Output) {
        addLine("return " + text(node->arguments[0]));
        // Where FX ends every node's text, an output ends a second line.
        addLine("");
        continue;
      }
      if (node->operation == NodeOperation::GetAttribute) {
        subgraphs += "\n" + Printer(*node->body).print(node->name, level + 1);
      }
      addLocation(*node);
      addLine(statement(*node) + frees(*node));
    }
    std::string indent(4 * level, ' ');
    std::string result = indent + "class " + className + "(torch.nn.Module):\n";
    result += indent + "    def forward(" + join(parameters, ", ") + "):\n";
    size_t first = 0;
    while (first < lines_.size() && lines_[first].empty()) ++first;
    std::vector<std::string> indented;
    for (size_t i = first; i < lines_.size(); ++i) {
      indented.push_back(lines_[i].empty() ? "" : indent + "        " + lines_[i]);
    }
    return result + join(indented, "\n") + subgraphs;
  }

 private:
  // The node by whose name the array goes.
  static Node* named(Node* node) {
    while (node->keepsName) node = node->arguments[0].node();
    return node;
  }

  void addLine(std::string line) { lines_.push_back(std::move(line)); }

  void findLastUses() {
    const auto& nodes = graph_.nodes();
    std::vector<bool> seen(nodes.size());
    freed_.resize(nodes.size());
    for (size_t i = nodes.size(); i-- > 0;) {
      forEachInput(*nodes[i], [&](Node* input) {
        input = named(input);
        if (seen[input->index]) return;
        seen[input->index] = true;
        freed_[i].push_back(input);
      });
    }
  }

  // ";  x = y = None" after the last use of x and y.
  std::string frees(const Node& node) const {
    std::string result;
    for (Node* freed : freed_[node.index]) result += freed->name + " = ";
    if (node.users == 0 || node.keepsName) result += node.name + " = ";
    return result.empty() ? "" : ";  " + result + "None";
  }

  // The traced line that made the node, where it differs from that of the node before.
  void addLocation(const Node& node) {
    std::string comment = "# No stacktrace found for following nodes";
    const ProgramLocation& location = node.location;
    if (location.code) {
      std::string line = sourceLine(location);
      if (!line.empty()) {
        comment = "# File: " + printable(location.code->co_filename) + ":" +
                  std::to_string(location.line) + " in " + printable(location.code->co_name) +
                  ", code: " + line;
      }
    }
    if (comment == location_) return;
    addLine("");
    addLine(comment);
    location_ = std::move(comment);
  }

  std::string annotation(const Node& node) const {
    return node.metadata ? ": \"" + toString(*node.metadata) + "\"" : "";
  }

  std::string statement(const Node& node) {
    std::string result = node.name + annotation(node) + " = ";
    if (node.operation == NodeOperation::GetAttribute) return result + "self." + node.name;
    if (node.operation == NodeOperation::CallMethod) {
      return result + attribute(text(node.arguments[0]), printable(node.target)) + "(" +
             arguments(node, 1) + ")";
    }
    std::string name = qualifiedName(node.target);
    constexpr std::string_view kOperatorModule = "_operator.";
    if (name.starts_with(kOperatorModule) && node.keywordArguments.empty()) {
      std::string_view function = std::string_view(name).substr(kOperatorModule.size());
      size_t count = node.arguments.size();
      if (auto symbol = symbolOf(kUnaryOperators, function); !symbol.empty() && count == 1) {
        return result + std::string(symbol) + argumentText(node, 0);
      }
      if (auto symbol = symbolOf(kBinaryOperators, function); !symbol.empty() && count == 2) {
        return result + argumentText(node, 0) + " " + std::string(symbol) + " " +
               argumentText(node, 1);
      }
      if (function == "getitem" && count == 2) {
        return result + argumentText(node, 0) + "[" + argumentText(node, 1) + "]";
      }
      if (auto symbol = symbolOf(kInPlaceOperators, function); !symbol.empty() && count == 2) {
        return argumentText(node, 0) + " " + std::string(symbol) + " " + argumentText(node, 1) +
               ";  " + result + argumentText(node, 0);
      }
      if (function == "setitem" && count == 3) {
        return argumentText(node, 0) + "[" + argumentText(node, 1) +
               "] = " + argumentText(node, 2) + ";  " + result + argumentText(node, 0);
      }
    }
    if (name == "getattr" && node.arguments.size() == 2) {
      BorrowedRef<> attributeName = node.arguments[1].object();
      if (attributeName && PyUnicode_Check(attributeName.get()) &&
          PyUnicode_IsIdentifier(attributeName.get())) {
        return result + attribute(argumentText(node, 0), printable(attributeName));
      }
    }
    return result + globalName(node.target, name) + "(" + arguments(node, 0) + ")";
  }

  static std::string attribute(const std::string& object, const std::string& name) {
    return object + "." + name;
  }

  std::string argumentText(const Node& node, size_t i) { return text(node.arguments[i]); }

  std::string arguments(const Node& node, size_t first) {
    std::vector<std::string> parts;
    for (size_t i = first; i < node.arguments.size(); ++i) parts.push_back(argumentText(node, i));
    for (const auto& [name, argument] : node.keywordArguments) {
      parts.push_back(printable(name) + " = " + text(argument));
    }
    return join(parts, ", ");
  }

  std::string text(const Argument& argument) {
    if (argument.kind() == Argument::Kind::Node) return named(argument.node())->name;
    if (argument.kind() == Argument::Kind::Constant) return constantText(argument.object());
    std::vector<std::string> elements;
    for (const Argument& element : argument.elements()) elements.push_back(text(element));
    if (argument.kind() == Argument::Kind::Tuple) return tupleText(elements);
    if (argument.kind() == Argument::Kind::List) return "[" + join(elements, ", ") + "]";
    if (argument.kind() == Argument::Kind::Slice) return "slice(" + join(elements, ", ") + ")";
    for (size_t i = 0; i < elements.size(); ++i) {
      elements[i] = repr(PyTuple_GET_ITEM(argument.object().get(), i)) + ": " + elements[i];
    }
    return "{" + join(elements, ", ") + "}";
  }

  std::string constantText(BorrowedRef<> object) {
    if (!PyTuple_Check(object.get())) return repr(object);
    if (PyObject_HasAttrString(object.get(), "_fields")) {
      BorrowedRef<> type(reinterpret_cast<PyObject*>(Py_TYPE(object.get())));
      Ref<> plain = Ref<>::steal(PySequence_Tuple(object.get()));
      return globalName(type, qualifiedName(type)) + repr(plain);
    }
    std::vector<std::string> elements;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object.get()); ++i) {
      elements.push_back(constantText(PyTuple_GET_ITEM(object.get(), i)));
    }
    return tupleText(elements);
  }

  static std::string repr(BorrowedRef<> object) {
    Ref<> text = Ref<>::steal(PyObject_Repr(object.get()));
    if (text) return printable(text);
    clearException();
    return std::string("<") + Py_TYPE(object.get())->tp_name + " object>";
  }

  // How generated code names an object that is not part of the graph.
  std::string globalName(BorrowedRef<> object, const std::string& qualified) {
    if (isFromTorch(object)) return qualified;
    std::string& name = globals_[object.get()];
    if (name.empty()) {
      bool isBuiltin = qualified.find('.') == std::string::npos;
      name = isBuiltin ? qualified : names_.createName(qualified);
    }
    return name;
  }

  const Graph& graph_;
  std::vector<std::string> lines_;
  std::vector<std::vector<Node*>> freed_;  // by the index of the last user
  std::string location_;
  Namespace names_;
  llvm::DenseMap<PyObject*, std::string> globals_;
};

}  // namespace

std::string toString(const Graph& graph) {
  graph.nameNodes();
  return Printer(graph).print("GraphModule", 0);
}

}  // namespace armature
