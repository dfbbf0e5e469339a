// What torch's operations do besides returning something, and when they may raise.
#include <algorithm>

#include "core/checked.h"
#include "core/pending_python_exception.h"
#include "core/text.h"
#include "cpython/imported_modules.h"
#include "libraries/torch/allowed_functions.h"
#include "libraries/torch/callable_names.h"
#include "libraries/torch/changed_arguments.h"
#include "libraries/torch/function_transforms.h"
#include "libraries/torch/inference_mode.h"
#include "libraries/torch/kernel_support.h"
#include "libraries/torch/memory_relations.h"
#include "libraries/torch/meta_evaluation.h"
#include "libraries/torch/operation_nodes.h"
#include "libraries/torch/operator_names.h"
#include "libraries/torch/settings.h"
#include "libraries/torch/tensor_hooks.h"
#include "libraries/torch/torch_library.h"
#include "variables/data_errors.h"
#include "variables/functions/builtin_handlers.h"

namespace armature {

namespace {

// An argument by its position or keyword; null if it is not given.
const Argument* findArgument(const Node& node, size_t position, const char* keyword) {
  for (const auto& [name, value] : node.keywordArguments) {
    if (PyUnicode_CompareWithASCIIString(name.get(), keyword) == 0) return &value;
  }
  return position < node.arguments.size() ? &node.arguments[position] : nullptr;
}

bool isConstant(const Argument& argument, PyObject* object) {
  return argument.kind() == Argument::Kind::Constant && argument.object().get() == object;
}

bool isZero(const Argument& argument) {
  if (argument.kind() != Argument::Kind::Constant) return false;
  PyObject* object = argument.object().get();
  return PyFloat_CheckExact(object) && PyFloat_AS_DOUBLE(object) == 0;
}

// Operations of which it depends on the arguments whether they draw random numbers, renormalize a
// weight, or update statistics.
bool argumentsForbidEffects(const Node& node, std::string_view name) {
  if (name == "dropout") {
    const Argument* training = findArgument(node, 2, "training");
    return training && isConstant(*training, Py_False);
  }
  if (name == "scaled_dot_product_attention") {
    const Argument* dropout = findArgument(node, 4, "dropout_p");
    return !dropout || isZero(*dropout);
  }
  if (name == "multi_head_attention_forward") {
    const Argument* training = findArgument(node, 13, "training");
    const Argument* dropout = findArgument(node, 10, "dropout_p");
    return (training && isConstant(*training, Py_False)) || (dropout && isZero(*dropout));
  }
  if (name == "batch_norm") {
    const Argument* training = findArgument(node, 5, "training");
    return training && isConstant(*training, Py_False);
  }
  if (name != "embedding") return false;
  // Of torch.embedding, the fourth argument says something harmless.
  const Argument* maxNorm = findArgument(node, 3, "max_norm");
  return !maxNorm || isConstant(*maxNorm, Py_None) || isConstant(*maxNorm, Py_False);
}

// Is the only generator that it draws from that of the CPU, and does it change no array?
bool drawsFromDefaultGenerator(const Node& node) {
  BorrowedRef<> hasDevices = cpython::importedAttribute("torch.cuda", "_initialized");
  if (hasDevices && hasDevices.get() != Py_False) return false;
  for (const auto& [keyword, argument] : node.keywordArguments) {
    if (stringView(keyword) == "generator" && argument.object().get() != Py_None) return false;
  }
  return !changesArgument(node);
}

// See registerMayRaiseOnData().
bool operatorMayRaise(const Node& node, PyObject* error) {
  // Operators of C++ raise one of these; those of the program's may raise what they like.
  bool isOwn = PyCFunction_Check(node.target.get()) || PyUnicode_Check(node.target.get()) ||
               callableNames().of(node.target).module == "operator";
  PyObject* const raised[] = {PyExc_IndexError,      PyExc_RuntimeError, PyExc_ValueError,
                              PyExc_TypeError,       PyExc_MemoryError,  PyExc_OverflowError,
                              PyExc_ArithmeticError, PyExc_Warning};
  auto* type = reinterpret_cast<PyTypeObject*>(error);
  bool isWarning = PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_Warning));
  return !isOwn || isWarning || llvm::any_of(raised, [&](PyObject* each) {
    return PyErr_GivenExceptionMatches(each, error);
  });
}

void registerErrors() { registerMayRaiseOnData(ArrayLibraryKind::Torch, operatorMayRaise); }
ARMATURE_REGISTER_HANDLERS(registerErrors);

}  // namespace

bool TorchLibrary::mayFailOnData(const Node& node, Observer& observer) const {
  bool mayMeet = node.mayMeetInMemory && !areApartInMemory(node, observer);
  return mayMeet || mayFailWhenApart(node);
}

