"""What a model keeps for every token and every request: its layers by kind, and the positions it was made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# No model has as many; a file that says more is not believed, and no memory is spent on it.
MOST_LAYERS = 10_000


@dataclass(frozen=True)
class LatentLayers:
    """Layers that keep one compressed latent a token (MLA), whole on every tensor-parallel rank.

    `elements`: kv_lora_rank + qk_rope_head_dim. `index_bytes`: keys of a sparse indexer, whose type never changes;
    beside one an 8-bit latent is packed with its scales and a 16-bit rotary part, `packed_bytes` together.
    """

    count: int
    elements: int
    index_bytes: int = 0
    packed_bytes: int = 0


@dataclass(frozen=True)
class HeadLayers:
    """Layers that keep a key and a value a head; heads are split over the ranks down to one head a rank.

    `window_tokens`: such a layer never looks further back than this; None: it keeps every token.
    """

    count: int
    kv_heads: int
    key_elements: int
    value_elements: int
    window_tokens: int | None = None


@dataclass(frozen=True)
class StateLayers:
    """Layers of linear attention: a state of fixed size a request instead of a cache that grows.

    `conv_elements` are of the model's type; `state_elements` are kept in float32.
    """

    count: int
    conv_elements: int
    state_elements: int


Layers = LatentLayers | HeadLayers | StateLayers


@dataclass(frozen=True)
class Rope:
    """How positions were stretched: `rope_scaling`, or `rope_parameters` since transformers 5."""

    type: str = ""
    factor: float = 1.0
    original_tokens: int | None = None


@dataclass(frozen=True)
class Architecture:
    """One model's config.json as far as memory and limits go.

    `unknown` says why its cache cannot be computed; the limits may be known all the same. `positions`: every key that
    an engine may read a limit from, as it stands there. `cache_dtype`: what the checkpoint asks the cache to be.
    """

    model_type: str = ""
    layers: tuple[Layers, ...] = ()
    unknown: str = ""
    positions: Mapping[str, int] = field(default_factory=dict)
    rope: Rope = Rope()
    dtype: str = ""
    cache_dtype: str = ""
    quantization: str = ""
    draft_tokens: int | None = None  # a block draft's own block size

    @property
    def layer_count(self) -> int:
        return sum(part.count for part in self.layers)

    @property
    def kv_heads(self) -> int | None:
        """The fewest key-value heads of its layers; None where it keeps latents."""
        return min((part.kv_heads for part in self.layers if isinstance(part, HeadLayers)), default=None)

    @property
    def caching_layers(self) -> int:
        """Layers whose cache grows with the context."""
        return sum(part.count for part in self.layers if not isinstance(part, StateLayers))
