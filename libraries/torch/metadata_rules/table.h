// Which rule knows which operation.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <string>
#include <vector>

#include "libraries/torch/metadata_rules/call.h"

namespace armature {

// Computes the result; false where the rule does not know, or the operation would raise.
using Rule = bool (*)(const Call& call, ResultStructure& result);

// Where an operation is found by its name.
enum Place : uint8_t {
  InTorch = 1 << 0,       // torch.name
  AsMethod = 1 << 1,      // x.name()
  InOperator = 1 << 2,    // operator.name
  InFunctional = 1 << 3,  // torch.nn.functional.name
  InBindings = 1 << 4,    // torch._C._nn.name
  AsAttribute = 1 << 5,   // x.name
  // The method name_ and, with InOperator, operator.iname do the same in place.
  InPlaceToo = 1 << 6,
  InLinearAlgebra = 1 << 7,  // torch._C._linalg.name
};

struct Row {
  const char* names;  // separated by blanks
  uint8_t places;
  const char* parameters;
  Rule rule;
};

// The rows of each family.
llvm::ArrayRef<Row> pointwiseRows();
llvm::ArrayRef<Row> viewRows();
llvm::ArrayRef<Row> indexingRows();
llvm::ArrayRef<Row> joiningRows();
llvm::ArrayRef<Row> conversionRows();
llvm::ArrayRef<Row> creationRows();
llvm::ArrayRef<Row> reductionRows();
llvm::ArrayRef<Row> linearAlgebraRows();
llvm::ArrayRef<Row> neuralRows();

struct RuleEntry {
  std::string name;  // "torch.add", "torch.Tensor.add_", "operator.iadd", "getattr T"
  Parameters parameters;
  Rule rule;
  bool isInPlace;
  bool isElementwise;  // as all are that exist in place, too
  // The first argument is a tensor: only operators take a number there.
  bool needsSelf;
};

// The rule for a node's operation; null if there is none.
const RuleEntry* findRule(const Node& node);

// The names of all rules, sorted.
std::vector<std::string> ruleNames();

}  // namespace armature
