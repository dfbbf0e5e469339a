// torch for the variables: which calls become graph operations, and what they return.
#pragma once

#include "libraries/torch/fake_tensors.h"
#include "libraries/torch/function_table.h"
#include "libraries/torch/own_attributes.h"
#include "variables/library.h"

namespace armature {

class TorchLibrary : public Library {
 public:
  explicit TorchLibrary(const TorchModule& torch)
      : torch_(torch), ownAttributes_(torch), functions_(torch) {}

  ArrayLibraryKind kind() const override { return ArrayLibraryKind::Torch; }
  PyTypeObject* arrayType() const override { return torch_.tensorType.get(); }
  bool holdsFractions(DType dtype) const override;
  bool isArrayType(PyTypeObject* type) const override {
    return type == torch_.tensorType.get() || type == torch_.parameterType.get();
  }
  PyTypeObject* typeOf(const TensorMetadata& metadata) const override {
    return metadata.isParameter ? torch_.parameterType.get() : torch_.tensorType.get();
  }
  const ArrayConventions& conventions() const override;
  bool mayHaveChanged(const Node& node, std::string_view attribute, const Graph& graph,
                      Observer& observer) const override;
  uint32_t observedBy(std::string_view attribute) const override;
  const HeldAttribute* heldAttribute(std::string_view attribute) const override;
  const std::vector<std::string_view>* memoryAttribute(std::string_view attribute) const override;
  bool isOperationAttribute(std::string_view attribute) const override;
  CallRule classify(BorrowedRef<> callable) const override { return functions_.classify(callable); }
  bool owns(PyTypeObject* type, PyObject* name, PyObject* attribute) const override {
    return ownAttributes_.has(type, name, attribute);
  }
  RandomState randomState() const override;
  bool disownCode(BorrowedRef<PyCodeObject> code) const override;
  CallRule classifyMethod(BorrowedRef<> name) const override {
    return functions_.classifyMethod(name);
  }
  const char* reasonAgainstBackends(const Node& node, const Graph& graph,
                                    Observer& observer) const override;
  Ref<> exampleValue(const TensorMetadata& metadata, Ref<>& mode) const override {
    return fakeTensor(metadata, mode);
  }
  HistoryUse historyUse(const Code& code, BorrowedRef<> globals) const override;
  bool isForBackends(const Graph& graph, HistoryUse use) const override;
  bool mayReturnItself(const Node& node) const override;
  bool changesLayout(const Node& node) const override;
  CallRule dispatch(Translator& translator, const CallRule& rule,
                    llvm::ArrayRef<Value> arguments) const override;
  uint32_t currentMode() const override;
  ModeState modeState(const Node& node) const override;
  void finishForBackend(Graph& graph, std::vector<Node*>& results) const override;
  std::vector<Node*> leaveContexts(Graph& graph) const override;
  ModeCall callBetween(uint32_t from, uint32_t to) const override;
  std::vector<ModeCall> callsInto(uint32_t mode) const override;
  bool isStateOfMode(uint32_t mode, uint64_t states) const override;
  std::shared_ptr<void> enterMode(uint32_t mode) const override;
  const TensorMetadata* metadata(Node* node, Observer& observer) const override;
  const TensorMetadata* layout(Node* node, Observer& observer) const override;
  bool placeDependsOnData(const Node& node) const override;
  ResultStructure evaluate(Node* node, Observer& observer) const override;
  Ref<> attribute(const TensorMetadata& metadata, std::string_view name) const override;
  bool isPure(const Node& node) const override;
  NodeEffect effectOf(const Node& node) const override;
  const char* reasonAgainstOperations() const override;
  const Node* identityOf(const Node* node, Observer& observer) const override;
  bool takesForeign(const Node& node) const override;
  bool triesMixtures() const override { return true; }
  ResultStructure evaluateMixture(Node* node, const Library& called,
                                  Observer& observer) const override;
  bool mayFailOnData(const Node& node, Observer& observer) const override;
  void changedArrays(const Node& node, llvm::SmallVectorImpl<Node*>& changed) const override;
  bool returnsChanged(const Node& node) const override;

 private:
  // Sees to the layouts of the node's inputs. What of them cannot be evaluated stays unknown.
  void learnLayouts(const Node& node, Observer& observer) const;
  // mayFailOnData(), of arrays that share no memory.
  bool mayFailWhenApart(const Node& node) const;
  // Of a node that is known only inside of levels of torch.func.
  ResultStructure evaluateInTransform(Node& node, Observer& observer) const;
  const TorchModule& torch_;
  OwnAttributes ownAttributes_;
  mutable FunctionTable functions_;
};

// Registers torch with the variables if Python has imported it; true if it is registered. Cheap
// when there is nothing to do; sets no exception; never imports torch.
bool registerTorchLibrary();

}  // namespace armature
