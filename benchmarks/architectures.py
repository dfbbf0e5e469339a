"""Tiny models of every architecture of `transformers`, `timm` and `torchvision`, with inputs.

Nothing is loaded: weights are random, configurations are made small by the names of their numbers.
What cannot be built so, or does not run as it is, raises; no name is left out by hand.
"""

import copy
import inspect
import itertools
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

# Where `./dev models` installs what only some suites need.
PACKAGES = Path(__file__).resolve().parent.parent / ".cache/models"

SUITES = ("transformers", "timm", "torchvision")

Model = tuple[torch.nn.Module, dict[str, Any]]

TOKENS, VOCABULARY, LAYERS, IMAGE = 12, 128, 2, 64

# The first that matches a number's whole name gives its value.
NUMBERS: list[tuple[str, int]] = [
    (r".*(token_id|token_index)|.*_token", -1),  # see _shrink
    (r".*vocab_size.*|vocab_size", VOCABULARY),
    (r"num_key_value_heads|.*num_kv_heads|n_kv_heads", 2),
    (r".*attention_heads|n_heads?|num_heads|.*_n_heads?|.*_num_heads", 4),
    (r"q_lora_rank|kv_lora_rank", 16),
    (r"rotary_dim", 8),
    (r"num_experts_per_tok|moe_topk|moe_k|top_k_experts|n_group|topk_group", 1),
    (r"num_experts|num_local_experts|n_routed_experts|moe_num_experts|num_routed_experts", 4),
    (r"first_k_dense_replace", 1),
    (r".*(hidden_layers|num_layers|_layers|n_layers?|depth|num_blocks)", LAYERS),
    (r".*(intermediate_size|ffn_dim|ffn_hidden_size|d_ff|n_inner|mlp_dim|ffn_size)", 64),
    (r".*(hidden_size|hidden_dim|d_model|embed_dim|n_embd|embedding_size|proj_dim)", 32),
    (r"projection_dim|emb_dim|dim|width|embedding_dim|.*out_channels|output_dim|dim_head", 32),
    (r".*(max_position_embeddings|n_positions|max_seq_len|max_sequence_length|n_ctx)", 64),
    (r"max_source_positions", 32),
    (r"max_target_positions", 64),
    (r".*image_size|img_size|input_size", IMAGE),
    (r"mamba_d_state|state_size|ssm_state_size|mamba_n_groups|n_groups", 8),
    (r"num_mel_bins|n_mels", 16),
    (r"num_queries|num_latents|num_query_tokens|query_length", 8),
    (r"window_size", 4),
]


# What goes before NUMBERS, tried in turn; None leaves a number as it is. In some architectures
# numbers follow from each other in a way that no table of names knows.
KEY_VALUE_HEADS = r"num_key_value_heads|.*num_kv_heads|n_kv_heads"
COUNTS = r".*vocab_size.*|.*(hidden_layers|num_layers|_layers|n_layers?|depth|num_blocks|experts)"
SHRINKINGS: list[list[tuple[str, int | None]]] = [
    [(r".*head_dim", None)],
    [(r".*head_dim", None), (KEY_VALUE_HEADS, 4)],
    [(r".*head_dim", 8), (KEY_VALUE_HEADS, 4)],
    [(r".*head_dim", None), (KEY_VALUE_HEADS, 4), (r".*layers", 8)],
    [(r".*head_dim", None), (r".*hidden_size|d_model|dim", 512)],
    [(rf"(?!({COUNTS})$).*", None)],
]
MOST_PARAMETERS = 150_000_000


def _small(name: str, value: int, first: list[tuple[str, int | None]]) -> int:
    for pattern, small in [*first, *NUMBERS]:
        if re.fullmatch(pattern, name):
            return min(value, small) if small is not None and value > 0 else value
    return value


def _layers_of(config: Any) -> int:
    for name in ("num_hidden_layers", "n_layer", "num_layers", "n_layers"):
        value = getattr(config, name, None)
        if isinstance(value, int):
            return value
    return LAYERS


