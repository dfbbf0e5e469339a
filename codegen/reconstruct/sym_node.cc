// The expressions of numbers that varied, which Python computes from the inputs.
#include "codegen/py_codegen.h"
#include "codegen/reconstruct/reconstructor.h"
#include "variables/constants/sym_node_variable.h"

namespace armature {

namespace {

NumberSlot slotOf(SymOperation operation) {
  switch (operation) {
    case SymOperation::Subtract:
      return nb_subtract;
    case SymOperation::Multiply:
      return nb_multiply;
    case SymOperation::TrueDivide:
      return nb_true_divide;
    case SymOperation::FloorDivide:
      return nb_floor_divide;
    case SymOperation::Remainder:
      return nb_remainder;
    case SymOperation::Power:
      return nb_power;
    case SymOperation::And:
      return nb_and;
    case SymOperation::Or:
      return nb_or;
    case SymOperation::Xor:
      return nb_xor;
    default:
      return nb_add;
  }
}

class SymNodeReconstructor : public Reconstructor {
 public:
  void build(PyCodegen& codegen, VariableTracker* tracker) const override {
    auto* number = llvm::cast<SymNodeVariable>(tracker);
    if (number->specialized) {
      codegen.load(number->specialized);
    } else {
      codegen.compute(*number->node);
    }
  }
};

}  // namespace

// Recurses as deep as the expression, whose size is bounded.
void PyCodegen::compute(const SymNode& node) {
  switch (node.operation) {
    case SymOperation::Input:
      loadSource(node.source);
      return;
    case SymOperation::Constant:
      loadConstant(node.hint);
      return;
    case SymOperation::Negate:
      compute(*node.left);
      assembler_.emit(Opcode::UNARY_NEGATIVE);
      return;
    default:
      compute(*node.left);
      compute(*node.right);
      assembler_.emit(Opcode::BINARY_OP, slotOf(node.operation));
  }
}

ARMATURE_RECONSTRUCTOR(SymNode)

}  // namespace armature
