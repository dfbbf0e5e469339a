"""How results lie in memory, which meta tensors do not always say as the CPU does."""

import armature
import pytest
import torch
from torch.nn import functional


def contiguous(*sizes):
    return torch.arange(1.0, 1 + torch.Size(sizes).numel()).reshape(sizes)


def permuted(*sizes):
    dims = list(range(len(sizes)))[::-1]
    return contiguous(*sizes).permute(dims).contiguous().permute(dims)


def sliced(*sizes):
    return contiguous(*sizes[:-1], 2 * sizes[-1])[..., ::2]


def channels_last(*sizes):
    return contiguous(*sizes).contiguous(memory_format=torch.channels_last)


def layout(y):
    asked = [y.stride(), y.stride(-1), y.is_contiguous(), y.storage_offset(), y.dim_order()]
    if y.dim() == 4:
        asked.append(y.is_contiguous(memory_format=torch.channels_last))
    return asked, y.contiguous() is y


OPERATIONS = {
    "copysign": lambda x: torch.copysign(x, x.flip(0)),
    "behind another": lambda x: torch.copysign(x, x.flip(0)).add(1).mul(x),
    "view of another": lambda x: torch.copysign(x, x.flip(0)).transpose(0, 1)[1:],
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 0),
    "fft": torch.fft.rfftn,
    "eigenvalues": lambda x: torch.linalg.eig(x[..., :2, :2])[1],
    "singular values": lambda x: torch.linalg.svd(x, full_matrices=False)[2],
    "of a schema": lambda x: torch.ops.aten.linalg_svd(x)[2],
    "pad": lambda x: functional.pad(x, (1, 1)),
    "interpolate": lambda x: functional.interpolate(x, scale_factor=2) if x.dim() == 4 else x,
    "random": lambda x: torch.bernoulli(x / x.max()),
    "logaddexp": lambda x: torch.logaddexp(x, x.flip(0)),
    "cumulative": lambda x: x.cummax(0)[0],
    "gathered": lambda x: x.index_select(0, torch.tensor([1, 0])),
    "in place": lambda x: torch.copysign(x, x.flip(0)).abs_(),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_results_lie_in_memory_as_they_do_in_python(name):
    def program(x):
        torch.manual_seed(0)
        y = OPERATIONS[name](x)
        return layout(y), torch.rand(1).item()

    compiled = armature.compile(program)
    for make in (contiguous, permuted, sliced, channels_last):
        for sizes in [(2, 3, 4, 5), (2, 3), (3, 2)]:
            if make is channels_last and len(sizes) != 4:
                continue
            assert compiled(make(*sizes)) == program(make(*sizes)), (make.__name__, sizes)


def test_what_zeros_do_not_tell_is_asked_in_python():
    def program(x):
        return torch.linalg.inv(x).stride()

    compiled = armature.compile(program)
    for _ in range(2):
        assert compiled(torch.eye(3)) == program(torch.eye(3))


def test_large_results_are_not_tried():
    def program(x):
        return torch.linspace(0, 1, 2**21)[::2].stride(), x

    compiled = armature.compile(program)
    explained = armature.explain(program)(torch.ones(2))
    assert compiled(torch.ones(2))[0] == (2,)
    assert explained.graph_break_count == 1


def solved(x, out):
    return torch.linalg.solve(torch.eye(3), x, out=out)


def rank(x, out):
    return torch.linalg.matrix_rank(x, out=out)


def drawn(x, out):
    return torch.normal(x, x, out=out)


def tossed(x, out):
    return torch.bernoulli(x / x.max(), out=out)


def added(x, out):
    return torch.add(x, 1, out=out)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("sizes", [(3, 3), (0,), (2,), (9,)])
@pytest.mark.parametrize("fn", [solved, rank, drawn, tossed, added])
def test_what_is_given_as_out(fn, sizes, dtype):
    def program(x, out):
        try:
            y = fn(x, out)
        except RuntimeError as error:
            return type(error).__name__
        return y.shape, y.dtype, y.stride(), y.is_contiguous(), y is out

    compiled = armature.compile(program)
    for make in (contiguous, permuted):
        for _ in range(2):
            given, expected = (torch.zeros(sizes, dtype=dtype) for _ in range(2))
            assert compiled(make(3, 3), given) == program(make(3, 3), expected)
            assert (given.shape, given.stride()) == (expected.shape, expected.stride())
