#include "libraries/numpy/function_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace armature {

namespace {

using enum NumPyEffect;
using enum NumPySizes;
using enum NumPyData;

constexpr uint8_t kAll = 0xff;

constexpr FunctionRule unsupported(const char* reason) { return {.reason = reason}; }

constexpr FunctionRule kShapeFromData =
    unsupported("the shape of its result depends on the data of an array");
constexpr FunctionRule kTypeFromData =
    unsupported("the type of its result depends on the data of an array");
constexpr FunctionRule kAnswerFromData =
    unsupported("it makes a Python object of an array's data, which is not known while tracing");
constexpr FunctionRule kLayout =
    unsupported("what it returns depends on the memory layout of the array");
constexpr FunctionRule kInputOutput = unsupported("it reads or writes files or text");
constexpr FunctionRule kGlobalState = unsupported("it reads or sets state that outlives the call");
constexpr FunctionRule kCallsBack = unsupported("it calls functions of the program");
constexpr FunctionRule kForeignMemory = unsupported("it makes an array of memory that is shared");

constexpr FunctionFamily kFamilies[] = {
    // --- Operators.
    {"_operator",
     "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift lt le eq ne gt ge",
     {.arrays = 0b11}},
    {"_operator", "neg pos invert abs", {}},
    {"_operator",
     "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift",
     {.arrays = 0b11, .effect = MutatesAndReturns}},
    {"_operator", "getitem", {.arrays = 0b11, .sizes = Computed}},
    {"_operator", "setitem", {.arrays = 0b111, .effect = Mutates}},
    {"builtins", "getattr", {.effect = None, .sizes = Computed}},

    // --- Universal functions beyond their plain call, which needs no names.
    {"numpy.ufunc", "reduce accumulate", {.arrays = 0b10}},
    {"numpy.ufunc", "outer", {.arrays = 0b110}},
    {"numpy.ufunc", "reduceat", {.arrays = 0b110}},
    {"numpy.ufunc", "at", {.arrays = 0b1110, .effect = Mutates}},

    // --- Making arrays.
    {"numpy",
     "zeros empty ones arange eye identity tri indices diag_indices tril_indices triu_indices "
     "bartlett blackman hamming hanning kaiser geomspace",
     {.arrays = 0, .effect = None, .sizes = Computed}},
    {"numpy.fft", "fftfreq rfftfreq", {.arrays = 0, .effect = None, .sizes = Computed}},
    {"numpy", "array asarray asanyarray", {.sizes = Computed, .most = 2, .refused = "order"}},
    {"numpy", "full", {.arrays = 0b10, .sizes = Computed}},
    {"numpy", "linspace logspace", {.arrays = 0b11, .sizes = Computed}},
    {"numpy",
     "zeros_like ones_like empty_like copy tril triu",
     {.effect = None, .sizes = Computed}},
    {"numpy", "full_like", {.arrays = 0b11, .sizes = Computed}},
    {"numpy",
     "diag_indices_from tril_indices_from triu_indices_from",
     {.effect = None, .sizes = Computed}},
    {"numpy", "ravel_multi_index unravel_index", {.sizes = Computed}},

    // --- Rearranging arrays.
    {"numpy",
     "broadcast_to diag diagflat diagonal expand_dims flip fliplr flipud matrix_transpose moveaxis "
     "permute_dims ravel real imag repeat reshape resize roll rollaxis rot90 swapaxes tile "
     "transpose array_split split hsplit vsplit dsplit",
     {.effect = None, .sizes = Computed}},
    {"numpy", "squeeze unstack", {.effect = None, .sizes = Decide}},
    {"numpy",
     "atleast_1d atleast_2d atleast_3d",
     {.arrays = kAll, .effect = None, .sizes = Decide}},
    {"numpy", "broadcast_arrays", {.arrays = kAll, .effect = None, .sizes = Decide}},
    {"numpy", "meshgrid", {.arrays = kAll, .effect = None, .sizes = Computed}},
    {"numpy",
     "block concat concatenate stack vstack hstack dstack column_stack",
     {.sizes = Computed}},
    {"numpy", "append", {.arrays = 0b11, .sizes = Computed}},
    {"numpy", "insert", {.arrays = 0b101, .sizes = Computed}},
    {"numpy", "delete pad", {.sizes = Computed}},
    {"numpy.fft", "fftshift ifftshift", {.effect = None, .sizes = Computed}},

    // --- Computing.
    {"numpy",
     "all any amax amin max min argmax argmin nanargmax nanargmin angle around round count_nonzero "
     "cumsum cumprod nancumsum nancumprod fix i0 iscomplex isreal isneginf isposinf mean std var "
     "sum prod ptp nansum nanprod nanmean nanstd nanvar nanmin nanmax sinc sort sort_complex "
     "argsort partition argpartition unwrap trace lexsort",
     {}},
    {"numpy", "median nanmedian", {.most = 3, .refused = "overwrite_input"}},
    {"numpy",
     "percentile quantile nanpercentile nanquantile",
     {.arrays = 0b11, .most = 3, .refused = "overwrite_input"}},
    {"numpy", "nan_to_num", {.most = 1, .refused = "copy"}},
    {"numpy", "average", {.arrays = 0b101, .data = Ones}},
    {"numpy", "clip", {.arrays = 0b111}},
    {"numpy", "where interp select", {.arrays = 0b11111, .fewest = 3}},
    {"numpy",
     "inner outer dot vdot tensordot isclose isin digitize take take_along_axis choose polyval "
     "trapezoid",
     {.arrays = 0b11}},
    {"numpy", "searchsorted", {.arrays = 0b1011}},
    {"numpy", "einsum", {.arrays = kAll}},
    {"numpy",
     "diff ediff1d cumulative_sum cumulative_prod vander astype",
     {.sizes = Computed, .refused = "order"}},
    {"numpy", "gradient", {.arrays = kAll, .sizes = Computed}},
    {"numpy", "convolve correlate kron", {.arrays = 0b11, .sizes = Computed}},
    {"numpy", "cross cov corrcoef", {.arrays = 0b11, .sizes = Decide}},
    {"numpy.fft",
     "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn",
     // Some of them return another array than `out`.
     {.sizes = Computed, .refused = "out"}},
    {"numpy.linalg",
     "cholesky cond det eigh eigvalsh inv matrix_norm matrix_power matrix_rank matrix_transpose "
     "multi_dot norm pinv qr slogdet svd svdvals trace vector_norm",
     {.data = Identity}},
    {"numpy.linalg", "matmul outer solve tensordot vecdot", {.arrays = 0b11, .data = Identity}},
    {"numpy.linalg", "diagonal", {.effect = None, .sizes = Computed}},
    {"numpy.linalg", "cross", {.arrays = 0b11, .sizes = Decide}},

    // --- Changing an argument.
    {"numpy", "copyto fill_diagonal", {.arrays = 0b11, .effect = Mutates}},
    {"numpy", "put place putmask put_along_axis", {.arrays = 0b111, .effect = Mutates}},

    // --- Telling of types and shapes.
    {"numpy", "shape size", {.effect = Tells, .sizes = Decide}},
    {"numpy",
     "ndim iscomplexobj isrealobj isscalar result_type can_cast promote_types issubdtype isdtype "
     "common_type dtype iterable",
     {.arrays = kAll, .effect = Tells}},
    {"numpy", "broadcast_shapes", {.arrays = 0, .effect = Tells}},

    // --- Methods, of arrays and of scalars.
    {"numpy.ndarray",
     "all any argmax argmin argsort argpartition cumprod cumsum max mean min prod round std sum "
     "var "
     "trace conj conjugate",
     {}},
    {"numpy.ndarray", "clip", {.arrays = 0b111}},
    {"numpy.ndarray", "dot choose take", {.arrays = 0b11}},
    {"numpy.ndarray", "searchsorted", {.arrays = 0b1011}},
    {"numpy.ndarray", "astype", {.sizes = Computed, .most = 2, .refused = "order"}},
    {"numpy.ndarray",
     "copy diagonal flatten ravel repeat reshape swapaxes transpose",
     {.effect = None, .sizes = Computed}},
    {"numpy.ndarray", "squeeze", {.effect = None, .sizes = Decide}},
    {"numpy.ndarray", "sort partition", {.effect = Mutates}},
    {"numpy.ndarray", "fill", {.arrays = 0b11, .effect = Mutates}},
    {"numpy.ndarray", "put", {.arrays = 0b111, .effect = Mutates}},
    {"numpy.ndarray", "nonzero compress", kShapeFromData},
    {"numpy.ndarray",
     "item tolist is_integer as_integer_ratio hex bit_count __int__ __float__ __bool__ __index__ "
     "__complex__ __hash__ __str__ __repr__ __format__ __contains__",
     kAnswerFromData},
    {"numpy.ndarray", "tobytes tofile dump dumps", kInputOutput},
    {"numpy.ndarray", "view getfield setfield byteswap", kLayout},
    {"numpy.ndarray", "resize setflags", unsupported("it changes the array's own structure")},

    // --- Not traced, and why.
    {"numpy",
     "nonzero flatnonzero argwhere unique unique_all unique_counts unique_inverse unique_values "
     "compress extract trim_zeros bincount union1d intersect1d setdiff1d setxor1d histogram "
     "histogram2d histogramdd histogram_bin_edges ix_ poly roots polyadd polysub polymul polydiv",
     kShapeFromData},
    {"numpy.linalg", "lstsq", kShapeFromData},
    {"numpy.linalg", "eig eigvals", kTypeFromData},
    {"numpy", "real_if_close min_scalar_type", kTypeFromData},
    {"numpy", "allclose array_equal array_equiv asarray_chkfinite", kAnswerFromData},
    {"numpy",
     "ascontiguousarray asfortranarray require isfortran may_share_memory shares_memory ndarray",
     kLayout},
    {"numpy",
     "save savez savez_compressed savetxt load loadtxt genfromtxt fromregex fromfile fromstring "
     "array2string array_repr array_str base_repr binary_repr format_float_positional "
     "format_float_scientific info memmap",
     kInputOutput},
    {"numpy",
     "seterr geterr seterrcall geterrcall setbufsize getbufsize set_printoptions get_printoptions "
     "printoptions errstate show_config show_runtime",
     kGlobalState},
    {"numpy",
     "apply_along_axis apply_over_axes piecewise vectorize frompyfunc fromfunction fromiter "
     "mask_indices",
     kCallsBack},
    {"numpy", "frombuffer from_dlpack", kForeignMemory},
};

constexpr auto kArrayKeywords = std::to_array<std::string_view>({"a",
                                                                 "a_max",
                                                                 "a_min",
                                                                 "append",
                                                                 "ary",
                                                                 "arr",
                                                                 "arrays",
                                                                 "b",
                                                                 "bins",
                                                                 "choices",
                                                                 "condition",
                                                                 "condlist",
                                                                 "choicelist",
                                                                 "default",
                                                                 "dst",
                                                                 "element",
                                                                 "fill_value",
                                                                 "fp",
                                                                 "initial",
                                                                 "left",
                                                                 "m",
                                                                 "max",
                                                                 "min",
                                                                 "object",
                                                                 "operands",
                                                                 "p",
                                                                 "prepend",
                                                                 "q",
                                                                 "right",
                                                                 "src",
                                                                 "test_elements",
                                                                 "v",
                                                                 "val",
                                                                 "values",
                                                                 "vals",
                                                                 "weights",
                                                                 "where",
                                                                 "x",
                                                                 "x1",
                                                                 "x2",
                                                                 "xp",
                                                                 "y"});

}  // namespace

FunctionFamilies functionFamilies() { return {std::begin(kFamilies), std::end(kFamilies)}; }

bool keywordMayHoldArrays(const char* keyword) {
  return std::ranges::find(kArrayKeywords, keyword) != kArrayKeywords.end();
}

}  // namespace armature
