"""Models of the transformers package, with random weights: captured, they give eager results."""

import armature
import pytest
import torch
import transformers
from differential import break_reasons


def gpt2(layers):
    config = transformers.GPT2Config(
        n_layer=layers, n_embd=32, n_head=4, n_positions=64, vocab_size=100
    )
    config._attn_implementation = "eager"
    return transformers.GPT2LMHeadModel(config).eval()


def bert(layers):
    config = transformers.BertConfig(
        num_hidden_layers=layers,
        hidden_size=32,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        vocab_size=100,
    )
    config._attn_implementation = "eager"
    return transformers.BertModel(config).eval()


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        torch.testing.assert_close(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)


@pytest.mark.parametrize("make", [gpt2, bert])
@pytest.mark.parametrize("layers", [2, 12])
@torch.no_grad()
def test_forward(make, layers):
    torch.manual_seed(0)
    model = make(layers)
    ids = torch.randint(0, 100, (2, 7))
    mask = torch.ones_like(ids)
    compiled = armature.compile(model.forward)
    for kwargs in ({}, {"attention_mask": mask}, {"attention_mask": mask}, {"return_dict": False}):
        same(compiled(ids, **kwargs), model(ids, **kwargs))
    same(compiled(ids[:, :5]), model(ids[:, :5]))
    if make is gpt2:
        assert break_reasons(compiled) == []  # one graph


def test_training_step():
    torch.manual_seed(0)
    model = gpt2(2)
    ids = torch.randint(0, 100, (2, 7))
    gradients = []
    for forward in (model.forward, armature.compile(model.forward)):
        model.zero_grad()
        forward(ids, labels=ids).loss.backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    same(gradients[0], gradients[1])
