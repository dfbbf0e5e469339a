#include "libraries/torch/history_use.h"

#include <algorithm>

#include "core/pending_python_exception.h"
#include "libraries/package_modules.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/torch_module.h"

namespace armature {

namespace {

HistoryUse useByName(std::string_view name, Opcode opcode) {
  if (name == "grad_fn" || name == "next_functions") return HistoryUse::Operations;
  if (name == "register_hook" || name == "retain_grad" || name == "register_multi_grad_hook" ||
      name == "get_gradient_edge") {
    return HistoryUse::Results;
  }
  // grad(loss, inputs) and autograd.grad(…): but x.grad is a tensor.
  bool isCalled = opcode != Opcode::LOAD_ATTR && opcode != Opcode::STORE_ATTR;
  return name == "grad" && isCalled ? HistoryUse::Results : HistoryUse::None;
}

bool isNameOf(const Code& code, std::string_view name) {
  return std::ranges::any_of(code.names,
                             [&](const Ref<>& each) { return stringView(each) == name; });
}

bool isKeyword(const Code& code, std::string_view name) {
  return std::ranges::any_of(code.constants, [&](const Ref<>& constant) {
    if (!PyTuple_Check(constant.get())) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant.get()); ++i) {
      PyObject* keyword = PyTuple_GET_ITEM(constant.get(), i);
      if (PyUnicode_Check(keyword) && stringView(keyword) == name) return true;
    }
    return false;
  });
}

// By the keywords of backward() and grad(), whose arguments may be unpacked, too.
HistoryUse useByArguments(const Code& code) {
  // A gradient's gradient is one of each operation; backends give none.
  if (isKeyword(code, "create_graph")) return HistoryUse::Operations;
  bool takesInputs = isNameOf(code, "backward") && isKeyword(code, "inputs");
  bool mayTakeInputs = isNameOf(code, "autograd") && isNameOf(code, "grad");
  return takesInputs || mayTakeInputs ? HistoryUse::Results : HistoryUse::None;
}

HistoryUse useIn(const Code& code) {
  HistoryUse use = useByArguments(code);
  for (const Instruction& instruction : code.instructions) {
    if (argumentKind(instruction.opcode) != ArgumentKind::Name) continue;
    use =
        std::max(use, useByName(stringView(code.names[instruction.argument]), instruction.opcode));
  }
  for (const Ref<>& constant : code.constants) {
    if (!PyCode_Check(constant.get())) continue;
    CodePtr inner =
        lift(BorrowedRef<PyCodeObject>(reinterpret_cast<PyCodeObject*>(constant.get())));
    if (inner) use = std::max(use, useIn(*inner));
    if (!inner) clearException();
  }
  return use;
}

bool mayRequireGrad(const Node& node) { return !node.metadata || node.metadata->requiresGrad; }

}  // namespace

HistoryUse historyUseOf(const Code& code, BorrowedRef<> globals) {
  if (!TorchModule::modules().moduleOf(globals).empty()) return HistoryUse::None;
  return useIn(code);
}

bool losesHistory(const Graph& graph, HistoryUse use) {
  if (use == HistoryUse::None) return false;
  auto isLost = [&](const Argument& result) {
    const Node* node = result.node();
    if (!node || node->operation == NodeOperation::Placeholder || !mayRequireGrad(*node)) {
      return false;
    }
    return use == HistoryUse::Operations || node->users > 1 || mayReturnArgument(nameOf(*node));
  };
  // An input that is changed leaves the graph like a result, but does not count as one.
  auto changesInput = [](const std::unique_ptr<Node>& node) {
    return node->isCall() && changesArgument(*node) &&
           std::ranges::any_of(changedArrays(*node), [](const Node* changed) {
             return changed->operation == NodeOperation::Placeholder && mayRequireGrad(*changed);
           });
  };
  return std::ranges::any_of(graph.nodes().back()->arguments[0].elements(), isLost) ||
         std::ranges::any_of(graph.nodes(), changesInput);
}

}  // namespace armature