def _shrink(config: Any, first: list[tuple[str, int | None]], seen: set[int]) -> None:
    """Makes the numbers of a configuration small, in place, and those of its parts."""
    if id(config) in seen:
        return
    seen.add(id(config))
    if isinstance(getattr(config, "depths", None), (list, tuple)):
        # Stages, whose widths follow from each other.
        config.depths = [min(depth, 2) for depth in config.depths]
        return
    if getattr(config, "vocab_size", 0) is None:
        config.vocab_size = VOCABULARY
    before = _layers_of(config)
    for name, value in list(vars(config).items()):
        if name.startswith("_"):
            continue
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            _shrink(value, first, seen)
        elif isinstance(value, bool):
            continue
        elif value is None and name == "head_dim":
            config.head_dim = next((n for pattern, n in first if re.fullmatch(pattern, name)), None)
        elif isinstance(value, int):
            if name.endswith(("token_id", "token_index")):
                small = value if value < VOCABULARY else VOCABULARY - 1 - value % 8
            else:
                small = _small(name, value, first)
            if small != value:
                setattr(config, name, small)
    # One item for each layer: as many items as layers now.
    for name, value in list(vars(config).items()):
        if (
            isinstance(value, list)
            and len(value) == before > LAYERS
            and _layers_of(config) < before
        ):
            setattr(config, name, value[:1] + value[-1:] if LAYERS == 2 else value[:LAYERS])


def _transformers_names() -> list[str]:
    from transformers.models.auto import modeling_auto

    return list(modeling_auto.MODEL_MAPPING_NAMES)


def _model_class(name: str) -> type[torch.nn.Module]:
    import transformers
    from transformers.models.auto import modeling_auto as auto

    for table in (
        auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        auto.MODEL_MAPPING_NAMES,
    ):
        found = table.get(name)
        if isinstance(found, (tuple, list)):
            found = found[0]
        if found and hasattr(transformers, found):
            return getattr(transformers, found)
    raise LookupError(f"transformers has no model of {name}")


def _channels(config: Any) -> int:
    for part in (config, getattr(config, "vision_config", None)):
        for name in ("num_channels", "in_channels", "in_chans"):
            if isinstance(getattr(part, name, None), int):
                return getattr(part, name)
    return 3


def _image_size(config: Any) -> tuple[int, int]:
    for part in (config, getattr(config, "vision_config", None)):
        size = getattr(part, "image_size", None)
        if isinstance(size, int):
            return size, size
        if isinstance(size, (tuple, list)) and len(size) == 2:
            return size[0], size[1]
    return IMAGE, IMAGE


def _transformers_inputs(model: torch.nn.Module, config: Any) -> Iterator[dict[str, Any]]:
    """What the model may take, by the names of its parameters; the likeliest first."""
    parameters = inspect.signature(model.forward).parameters
    ids = torch.randint(9, VOCABULARY - 16, (2, TOKENS))
    image = (_channels(config), *_image_size(config))
    sound, mels = torch.rand(2, 2000), _mel_bins(config)
    frames = getattr(config, "num_frames", 4)
    candidates: dict[str, list[Any]] = {
        "input_ids": [ids],
        "pixel_values": [torch.rand(2, *image), torch.rand(2, frames, *image)],
        "input_values": [
            sound,
            sound[:, None],
            torch.rand(2, getattr(config, "max_length", 40), mels),
        ],
        "input_features": [torch.rand(2, 40, mels), torch.rand(2, mels, _positions(config))],
        "pixel_values_videos": [torch.rand(2, frames, *image)],
    }
    known = [name for name in candidates if name in parameters]
    required = [name for name in known if parameters[name].default is inspect.Parameter.empty]
    main = getattr(model, "main_input_name", None)
    for names in ({main, *required} & set(known), known[:1], known[:2], known[1:2], known):
        for each in itertools.product(*(candidates[name] for name in known if name in names)):
            inputs = dict(zip((name for name in known if name in names), each, strict=True))
            if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in parameters:
                inputs["decoder_input_ids"] = ids.flip(1)
            if inputs:
                yield inputs


