#include "libraries/torch/kernel_support.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/Hashing.h>

#include <algorithm>
#include <bit>

#include "core/constant.h"
#include "core/graph_break.h"
#include "libraries/torch/operation_nodes.h"

namespace armature {

namespace {

// What the choice of a kernel depends on, and what it raises or warns of for numbers: the
// operation, the dtypes and ranks of its arrays, and its other arguments.
class Signature {
 public:
  explicit Signature(const Node& node, InputStructures inputs)
      : inputs_(inputs), numbersCount_(!takesAnyNumber(node)) {
    bool isMethod = node.operation == NodeOperation::CallMethod;
    add(isMethod ? PyObject_Hash(node.target.get())
                 : reinterpret_cast<uintptr_t>(node.target.get()));
    for (const Argument& argument : node.arguments) add(argument);
    for (const auto& [name, argument] : node.keywordArguments) {
      add(PyObject_Hash(name.get()));
      add(argument);
    }
  }

  uint64_t hash() const { return hash_; }

 private:
  void add(uint64_t word) { hash_ = llvm::hash_combine(hash_, word); }

  void add(const Argument& argument) {
    add(static_cast<uint64_t>(argument.kind()));
    if (argument.kind() == Argument::Kind::Node) return add(inputs_(*argument.node()));
    if (argument.kind() == Argument::Kind::Constant) return addConstant(argument.object().get());
    for (const Argument& element : argument.elements()) add(element);
  }

  void add(const ResultStructure& structure) {
    add(static_cast<uint64_t>(structure.kind));
    if (structure.metadata) {
      add(static_cast<uint64_t>(structure.metadata->dtype));
      add(structure.metadata->sizes.size());
      for (Dimension size : structure.metadata->sizes) add(size.value());
    }
    for (const ResultStructure& element : structure.elements) add(element);
  }

  void addConstant(PyObject* object) {
    add(reinterpret_cast<uintptr_t>(Py_TYPE(object)));
    if (PyUnicode_CheckExact(object)) return add(PyObject_Hash(object));
    if (PyTuple_Check(object) || PyList_Check(object)) {
      add(PySequence_Fast_GET_SIZE(object));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
        addConstant(PySequence_Fast_GET_ITEM(object, i));
    } else if (PyLong_Check(object)) {
      int overflow;
      int64_t number = PyLong_AsLongLongAndOverflow(object, &overflow);
      if (numbersCount_ || overflow) add(overflow ? PyObject_Hash(object) : number);
    } else if (PyFloat_Check(object)) {
      if (numbersCount_) addDouble(PyFloat_AS_DOUBLE(object));
    } else if (PyComplex_Check(object)) {
      if (!numbersCount_) return;
      addDouble(PyComplex_RealAsDouble(object));
      addDouble(PyComplex_ImagAsDouble(object));
    } else {
      add(reinterpret_cast<uintptr_t>(object));
    }
  }
  void addDouble(double number) { add(std::bit_cast<uint64_t>(number)); }

  InputStructures inputs_;
  bool numbersCount_;
  uint64_t hash_ = 0;
};

}  // namespace

bool runsSilently(const TorchModule& torch, const Node& node, InputStructures inputs) {
  // Keyed by hashes: one in 2 ** 64 would be taken for another.
  static auto* known = new llvm::DenseMap<uint64_t, bool>();
  uint64_t signature = Signature(node, inputs).hash() >> 2;  // clear of the map's own keys
  if (auto found = known->find(signature); found != known->end()) return found->second;
  std::optional<bool> answer = runsOnZeros(torch, node, inputs);
  if (!answer) return false;
  // Kernels may raise for less than what they know of: only that they run is kept.
  if (*answer) known->try_emplace(signature, true);
  return *answer;
}

}  // namespace armature
