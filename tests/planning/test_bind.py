"""Which targets a command means; nothing ever means all of them."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import NoSuchTargetError
from console.planning.bind import bind
from console.schema.hosts import Inventory


def inventory(**hosts: dict[str, Any]) -> Inventory:
    return Inventory.model_validate({"schema": 1, "hosts": hosts, "groups": {}})


def host(*services: str, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    service = {"unit": "x.service", "engine": "sglang", "url": "http://127.0.0.1:1"}
    return {"tags": tags, "services": dict.fromkeys(services, service)}


def names(*arguments: Any) -> list[str]:
    return [target.name for target in bind(*arguments)]


def test_the_only_service_needs_no_name() -> None:
    assert names(inventory(a=host("s")), [], [], None) == ["a/s"]


def test_two_services_need_a_name_and_are_listed() -> None:
    with pytest.raises(NoSuchTargetError) as caught:
        bind(inventory(a=host("s"), b=host("s")), [], [], None)
    assert "a/s, b/s" in caught.value.hint
    assert caught.value.exit_code == 2


def test_the_command_line_comes_before_the_runbook() -> None:
    hosts = inventory(a=host("s"), b=host("s"))
    assert names(hosts, [], ["b/s"], None) == ["b/s"]
    assert names(hosts, ["a"], ["b/s"], None) == ["a/s"]
    assert names(hosts, ["a", "a/s"], [], None) == ["a/s"]


def test_limit_keeps_a_tag() -> None:
    hosts = inventory(a=host("s", tags=("new",)), b=host("s"))
    assert names(hosts, [], [], "new") == ["a/s"]
    with pytest.raises(NoSuchTargetError, match="did you mean 'new'"):
        bind(hosts, [], [], "nwe")
    with pytest.raises(NoSuchTargetError, match="leaves no target"):
        bind(hosts, ["b"], [], "new")


def test_a_misspelt_target_names_the_nearest() -> None:
    with pytest.raises(NoSuchTargetError, match="did you mean 'gpu1/k26'"):
        bind(inventory(gpu1=host("k26"), gpu2=host("k26", "glm")), ["gpu1/k27"], [], None)
    with pytest.raises(NoSuchTargetError, match="has several services"):
        bind(inventory(gpu2=host("k26", "glm")), ["gpu2"], [], None)