def _mel_bins(config: Any) -> int:
    for name in ("num_mel_bins", "feature_projection_input_dim", "feature_size"):
        value = getattr(config, name, None)
        if isinstance(value, int):
            return value
    return 16


def _positions(config: Any) -> int:
    return 2 * getattr(config, "max_source_positions", 20)


def _first_that_runs(
    model: torch.nn.Module, candidates: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    error: Exception | None = None
    training = model.training
    model.eval()
    for inputs in candidates:
        try:
            with torch.no_grad():
                model(**copy.deepcopy(inputs))
        except Exception as raised:
            error = error or raised
        else:
            model.train(training)
            return inputs
    raise error or TypeError("the model takes nothing that is known")


def _transformers(name: str) -> Model:
    model_class = _model_class(name)
    error: Exception | None = None
    for first in SHRINKINGS:
        try:
            config = model_class.config_class()
            _shrink(config, first, set())
            config._attn_implementation = "eager"
            with torch.device("meta"):
                size = sum(p.numel() for p in model_class(copy.deepcopy(config)).parameters())
            if size > MOST_PARAMETERS:
                raise MemoryError(f"{name} has {size} parameters")
            torch.manual_seed(0)
            model = model_class(config)
            return model, _first_that_runs(model, _transformers_inputs(model, config))
        except Exception as raised:
            error = error or raised
    assert error is not None
    raise error


def _import_torchvision() -> None:
    # Beside, not in the environment: `transformers` would use it, too, where it is seen.
    if str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))
    # Its compiled operators belong to another build of torch, so they cannot be described either.
    name = "torchvision._meta_registrations"
    sys.modules.setdefault(name, types.ModuleType(name))
    import torchvision  # noqa: F401


SIZES = ("test_", "atto", "femto", "pico", "nano", "xxs", "tiny", "_xs", "small", "_s", "18", "_b0")


def _smallest(names: list[str]) -> str:
    def rank(name: str) -> tuple[int, int, str]:
        return next((i for i, s in enumerate(SIZES) if s in name), len(SIZES)), len(name), name

    return min(names, key=rank)


def _timm_names() -> list[str]:
    """The smallest model of every file of timm's."""
    _import_torchvision()
    import timm

    return [
        _smallest(timm.list_models(module=module))
        for module in timm.list_modules()
        if timm.list_models(module=module)
    ]


def _timm(name: str) -> Model:
    _import_torchvision()
    import timm

    model = timm.create_model(name, num_classes=10)
    size = model.default_cfg.get("test_input_size") or model.default_cfg["input_size"]
    return model, {"x": torch.rand(2, *size)}


def _torchvision_names() -> list[str]:
    """The smallest model of every file of torchvision's."""
    _import_torchvision()
    from torchvision import models

    families: dict[str, list[str]] = {}
    for name in models.list_models():
        families.setdefault(models.get_model_builder(name).__module__, []).append(name)
    return [_smallest(names) for names in families.values()]


def _torchvision(name: str) -> Model:
    _import_torchvision()
    from torchvision import models

    builder = models.get_model_builder(name)
    options = {"weights": None}
    if "weights_backbone" in inspect.signature(builder).parameters:
        options["weights_backbone"] = None
    model = builder(**options)
    family = builder.__module__
    size = 299 if "inception" in name else 224
    if "detection" in family:
        return model, {"images": [torch.rand(3, 96, 96)]}
    if ".video" in family:
        return model, {"x": torch.rand(1, 3, 16, 112, 112)}
    if "optical_flow" in family:
        return model, {"image1": torch.rand(1, 3, 128, 128), "image2": torch.rand(1, 3, 128, 128)}
    return model, {"x": torch.rand(2, 3, size, size)}


def names(suite: str) -> list[str]:
    """All architectures of a suite, by name."""
    listed = {
        "transformers": _transformers_names,
        "timm": _timm_names,
        "torchvision": _torchvision_names,
    }[suite]()
    return sorted(set(listed))


def build(suite: str, name: str) -> Model:
    """A model with random weights, the same on every call, and the keyword arguments of a call."""
    torch.manual_seed(0)
    return {"transformers": _transformers, "timm": _timm, "torchvision": _torchvision}[suite](name)
