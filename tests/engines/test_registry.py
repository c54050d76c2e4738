"""Engines by name."""

from __future__ import annotations

import pytest

from console.engines.registry import engine_named
from console.errors import UsageError


@pytest.mark.parametrize("name", ["sglang", "vllm", "llamacpp"])
def test_an_engine_is_known_by_its_name(name: str) -> None:
    assert engine_named(name).name == name


@pytest.mark.parametrize("name", ["nothing", "SGLang", ""])
def test_an_unknown_engine_is_a_usage_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match="sglang") as caught:
        engine_named(name)
    assert caught.value.exit_code == 2
    assert repr(name) in str(caught.value)
