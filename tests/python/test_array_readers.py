"""What is read of tensors and arrays, in every way we have, against what they say of themselves."""

import gc

import numpy
import pytest
import torch
from armature import _C
from guards_reference import (
    DEVICE,
    DIMENSION,
    DTYPE,
    EVERYTHING,
    KEYS,
    REQUIRES_GRAD,
    SIZES,
    STRIDES,
    local,
    tensor_facts,
)
from hypothesis import given, settings
from hypothesis import strategies as st

DTYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
    torch.float64, torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.bfloat16,
    torch.float8_e5m2, torch.float8_e4m3fn, torch.uint16, torch.uint32, torch.uint64,
]  # fmt: skip
ACCESS = ["layout", "functions", "attributes"]


@pytest.fixture(params=ACCESS)
def access(request):
    assert _C.set_tensor_access(request.param) == request.param
    yield request.param
    _C.set_tensor_access("")


@st.composite
def tensors(draw):
    sizes = draw(st.lists(st.integers(0, 4), max_size=7))
    dtype = draw(st.sampled_from(DTYPES))
    device = draw(st.sampled_from(["cpu", "cpu", "meta"]))
    with torch.inference_mode(draw(st.integers(0, 9)) == 0):
        tensor = torch.empty(sizes, dtype=dtype, device=device)
        for change in draw(st.lists(st.sampled_from(CHANGES), max_size=3)):
            tensor = change(tensor, draw)
        if (tensor.is_floating_point() or tensor.is_complex()) and draw(st.booleans()):
            kind = draw(st.integers(0, 2))
            if kind == 0:
                tensor = torch.nn.Parameter(tensor)
            elif not tensor.is_inference():
                tensor = tensor.detach().requires_grad_()
                tensor = tensor.view(tensor.shape) if kind == 1 else tensor
    return tensor


def permute(tensor, draw):
    return tensor.permute(draw(st.permutations(range(tensor.dim()))))


def cut(tensor, draw):
    if not tensor.dim():
        return tensor
    dim = draw(st.integers(0, tensor.dim() - 1))
    begin = draw(st.integers(0, tensor.size(dim)))
    return tensor.narrow(dim, begin, tensor.size(dim) - begin)


def skip(tensor, draw):
    return tensor[..., ::2] if tensor.dim() else tensor


CHANGES = [
    permute,
    cut,
    skip,
    lambda tensor, draw: tensor.conj(),
    lambda tensor, draw: tensor.conj().imag if tensor.is_complex() else tensor,
    lambda tensor, draw: tensor.unsqueeze(0).expand(3, *tensor.shape),
    lambda tensor, draw: tensor.detach(),
    lambda tensor, draw: tensor.to_mkldnn().to_dense() if False else tensor.clone(),
]


def facts(tensor):
    return {
        "sizes": tuple(tensor.shape),
        "strides": tensor.stride(),
        "storage_offset": tensor.storage_offset(),
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "is_inference": tensor.is_inference(),
        "is_conj": tensor.is_conj(),
        "is_neg": tensor.is_neg(),
        "is_strided": True,
        "is_contiguous": tensor.is_contiguous(),
        "dispatch_keys": torch._C._dispatch_keys(tensor).raw_repr(),
        "device": ({"cpu": 0, "meta": 14}[tensor.device.type], -1),
    }


@settings(max_examples=300, deadline=None)
@given(tensors())
def test_reading(tensor):
    expected = facts(tensor)
    found = {}
    for access in ACCESS:
        assert _C.set_tensor_access(access) == access
        found[access] = _C.tensor_metadata(tensor)
        assert {key: found[access][key] for key in expected} == expected
    assert found["layout"] == found["functions"] == found["attributes"]
    _C.set_tensor_access("")


@settings(max_examples=300, deadline=None)
@given(tensors(), tensors(), st.integers(0, EVERYTHING))
def test_matching(example, other, observed):
    wanted, found = tensor_facts(example), tensor_facts(other)
    agrees = all(wanted[bit] == found[bit] for bit in wanted if bit != "type" and observed & bit)
    for access in ACCESS:
        _C.set_tensor_access(access)
        assert _C.tensor_matches(example, example, observed)
        # What a way compares beyond the dimension implies it.
        assert _C.tensor_matches(other, example, observed) == agrees
    _C.set_tensor_access("")


PAIRS = [
    (KEYS, torch.ones(2), torch.ones(2, device="meta")),
    (KEYS, torch.ones(2, dtype=torch.complex64), torch.ones(2, dtype=torch.complex64).conj()),
    (DTYPE, torch.ones(2), torch.ones(2, dtype=torch.int32)),
    (DEVICE, torch.ones(2), torch.ones(2, device="meta")),
    (DIMENSION, torch.ones(2), torch.ones(2, 1)),
    (SIZES, torch.ones(2, 3), torch.ones(2, 4)),
    (SIZES, torch.ones(1, 1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 1, 3)),
    (STRIDES, torch.ones(2, 3), torch.ones(3, 2).T),
    (STRIDES, torch.ones(1, 1, 1, 1, 2, 3), torch.ones(1, 1, 1, 1, 3, 2).mT),
    (REQUIRES_GRAD, torch.ones(2), torch.ones(2, requires_grad=True)),
]


