#include "libraries/torch/operator_names.h"

#include <algorithm>
#include <array>

#include <llvm/ADT/StringSet.h>

namespace armature {

namespace {

template <size_t Count>
bool contains(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::ranges::binary_search(names, name);
}

constexpr std::array<std::string_view, 55> kRandom = {"_fused_dropout",
                                                      "_sample_dirichlet",
                                                      "_scaled_dot_product_attention_math",
                                                      "_standard_gamma",
                                                      "alpha_dropout",
                                                      "alpha_dropout_",
                                                      "bernoulli",
                                                      "bernoulli_",
                                                      "binomial",
                                                      "cauchy_",
                                                      "dropout",
                                                      "dropout1d",
                                                      "dropout2d",
                                                      "dropout3d",
                                                      "dropout_",
                                                      "exponential_",
                                                      "feature_alpha_dropout",
                                                      "feature_alpha_dropout_",
                                                      "feature_dropout",
                                                      "feature_dropout_",
                                                      "fractional_max_pool2d",
                                                      "fractional_max_pool2d_with_indices",
                                                      "fractional_max_pool3d",
                                                      "fractional_max_pool3d_with_indices",
                                                      "geometric_",
                                                      "gru",
                                                      "gru_cell",
                                                      "gumbel_softmax",
                                                      "log_normal_",
                                                      "lstm",
                                                      "lstm_cell",
                                                      "multi_head_attention_forward",
                                                      "multinomial",
                                                      "native_dropout",
                                                      "normal",
                                                      "normal_",
                                                      "pca_lowrank",
                                                      "poisson",
                                                      "rand",
                                                      "rand_like",
                                                      "randint",
                                                      "randint_like",
                                                      "randn",
                                                      "randn_like",
                                                      "random_",
                                                      "randperm",
                                                      "rnn_relu",
                                                      "rnn_tanh",
                                                      "rrelu",
                                                      "rrelu_",
                                                      "rrelu_with_noise",
                                                      "rrelu_with_noise_",
                                                      "scaled_dot_product_attention",
                                                      "svd_lowrank",
                                                      "uniform_"};
static_assert(std::ranges::is_sorted(kRandom));

// Batch normalization updates its running statistics, an embedding may renormalize its weight.
constexpr std::array<std::string_view, 14> kOtherEffects = {"__setitem__",
                                                            "_assert_tensor_metadata",
                                                            "_batch_norm_impl_index",
                                                            "batch_norm",
                                                            "cudnn_batch_norm",
                                                            "embedding",
                                                            "embedding_bag",
                                                            "embedding_renorm_",
                                                            "instance_norm",
                                                            "native_batch_norm",
                                                            "record_stream",
                                                            "retain_grad",
                                                            "sym_constrain_range",
                                                            "sym_constrain_range_for_size"};
static_assert(std::ranges::is_sorted(kOtherEffects));

constexpr std::array<std::string_view, 156> kOneArray = {"__abs__",
                                                         "__add__",
                                                         "__and__",
                                                         "__div__",
                                                         "__eq__",
                                                         "__floordiv__",
                                                         "__ge__",
                                                         "__getitem__",
                                                         "__gt__",
                                                         "__iadd__",
                                                         "__iand__",
                                                         "__idiv__",
                                                         "__ifloordiv__",
                                                         "__ilshift__",
                                                         "__imod__",
                                                         "__imul__",
                                                         "__invert__",
                                                         "__ior__",
                                                         "__ipow__",
                                                         "__irshift__",
                                                         "__isub__",
                                                         "__itruediv__",
                                                         "__ixor__",
                                                         "__le__",
                                                         "__lshift__",
                                                         "__lt__",
                                                         "__matmul__",
                                                         "__mod__",
                                                         "__mul__",
                                                         "__ne__",
                                                         "__neg__",
                                                         "__or__",
                                                         "__pos__",
                                                         "__pow__",
                                                         "__radd__",
                                                         "__rand__",
                                                         "__rdiv__",
                                                         "__rfloordiv__",
                                                         "__rlshift__",
                                                         "__rmatmul__",
                                                         "__rmod__",
                                                         "__rmul__",
                                                         "__ror__",
                                                         "__rpow__",
                                                         "__rrshift__",
                                                         "__rshift__",
                                                         "__rsub__",
                                                         "__rtruediv__",
                                                         "__rxor__",
                                                         "__sub__",
                                                         "__truediv__",
                                                         "__xor__",
                                                         "adaptive_avg_pool2d",
                                                         "adaptive_avg_pool3d",
                                                         "affine_grid",
                                                         "alpha_dropout",
                                                         "as_tensor",
                                                         "asarray",
                                                         "batch_norm",
                                                         "bfloat16",
                                                         "binary_cross_entropy",
                                                         "binary_cross_entropy_with_logits",
                                                         "block_diag",
                                                         "bool",
                                                         "byte",
                                                         "cartesian_prod",
                                                         "cdist",
                                                         "cdouble",
                                                         "celu",
                                                         "cfloat",
                                                         "chain_matmul",
                                                         "char",
                                                         "conv_tbc",
                                                         "cosine_embedding_loss",
                                                         "cpu",
                                                         "cross_entropy",
                                                         "ctc_loss",
                                                         "cuda",
                                                         "double",
                                                         "dropout",
                                                         "dropout1d",
                                                         "dropout2d",
                                                         "dropout3d",
                                                         "einsum",
                                                         "elu",
                                                         "embedding",
                                                         "eq",
                                                         "feature_alpha_dropout",
                                                         "float",
                                                         "fold",
                                                         "gaussian_nll_loss",
                                                         "glu",
                                                         "grid_sample",
                                                         "group_norm",
                                                         "gumbel_softmax",
                                                         "half",
                                                         "hardsigmoid",
                                                         "hardswish",
                                                         "hardtanh",
                                                         "hinge_embedding_loss",
                                                         "huber_loss",
                                                         "instance_norm",
                                                         "int",
                                                         "interpolate",
                                                         "istft",
                                                         "kl_div",
                                                         "l1_loss",
                                                         "layer_norm",
                                                         "leaky_relu",
                                                         "local_response_norm",
                                                         "log_softmax",
                                                         "logsigmoid",
                                                         "long",
                                                         "lp_pool1d",
                                                         "lp_pool2d",
                                                         "margin_ranking_loss",
                                                         "max_unpool1d",
                                                         "max_unpool2d",
                                                         "max_unpool3d",
                                                         "mish",
                                                         "mse_loss",
                                                         "multi_margin_loss",
                                                         "multilabel_margin_loss",
                                                         "multilabel_soft_margin_loss",
                                                         "ne",
                                                         "new",
                                                         "new_tensor",
                                                         "nll_loss",
                                                         "norm",
                                                         "normalize",
                                                         "pairwise_distance",
                                                         "poisson_nll_loss",
                                                         "relu",
                                                         "relu6",
                                                         "rrelu",
                                                         "selu",
                                                         "short",
                                                         "sigmoid",
                                                         "silu",
                                                         "smooth_l1_loss",
                                                         "soft_margin_loss",
                                                         "softmax",
                                                         "softmin",
                                                         "softsign",
                                                         "stft",
                                                         "tanh",
                                                         "tanhshrink",
                                                         "tensor",
                                                         "tensordot",
                                                         "to",
                                                         "triplet_margin_loss",
                                                         "unflatten",
                                                         "unfold",
                                                         "upsample",
                                                         "upsample_bilinear",
                                                         "upsample_nearest"};
static_assert(std::ranges::is_sorted(kOneArray));

constexpr std::array<std::string_view, 22> kMetadataMethods = {"__len__",
                                                               "dense_dim",
                                                               "dim",
                                                               "element_size",
                                                               "get_device",
                                                               "has_names",
                                                               "is_complex",
                                                               "is_conj",
                                                               "is_contiguous",
                                                               "is_distributed",
                                                               "is_floating_point",
                                                               "is_inference",
                                                               "is_neg",
                                                               "is_same_size",
                                                               "is_signed",
                                                               "ndimension",
                                                               "nelement",
                                                               "numel",
                                                               "size",
                                                               "storage_offset",
                                                               "stride",
                                                               "type"};
static_assert(std::ranges::is_sorted(kMetadataMethods));

constexpr std::array<std::string_view, 31> kTakesAnyNumber = {
    "__add__",     "__mul__",      "__radd__", "__rmul__", "__rsub__", "__rtruediv__", "__sub__",
    "__truediv__", "add",          "add_",     "eq",       "ge",       "gt",           "iadd",
    "imul",        "isub",         "itruediv", "le",       "lt",       "mul",          "mul_",
    "multiply",    "ne",           "rsub",     "rtruediv", "sub",      "sub_",         "subtract",
    "true_divide", "true_divide_", "truediv"};
static_assert(std::ranges::is_sorted(kTakesAnyNumber));

// In place, and what other arrays see of the same memory stays as it is.
constexpr std::array<std::string_view, 8> kChangesLayoutOnly = {
    "detach_", "requires_grad_", "squeeze_",  "swapaxes_", "swapdims_",
    "t_",      "transpose_",     "unsqueeze_"};
static_assert(std::ranges::is_sorted(kChangesLayoutOnly));

constexpr std::array<std::string_view, 35> kMayReturnArgument = {
    "__pos__",     "alpha_dropout",
    "atleast_1d",  "atleast_2d",
    "atleast_3d",  "bfloat16",
    "bool",        "byte",
    "cdouble",     "cfloat",
    "chalf",       "char",
    "conj",        "contiguous",
    "cpu",         "cuda",
    "double",      "dropout",
    "dropout1d",   "dropout2d",
    "dropout3d",   "feature_alpha_dropout",
    "float",       "half",
    "int",         "long",
    "pos",         "positive",
    "real",        "resolve_conj",
    "resolve_neg", "short",
    "to",          "type",
    "type_as"};
static_assert(std::ranges::is_sorted(kMayReturnArgument));

constexpr const char* kReadsData = "its result depends on the data of a tensor";
constexpr const char* kShapeFromData = "the shape of its result depends on the data of a tensor";
constexpr const char* kSharesMemory = "it shares memory with an object that the graph does not see";
constexpr const char* kChangesLayout = "it changes the shape or the storage of an existing tensor";
constexpr const char* kAutograd = "it acts on the autograd graph";
constexpr const char* kStorage = "it looks at or changes the memory of a tensor";
constexpr const char* kSparse =
    "the graph cannot describe tensors that are not strided; convert them by to_dense()";
constexpr const char* kPython = "it calls a Python function for each element";
constexpr const char* kPickle = "it copies or serializes a tensor object";
constexpr const char* kNames =
    "the graph cannot describe named tensors; drop the names by rename(None)";
constexpr const char* kShares = "it shares memory between processes";
constexpr const char* kVersion = "it looks at the state of autograd";
constexpr const char* kDevice = "it synchronizes with a device";
constexpr const char* kSubclass = "the graph cannot describe tensor subclasses; use plain tensors";

struct Reason {
  std::string_view name;
  const char* reason;
};

constexpr std::array<Reason, 42> kAgainstOperations = {{
    {"_from_blob", kSharesMemory},
    {"_functional_sym_constrain_range", kAutograd},
    {"_fw_primal", kAutograd},
    {"_local_scalar_dense", kReadsData},
    {"_make_dual", kAutograd},
    {"_nested_tensor_from_mask", kSparse},
    {"_resize_output_", kChangesLayout},
    {"_sparse_compressed_tensor_unsafe", kSparse},
    {"_sparse_coo_tensor_unsafe", kSparse},
    {"_to_sparse", kSparse},
    {"_unique", kShapeFromData},
    {"_unique2", kShapeFromData},
    {"_unpack_dual", kAutograd},
    {"allclose", kReadsData},
    {"argwhere", kShapeFromData},
    {"as_strided_", kChangesLayout},
    {"bincount", kShapeFromData},
    {"equal", kReadsData},
    {"from_dlpack", kSharesMemory},
    {"from_file", kSharesMemory},
    {"frombuffer", kSharesMemory},
    {"hspmm", kSparse},
    {"is_nonzero", kReadsData},
    {"item", kReadsData},
    {"masked_select", kShapeFromData},
    {"nested_tensor", kSparse},
    {"nonzero", kShapeFromData},
    {"nonzero_numpy", kShapeFromData},
    {"nonzero_static_", kShapeFromData},
    {"resize_as_", kChangesLayout},
    {"resize_as_sparse_", kChangesLayout},
    {"set_data", kChangesLayout},
    {"sparse_bsc_tensor", kSparse},
    {"sparse_bsr_tensor", kSparse},
    {"sparse_compressed_tensor", kSparse},
    {"sparse_coo_tensor", kSparse},
    {"sparse_csc_tensor", kSparse},
    {"sparse_csr_tensor", kSparse},
    {"to_dlpack", kSharesMemory},
    {"unique", kShapeFromData},
    {"unique_consecutive", kShapeFromData},
    {"unique_dim", kShapeFromData},
}};
static_assert(std::ranges::is_sorted(kAgainstOperations, {}, &Reason::name));

constexpr std::array<Reason, 77> kAgainstMethods = {{
    {"__array_wrap__", kSharesMemory},
    {"__bool__", kReadsData},
    {"__complex__", kReadsData},
    {"__contains__", kReadsData},
    {"__deepcopy__", kPickle},
    {"__dlpack__", kSharesMemory},
    {"__dlpack_device__", kSharesMemory},
    {"__float__", kReadsData},
    {"__format__", kPickle},
    {"__getstate__", kPickle},
    {"__hash__", kPickle},
    {"__index__", kReadsData},
    {"__int__", kReadsData},
    {"__long__", kReadsData},
    {"__nonzero__", kReadsData},
    {"__reduce__", kPickle},
    {"__reduce_ex__", kPickle},
    {"__repr__", kPickle},
    {"__setstate__", kPickle},
    {"__sizeof__", kPickle},
    {"__str__", kPickle},
    {"__torch_dispatch__", kSubclass},
    {"__torch_function__", kSubclass},
    {"_make_subclass", kSubclass},
    {"_make_wrapper_subclass", kSubclass},
    {"_typed_storage", kStorage},
    {"align_as", kNames},
    {"align_to", kNames},
    {"apply_", kPython},
    {"as_subclass", kSubclass},
    {"backward", kAutograd},
    {"ccol_indices", kSparse},
    {"coalesce", kSparse},
    {"coalesce_", kSparse},
    {"col_indices", kSparse},
    {"const_data_ptr", kStorage},
    {"crow_indices", kSparse},
    {"data_ptr", kStorage},
    {"indices", kSparse},
    {"is_coalesced", kSparse},
    {"is_pinned", kStorage},
    {"is_set_to", kStorage},
    {"is_shared", kStorage},
    {"map2_", kPython},
    {"map_", kPython},
    {"module_load", kSubclass},
    {"pin_memory", kStorage},
    {"record_stream", kDevice},
    {"refine_names", kNames},
    {"reinforce", kAutograd},
    {"rename", kNames},
    {"rename_", kChangesLayout},
    {"resize", kChangesLayout},
    {"resize_", kChangesLayout},
    {"resize_as", kChangesLayout},
    {"retain_grad", kAutograd},
    {"row_indices", kSparse},
    {"set_", kChangesLayout},
    {"share_memory_", kShares},
    {"sparse_dim", kSparse},
    {"sparse_mask", kSparse},
    {"sparse_resize_", kChangesLayout},
    {"sparse_resize_and_clear_", kChangesLayout},
    {"storage", kStorage},
    {"storage_type", kStorage},
    {"to_dense", kSparse},
    {"to_mkldnn", kSparse},
    {"to_padded_tensor", kSparse},
    {"to_sparse", kSparse},
    {"to_sparse_bsc", kSparse},
    {"to_sparse_bsr", kSparse},
    {"to_sparse_coo", kSparse},
    {"to_sparse_csc", kSparse},
    {"to_sparse_csr", kSparse},
    {"tolist", kReadsData},
    {"untyped_storage", kStorage},
    {"values", kSparse},
}};
static_assert(std::ranges::is_sorted(kAgainstMethods, {}, &Reason::name));

template <size_t Count>
const char* findReason(const std::array<Reason, Count>& table, std::string_view name) {
  auto found = std::ranges::lower_bound(table, name, {}, &Reason::name);
  return found != table.end() && found->name == name ? found->reason : nullptr;
}

}  // namespace

bool isInPlaceName(std::string_view name) {
  if (name.starts_with("__")) {
    return name.starts_with("__i") && name != "__invert__" && name != "__int__" &&
           name != "__index__" && name != "__iter__";
  }
  return name.ends_with('_');
}

bool drawsRandomNumbers(std::string_view name) { return contains(kRandom, name); }

bool changesMoreThanArrays(std::string_view name) {
  // Asked of every operation of every graph.
  static const auto* const names = [] {
    auto* all = new llvm::StringSet<>;
    for (std::string_view each : kRandom) all->insert(each);
    for (std::string_view each : kOtherEffects) all->insert(each);
    return all;
  }();
  return names->contains(name);
}

bool returnsOneArrayByName(std::string_view name) { return contains(kOneArray, name); }

const char* reasonAgainstOperation(std::string_view name) {
  return findReason(kAgainstOperations, name);
}

const char* reasonAgainstMethod(std::string_view name) {
  const char* reason = findReason(kAgainstMethods, name);
  return reason ? reason : reasonAgainstOperation(name);
}

bool isAnsweredByMetadata(std::string_view name) {
  return isMetadataMethod(name) || name == "broadcast_shapes" || name == "can_cast" ||
         name == "dim_order" || name == "promote_types" || name == "result_type" ||
         name == "sparse_dim";
}

bool isAnsweredByLayout(std::string_view name) {
  return name == "dim_order" || name == "is_contiguous" || name == "is_non_overlapping_and_dense" ||
         name == "storage_offset" || name == "stride";
}

bool mayReturnArgument(std::string_view name) { return contains(kMayReturnArgument, name); }

bool takesAnyNumberByName(std::string_view name) { return contains(kTakesAnyNumber, name); }

bool changesLayoutOnly(std::string_view name) { return contains(kChangesLayoutOnly, name); }

bool isMetadataMethod(std::string_view name) { return contains(kMetadataMethods, name); }

}  // namespace armature
