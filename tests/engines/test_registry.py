"""Engines by name."""

from __future__ import annotations

import pytest

from console.engines.registry import engine_named
from console.errors import UsageError


def test_sglang_is_known() -> None:
    assert engine_named("sglang").name == "sglang"


@pytest.mark.parametrize("name", ["vllm", "llamacpp", "SGLang", ""])
def test_an_unknown_engine_is_a_usage_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match="sglang") as caught:
        engine_named(name)
    assert caught.value.exit_code == 2
    assert repr(name) in str(caught.value)