@pytest.mark.parametrize("bit, example, other", PAIRS)
def test_each_observation_sees_its_difference(access, bit, example, other):
    for observed in (bit, EVERYTHING):
        assert _C.tensor_matches(example, example, observed)
        assert not _C.tensor_matches(other, example, observed)
        assert not _C.tensor_matches(example, other, observed)
    assert _C.tensor_matches(other, example, 0)


def test_results_of_operations_require_grad_through_their_function(access):
    leaf = torch.ones(2, requires_grad=True)
    result = leaf * 2
    assert _C.tensor_metadata(result)["requires_grad"]
    assert not _C.tensor_metadata(result)["is_leaf"]
    with torch.no_grad():  # the mode is guarded apart
        assert _C.tensor_metadata(leaf)["requires_grad"]
        assert not _C.tensor_metadata(leaf * 2)["requires_grad"]


class Subclass(torch.Tensor):
    pass


def wrapped_by_vmap():
    seen = []
    torch.vmap(lambda x: seen.append(x) or x)(torch.ones(2, 2))
    return seen[0]


UNMODELLED = [
    Subclass([1.0]),
    torch.ones(2, 2).to_sparse(),
    torch.ones(2, 2).to_sparse_csr(),
    torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    wrapped_by_vmap(),
    numpy.ones(2).astype(">f8"),
    numpy.ones(2, dtype=object),
    numpy.array("text"),
    numpy.float64(3),
    numpy.ma.array([1.0]),
    3,
    None,
]


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("value", UNMODELLED, ids=lambda value: type(value).__name__)
def test_what_is_not_modelled_is_refused_with_a_reason(access, value):
    with pytest.raises(ValueError, match=r"\w+ \w+"):
        _C.tensor_metadata(value)


def test_reading_runs_no_function_mode(access):
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func)
            return func(*args, **(kwargs or {}))

    calls = []
    tensor = torch.ones(2)
    with Mode():
        _C.tensor_metadata(tensor)
        assert _C.tensor_matches(tensor, tensor, EVERYTHING)
    assert not calls


def become(tensor, kind):
    tensor.__class__ = kind


def test_tensors_changed_in_place(access):
    tensor = torch.ones(2, 3)
    guards = _C.GuardManager([(local(0), "TENSOR_MATCH", tensor, EVERYTHING)], [], [tensor])
    assert guards.check(tensor) == ()
    changes = [
        (lambda: tensor.t_(), lambda: tensor.t_()),
        (lambda: tensor.requires_grad_(), lambda: tensor.requires_grad_(False)),
        (lambda: tensor.unsqueeze_(0), lambda: tensor.squeeze_(0)),
        (lambda: tensor.set_(torch.ones(3)), lambda: tensor.set_(torch.ones(2, 3))),
        (lambda: become(tensor, torch.nn.Parameter), lambda: become(tensor, torch.Tensor)),
    ]
    for change, back in changes:
        change()
        assert guards.check(tensor) is None
        assert not guards.check_verbose(tensor)[0]
        back()
        assert guards.check(tensor) == ()


# --- NumPy


@st.composite
def arrays(draw):
    sizes = draw(st.lists(st.integers(0, 4), max_size=4))
    dtype = draw(st.sampled_from("?bBhHiIlLqQefdgFDG"))
    array = numpy.empty(sizes, dtype)
    for _ in range(draw(st.integers(0, 2))):
        if array.ndim:
            array = array.transpose(draw(st.permutations(range(array.ndim))))
            array = array[:: draw(st.sampled_from([1, 2, -1]))]
    return array


@settings(max_examples=300, deadline=None)
@given(arrays(), arrays())
def test_arrays(array, other):
    found = _C.tensor_metadata(array)
    elements = tuple(stride // array.itemsize for stride in array.strides)
    assert found["sizes"] == array.shape
    assert found["strides"] == elements
    assert found["dtype"] == array.dtype.num
    assert found["device"] == (0, -1)
    assert _C.tensor_matches(array, array, EVERYTHING)
    same = {
        DTYPE: array.dtype.num == other.dtype.num,
        SIZES: array.shape == other.shape,
        DIMENSION: array.ndim == other.ndim,
    }
    for bit, expected in same.items():
        assert _C.tensor_matches(other, array, bit) == expected
    swapped = array.astype(array.dtype.newbyteorder())
    if array.itemsize > 1:
        assert not _C.tensor_matches(swapped, array, 0)


def test_examples_are_not_kept():
    gc.collect()
    before = len([each for each in gc.get_objects() if type(each) is torch.Tensor])
    for _ in range(10):
        _C.tensor_metadata(torch.ones(2))
    gc.collect()
    assert len([each for each in gc.get_objects() if type(each) is torch.Tensor]) <= before
