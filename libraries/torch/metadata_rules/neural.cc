// Layers of neural networks.

#include <cmath>

#include "core/pending_python_exception.h"
#include "libraries/torch/metadata_rules/elementwise.h"
#include "libraries/torch/metadata_rules/layout.h"
#include "libraries/torch/metadata_rules/result.h"
#include "libraries/torch/metadata_rules/table.h"

namespace armature {

namespace {

bool giveSoftmax(const Call& call, ResultStructure& result, size_t dtypeParameter) {
  const TensorMetadata* self = call.tensor(0);
  std::optional<int64_t> along = call.integer(1);
  if (!self || !along || !wrapDimension(*along, self->dimension())) return false;
  DType dtype = call.has(dtypeParameter) ? call.dtype(dtypeParameter) : self->dtype;
  if (!isFloating(dtype)) return false;
  return give(call, result, newTensor(*self, self->sizes, dtype));
}

// softmax and log_softmax
bool softmax(const Call& call, ResultStructure& result) { return giveSoftmax(call, result, 2); }
bool functionalSoftmax(const Call& call, ResultStructure& result) {
  return giveSoftmax(call, result, 3);
}

bool layerNorm(const Call& call, ResultStructure& result) {
  const TensorMetadata* input = call.tensor(0);
  Dimensions normalized;
  if (!input || !isFloating(input->dtype) || !call.integers(1, normalized)) return false;
  if (normalized.empty() || normalized.size() > input->sizes.size()) return false;
  if (!std::equal(normalized.begin(), normalized.end(), input->sizes.end() - normalized.size())) {
    return false;
  }
  for (size_t parameter : {2, 3}) {
    if (!call.has(parameter)) continue;
    const TensorMetadata* scale = call.tensor(parameter);
    if (!scale || scale->sizes != normalized || scale->dtype != input->dtype) return false;
  }
  return give(call, result, newTensor(*input, input->sizes, input->dtype));
}

// Parameters: input, p, training.
bool giveDropout(const Call& call, ResultStructure& result, std::optional<bool> training) {
  const TensorMetadata* input = call.tensor(0);
  std::optional<Scalar> p = call.isGiven(1) ? call.scalar(1) : Scalar{.dtype = Float64, .real = .5};
  if (!input || !p || !training || p->real < 0 || p->real > 1 || p->dtype == Complex128) {
    return false;
  }
  if (!*training || p->real == 0 || input->numel() == 0) return giveItself(result, *input);
  if (!isFloating(input->dtype)) return false;
  Elementwise operands;
  operands.add(*input);
  MetadataPointer metadata = operands.make(input->dtype, input->dtype);
  return metadata && give(call, result, std::move(metadata));
}

bool dropout(const Call& call, ResultStructure& result) {
  return call.isGiven(2) && giveDropout(call, result, call.boolean(2, true));
}

bool functionalDropout(const Call& call, ResultStructure& result) {
  return call.boolean(3, false) == false && giveDropout(call, result, call.boolean(2, true));
}

bool embedding(const Call& call, ResultStructure& result) {
  const TensorMetadata *indices = call.tensor(0), *weight = call.tensor(1);
  if (!indices || !weight || weight->dimension() != 2 || call.has(3)) return false;
  if (indices->dtype != Int64 && indices->dtype != Int32) return false;
  if (call.has(2)) {
    std::optional<int64_t> padding = call.integer(2);
    Dimension rows = weight->sizes[0];
    if (!padding || *padding < -rows || *padding >= rows) return false;
  }
  result.mayFailOnData = true;  // an index out of range
  Dimensions sizes = indices->sizes;
  sizes.push_back(weight->sizes[1]);
  return give(call, result, newTensor(*weight, std::move(sizes), weight->dtype));
}

bool isVector(const Call& call, size_t parameter, Dimension size) {
  if (!call.has(parameter)) return true;
  const TensorMetadata* vector = call.tensor(parameter);
  return vector && vector->sizes == Dimensions{size} && isFloating(vector->dtype);
}

// Parameters: input, running_mean, running_var, weight, bias, training, momentum, eps.
bool batchNorm(const Call& call, ResultStructure& result) {
  const TensorMetadata* input = call.tensor(0);
  std::optional<bool> training = call.boolean(5, false);
  if (!input || !isFloating(input->dtype) || input->dimension() < 2 || !training) return false;
  Dimension channels = input->sizes[1];
  for (size_t parameter : {1, 2, 3, 4}) {
    if (!isVector(call, parameter, channels)) return false;
    if (call.has(parameter) && call.tensor(parameter)->dtype != input->dtype) return false;
  }
  // Statistics are given, or taken of more than one value.
  if (!*training && (!call.has(1) || !call.has(2))) return false;
  if (*training && (input->numel() <= channels || call.has(1) != call.has(2))) return false;
  if (input->numel() == 0) return false;
  MetadataPointer metadata = newTensor(*input, input->sizes, input->dtype);
  if (looksLikeChannelsLast(*input)) setChannelsLastStrides(*metadata);
  return give(call, result, std::move(metadata));
}

// One number for all dimensions, or one for each.
bool readForEach(const Call& call, size_t parameter, Dimension standard, size_t count,
                 Dimensions& values) {
  if (!call.isGiven(parameter)) {
    values.assign(count, standard);
    return true;
  }
  if (!call.integers(parameter, values)) return false;
  if (values.size() == 1) values.resize(count, values[0]);
  return values.size() == count;
}

// conv1d, conv2d, conv3d: input, weight, bias, stride, padding, dilation, groups.
template <int64_t dimensions>
bool convolution(const Call& call, ResultStructure& result) {
  const TensorMetadata *input = call.tensor(0), *weight = call.tensor(1);
  if (!input || !weight || !isFloating(input->dtype) || input->dtype != weight->dtype) return false;
  bool fits = input->dimension() == dimensions + 2 && weight->dimension() == dimensions + 2;
  std::optional<int64_t> groups = call.isGiven(6) ? call.integer(6) : 1;
  if (!fits || !groups || *groups <= 0 || input->numel() == 0 || weight->numel() == 0) return false;
  if (input->sizes[1] != weight->sizes[1] * *groups || weight->sizes[0] % *groups != 0)
    return false;
  if (!isVector(call, 2, weight->sizes[0])) return false;
  if (call.has(2) && call.tensor(2)->dtype != input->dtype) return false;
  Dimensions stride, padding, dilation;
  if (!readForEach(call, 3, 1, dimensions, stride) ||
      !readForEach(call, 4, 0, dimensions, padding) ||
      !readForEach(call, 5, 1, dimensions, dilation)) {
    return false;
  }
  Dimensions sizes = {input->sizes[0], weight->sizes[0]};
  for (size_t i = 0; i < dimensions; ++i) {
    Dimension reach = dilation[i] * (weight->sizes[i + 2] - 1) + 1;
    Dimension room = input->sizes[i + 2] + 2 * padding[i] - reach;
    if (stride[i] <= 0 || padding[i] < 0 || dilation[i] <= 0 || room < 0) return false;
    sizes.push_back(room / stride[i] + 1);
  }
  MetadataPointer metadata = newTensor(*input, std::move(sizes), input->dtype);
  // A sequence is an image of one row: what torch makes of its layout is not told by its strides.
  bool isPlain = input->isContiguous() && weight->isContiguous();
  if (dimensions != 2 && !isPlain) return false;
  if (looksLikeChannelsLast(*input) || looksLikeChannelsLast(*weight)) {
    setChannelsLastStrides(*metadata);
  }
  return give(call, result, std::move(metadata));
}

bool isFlashAttentionEnabled() {
  Ref<> bindings = Ref<>::steal(PyObject_GetAttrString(TorchModule::get()->torch.get(), "_C"));
  Ref<> enabled = Ref<>::steal(
      bindings ? PyObject_CallMethod(bindings.get(), "_get_flash_sdp_enabled", nullptr) : nullptr);
  clearException();
  return enabled && enabled.get() == Py_True;
}

// Parameters: query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa.
bool attention(const Call& call, ResultStructure& result) {
  const TensorMetadata *query = call.tensor(0), *key = call.tensor(1), *value = call.tensor(2);
  if (!query || !key || !value || query->device != Device()) return false;
  for (const TensorMetadata* input : {query, key, value}) {
    if (input->dimension() != 4 || input->numel() == 0 || input->dtype != query->dtype ||
        !isFloating(input->dtype) || input->strides[3] != 1) {
      return false;
    }
  }
  Dimensions sizes = query->sizes;
  bool sameHeads = std::equal(sizes.begin(), sizes.begin() + 2, key->sizes.begin()) &&
                   key->sizes == value->sizes && sizes[3] == key->sizes[3];
  std::optional<Scalar> dropout = call.isGiven(4) ? call.scalar(4) : Scalar{};
  std::optional<bool> causal = call.boolean(5, false), grouped = call.boolean(7, false);
  if (!sameHeads || call.has(3) || !dropout || dropout->real != 0 || !causal || grouped != false) {
    return false;
  }
  if (call.has(6) && !call.scalar(6)) return false;
  // What is computed in one go keeps the layout of the query.
  if (!query->isContiguous() && !isFlashAttentionEnabled()) return false;
  MetadataPointer metadata = newTensor(*query, sizes, query->dtype);
  metadata->strides = preservedStrides(*query);
  return give(call, result, std::move(metadata));
}

const Row kRows[] = {
    {"batch_norm", InFunctional, "input running_mean running_var weight bias training momentum eps",
     batchNorm},
    {"conv1d", InTorch, "input weight bias stride padding dilation groups", convolution<1>},
    {"conv2d", InTorch, "input weight bias stride padding dilation groups", convolution<2>},
    {"conv3d", InTorch, "input weight bias stride padding dilation groups", convolution<3>},
    {"scaled_dot_product_attention", InBindings,
     "query key value attn_mask dropout_p is_causal ; scale enable_gqa", attention},
    {"softmax log_softmax", InTorch | AsMethod, "self|input dim|axis dtype", softmax},
    {"softmax log_softmax", InFunctional, "input dim _stacklevel dtype", functionalSoftmax},
    {"layer_norm", InTorch | InFunctional, "input normalized_shape weight bias eps", layerNorm},
    {"dropout", InTorch, "input p train", dropout},
    {"dropout", InFunctional, "input p training inplace", functionalDropout},
    {"embedding", InFunctional,
     "input weight padding_idx max_norm norm_type scale_grad_by_freq "
     "sparse",
     embedding},
};

}  // namespace

llvm::ArrayRef<Row> neuralRows() { return kRows; }

}  // namespace armature