namespace {

// A tensor, and on its right one of NumPy's numbers that is a Python float: whether torch's
// arithmetic raises for a float depends on types only.
bool isArithmeticWithFloat(const Node& node) {
  static constexpr std::array<std::string_view, 8> kArithmetic = {
      "add", "iadd", "imul", "isub", "itruediv", "mul", "sub", "truediv"};
  const CallableName& callable = callableNames().of(node.target);
  bool isArithmetic = callable.module == "operator" && node.arguments.size() == 2 &&
                      std::ranges::binary_search(kArithmetic, callable.name);
  if (!isArithmetic || node.arguments[0].kind() != Argument::Kind::Node ||
      node.arguments[1].kind() != Argument::Kind::Node) {
    return false;
  }
  const TensorMetadata* left = node.arguments[0].node()->metadata.get();
  const TensorMetadata* right = node.arguments[1].node()->metadata.get();
  constexpr DType kNumPyDouble = 12;  // NPY_DOUBLE
  return left && left->library == ArrayLibraryKind::Torch && right &&
         right->library == ArrayLibraryKind::NumPy && right->isScalar &&
         right->dtype == kNumPyDouble;
}

}  // namespace

bool TorchLibrary::mayFailWhenApart(const Node& node) const {
  if (node.mixesLibraries && isArithmeticWithFloat(node)) return false;
  if (!node.checked || isOfTransform(node)) return true;
  KnownArrays inputs;
  bool isKnown = true;
  forEachInput(node, [&](Node* each) { isKnown &= static_cast<bool>(each->metadata); });
  return isKnown && !runsSilently(torch_, node, inputs);
}

void TorchLibrary::changedArrays(const Node& node, llvm::SmallVectorImpl<Node*>& changed) const {
  llvm::append_range(changed, armature::changedArrays(node));
}

bool TorchLibrary::returnsChanged(const Node& node) const { return armature::returnsChanged(node); }

bool TorchLibrary::isPure(const Node& node) const {
  // TorchDynamo keeps what nobody uses, but for items. That an operation may raise is an effect.
  bool isItem = node.operation == NodeOperation::CallFunction &&
                targetName(node.target) == "operator.getitem";
  // Of what is done inside of levels, only items of several results are checked.
  bool isSafe = node.checked && (isOfTransform(node) || !mayFailWhenApart(node));
  return isItem && isSafe && effectOf(node) == NodeEffect::None;
}

NodeEffect TorchLibrary::effectOf(const Node& node) const {
  if (node.operation == NodeOperation::GetAttribute) {
    NodeEffect all = NodeEffect::None;
    for (const auto& inner : node.body->nodes()) {
      if (inner->operation == NodeOperation::Placeholder ||
          inner->operation == NodeOperation::Output) {
        continue;
      }
      // A body puts back the modes that it sets, and nobody else has what it has made.
      NodeEffect effect = effectOf(*inner);
      if (effect == NodeEffect::Mode || effect == NodeEffect::Own) continue;
      if (effect != NodeEffect::None && all != NodeEffect::Other) all = effect;
    }
    return all;
  }
  if (node.operation != NodeOperation::CallFunction &&
      node.operation != NodeOperation::CallMethod) {
    return NodeEffect::Other;
  }
  if (std::optional<NodeEffect> effect = effectOfHook(node)) return *effect;
  if (isAllowedInGraph(node.target)) return NodeEffect::Other;
  const CallableName& callable = callableNames().of(node.target);
  std::string_view name = callable.name;
  // All that Python's operators may do is to change an argument.
  if (callable.module == "operator" && !changesArgument(node)) return NodeEffect::None;
  // Methods, and Python's own getattr, are what they are called.
  if (node.operation == NodeOperation::CallMethod) name = stringView(node.target);
  // An overload of torch.ops: "torch.ops.aten.add_.Tensor".
  if (Py_TYPE(node.target.get()) == torch_.opOverload.get()) {
    bool none = !functions_.classify(node.target).mutates &&
                callable.qualified().find("rand") == std::string::npos;
    return none ? NodeEffect::None : NodeEffect::Other;
  }
  if (setsGradMode(name) || changesAutocast(name) || changesTransforms(node) ||
      changesSetting(node) || changesInferenceMode(node)) {
    return NodeEffect::Mode;
  }
  if (callsBodies(node)) {
    NodeEffect effect = NodeEffect::None;
    for (const Argument& argument : node.arguments) {
      if (isBody(argument)) effect = std::max(effect, effectOf(*argument.node()));
    }
    return effect;
  }
  if (!isInPlaceCall(node) && argumentsForbidEffects(node, name)) return NodeEffect::None;
  if (changesMoreThanArrays(name)) {
    bool isUndone = drawsRandomNumbers(name) && drawsFromDefaultGenerator(node) &&
                    randomState().get && randomState().set;
    return isUndone ? NodeEffect::Random : NodeEffect::Other;
  }
  if (!changesArgument(node)) return NodeEffect::None;
  auto changed = armature::changedArrays(node);
  bool isOwn =
      !changed.empty() && llvm::all_of(changed, [](Node* each) { return ownsMemory(*each); });
  return isOwn ? NodeEffect::Own : NodeEffect::Other;
}

Library::RandomState TorchLibrary::randomState() const {
  static const RandomState state = [] {
    BorrowedRef<> generator = cpython::importedAttribute("torch._C", "default_generator");
    RandomState functions;
    if (!generator) return functions;
    functions.get = PyObject_GetAttrString(generator.get(), "get_state");
    functions.set = PyObject_GetAttrString(generator.get(), "set_state");
    clearException();
    return functions;
  }();
  return state;
}

}  // namespace armature
