#include "libraries/torch/metadata_rules/result.h"

#include "libraries/torch/regions.h"
namespace armature {

MetadataPointer newTensor(const TensorMetadata& like, Dimensions sizes, DType dtype) {
  auto result = std::make_shared<TensorMetadata>();
  result->dtype = dtype;
  result->device = like.device;
  result->sizes = std::move(sizes);
  setContiguousStrides(*result);
  return result;
}

MetadataPointer viewOf(const TensorMetadata& base) {
  auto result = std::make_shared<TensorMetadata>(base);
  result->dispatchKeys = 0;
  result->isParameter = false;
  return result;
}

bool give(const Call& call, ResultStructure& result, MetadataPointer metadata) {
  metadata->requiresGrad =
      (isFloating(metadata->dtype) || isComplex(metadata->dtype)) && call.gradientsFlow();
  metadata->isLeaf = !metadata->requiresGrad;
  metadata->mayBeView = false;
  metadata->isParameter = false;
  result.metadata = std::move(metadata);
  return true;
}

bool giveView(const Call& call, ResultStructure& result, const TensorMetadata& base,
              MetadataPointer view) {
  view->requiresGrad = base.requiresGrad;
  view->isLeaf = !base.requiresGrad || !hasGradients(call.node().mode);
  view->mayBeView = true;
  view->isParameter = false;
  result.metadata = std::move(view);
  return true;
}

bool giveWithoutGrad(ResultStructure& result, MetadataPointer metadata) {
  metadata->requiresGrad = false;
  metadata->isLeaf = true;
  metadata->mayBeView = false;
  metadata->isParameter = false;
  result.metadata = std::move(metadata);
  return true;
}

bool giveItself(ResultStructure& result, const TensorMetadata& metadata) {
  MetadataPointer itself = viewOf(metadata);
  itself->isParameter = metadata.isParameter;
  itself->mayBeView = true;
  result.metadata = std::move(itself);
  return true;
}

bool giveViews(const Call& call, ResultStructure& result, const TensorMetadata& base,
               llvm::ArrayRef<MetadataPointer> views) {
  result.kind = ResultStructure::Kind::Tuple;
  result.type = Ref<>::create(reinterpret_cast<PyObject*>(&PyTuple_Type));
  for (const MetadataPointer& view : views) {
    giveView(call, result.elements.emplace_back(), base, view);
  }
  return true;
}

bool giveTuple(const Call& call, ResultStructure& result, llvm::ArrayRef<MetadataPointer> elements,
               Ref<> type) {
  result.kind = ResultStructure::Kind::Tuple;
  result.type = std::move(type);
  for (const MetadataPointer& element : elements) {
    give(call, result.elements.emplace_back(), element);
  }
  return true;
}

}  // namespace armature
