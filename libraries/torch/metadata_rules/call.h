// One call of an operation, as its rule sees it: arguments by the number of their parameter.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <optional>
#include <string_view>

#include "libraries/torch/dtypes.h"
#include "libraries/torch/meta_evaluation.h"

namespace armature {

// The parameters of an operation, from a text like "self|input dim|axis *sizes ; dtype": names with
// their aliases; one that starts with * takes all positional arguments from there on, as one
// sequence or one by one; those after ; are given by keyword only.
class Parameters {
 public:
  explicit Parameters(std::string_view text);

  static constexpr int kNone = -1;
  int find(std::string_view keyword) const;
  size_t count() const { return names_.size(); }
  size_t positionalCount() const { return positionalCount_; }
  int variadic() const { return variadic_; }

 private:
  llvm::SmallVector<std::string_view, 8> names_;  // with their aliases
  size_t positionalCount_ = 0;
  int variadic_ = kNone;
};

// A Python number.
struct Scalar {
  DType dtype = Int64;  // Bool, Int64, Float64 or Complex128
  int64_t integer = 0;  // Bool and Int64
  double real = 0;      // Bool, Int64 and Float64
};

// A call without an argument that its rule needs: the rule does not apply, and torch says what is
// wrong with it.
class MissingArgument {};

class Call {
 public:
  Call(const Node& node, InputStructures inputs) : node_(node), inputs_(inputs) {}

  // Assigns arguments to parameters; false if they do not fit.
  bool bind(const Parameters& parameters);

  // Of parameters.
  size_t count() const { return arguments_.size(); }
  bool isGiven(size_t parameter) const { return arguments_[parameter] != nullptr; }
  // It was given, and is not None.
  bool has(size_t parameter) const;
  // The tensor, or null if the argument is something else.
  const TensorMetadata* tensor(size_t parameter) const;
  std::optional<Scalar> scalar(size_t parameter) const;
  std::optional<int64_t> integer(size_t parameter) const;
  // The bool; `standard` if the parameter was not given, nothing if it is something else.
  std::optional<bool> boolean(size_t parameter, bool standard) const;
  // An int, or a sequence of ints.
  bool integers(size_t parameter, Dimensions& values) const;
  // The number of a dtype; -1 if the argument is not one.
  DType dtype(size_t parameter) const;
  // The tensors of a sequence; false if it holds anything else.
  bool tensors(size_t parameter, llvm::SmallVectorImpl<const TensorMetadata*>& values) const;
  // The argument itself. Throws MissingArgument if it was not given.
  const Argument& argument(size_t parameter) const {
    if (!arguments_[parameter]) throw MissingArgument();
    return *arguments_[parameter];
  }

  const Node& node() const { return node_; }
  // Does the result of a differentiable operation require grad, if its dtype can?
  bool gradientsFlow() const;

 private:
  const TensorMetadata* tensor(const Argument& argument) const;

  const Node& node_;
  InputStructures inputs_;
  llvm::SmallVector<const Argument*, 8> arguments_;
  // What the variadic parameter took.
  llvm::SmallVector<const Argument*, 4> rest_;
  int variadic_ = Parameters::kNone;
};

// Readers of single arguments. They know constants only; a bool is no int to them.
std::optional<int64_t> readInteger(const Argument& argument);
bool readIntegers(const Argument& argument, Dimensions& values);
bool isNone(const Argument& argument);

// The number in place of a negative dimension; nothing if there is no such dimension. An array
// without dimensions is taken to have one, as torch does.
std::optional<int64_t> wrapDimension(int64_t dimension, int64_t count);

}  // namespace armature
