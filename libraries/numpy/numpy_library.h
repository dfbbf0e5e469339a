// NumPy for the variables: which calls become graph operations, and what they return.
#pragma once

#include "libraries/numpy/global_state.h"
#include "libraries/numpy/numpy_functions.h"
#include "libraries/numpy/trial_run.h"
#include "variables/library.h"

namespace armature {

class NumPyLibrary : public Library {
 public:
  explicit NumPyLibrary(const NumPyModule& numpy)
      : numpy_(numpy), functions_(numpy), state_(numpy.numpy) {}

  ArrayLibraryKind kind() const override { return ArrayLibraryKind::NumPy; }
  PyTypeObject* arrayType() const override { return numpy_.arrayType.get(); }
  PyTypeObject* typeOf(const TensorMetadata& metadata) const override;
  bool isImmutable(PyTypeObject* type) const override;
  std::shared_ptr<const TensorMetadata> scalarMetadata(PyTypeObject* type) const override;
  // Arrays or scalars come out, as dtypes and dimensions decide.
  bool eager() const override { return true; }

  const ArrayConventions& conventions() const override;
  uint32_t observedBy(std::string_view attribute) const override;
  bool isOperationAttribute(std::string_view attribute) const override {
    return attribute == "T" || attribute == "mT" || attribute == "real" || attribute == "imag" ||
           attribute == "data";
  }
  CallRule classify(BorrowedRef<> callable) const override { return functions_.classify(callable); }
  CallRule classifyMethod(BorrowedRef<> name) const override {
    return functions_.classifyMethod(name);
  }
  const TensorMetadata* metadata(Node* node, Observer& observer) const override;
  ResultStructure evaluate(Node* node, Observer& observer) const override;
  Ref<> attribute(const TensorMetadata& metadata, std::string_view name) const override;
  bool takesForeign(const Node& node) const override;
  const TensorMetadata* layout(Node* node, Observer& observer) const override;
  Ref<> standIn(const TensorMetadata& metadata) const override;
  std::shared_ptr<const TensorMetadata> describe(BorrowedRef<> object) const override;
  Ref<> callSilently(BorrowedRef<> callable, BorrowedRef<> arguments,
                     BorrowedRef<> keywords) const override;
  bool isPure(const Node& node) const override;
  NodeEffect effectOf(const Node& node) const override {
    bool hasNone = isWithoutEffect(node) || succeedsOnConstants(numpy_, node);
    return hasNone ? NodeEffect::None : NodeEffect::Other;
  }
  bool onlyWarns(const Node& node) const override;
  void changedArrays(const Node& node, llvm::SmallVectorImpl<Node*>& changed) const override;
  bool mayFailOnData(const Node& node, Observer&) const override {
    return !isWithoutEffect(node) && !succeedsOnConstants(numpy_, node);
  }

 private:
  // Does it do nothing but give its result, or raise?
  bool isWithoutEffect(const Node& node) const;
  std::shared_ptr<const TensorMetadata> trueLayout(const Node& node) const;

  const NumPyModule& numpy_;
  NumPyFunctions functions_;
  NumPyState state_;
};

// Registers NumPy with the variables if Python has imported it; true if it is registered. Cheap
// when there is nothing to do; sets no exception; never imports NumPy.
bool registerNumPyLibrary();

}  // namespace armature
