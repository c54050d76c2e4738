"""The inventory: which target a name means, and which it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.errors import InvalidFileError, NoSuchTargetError
from console.schema.hosts import Host, Inventory, Service, Target, load_inventory

CASE = Path(__file__).parent.parent / "cases" / "schema" / "hosts.toml"


@pytest.fixture
def inventory() -> Inventory:
    return load_inventory(CASE)


def test_targets_in_the_order_of_the_file(inventory: Inventory) -> None:
    assert [target.name for target in inventory.targets()] == ["gpu1/llm", "gpu2/llm", "gpu2/small"]


def test_what_a_target_knows(inventory: Inventory) -> None:
    one, _, small = inventory.targets()
    assert (one.address, one.defaults.user, one.service.url) == ("gpu1.example.net", "ops", "http://127.0.0.1:30000")
    assert (small.address, small.host.protected, small.service.load_time) == ("gpu2", True, 180.0)
    assert [target.service.port for target in inventory.targets()] == [30000, 30000, 443]


def test_by_its_name_or_by_a_host_with_one_service(inventory: Inventory) -> None:
    assert inventory.target("gpu2/small").name == "gpu2/small"
    assert inventory.target("gpu1").name == "gpu1/llm"


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("gpu2", "gpu2 has several services: gpu2/llm, gpu2/small", "host/service"),
        ("gpu1/lm", "no target 'gpu1/lm'; did you mean 'gpu1/llm'?", "known targets: gpu1/llm, gpu2/llm, gpu2/small"),
        ("spare", "host spare has no service in", ""),
        ("", "no target ''", "known targets"),
        ("*", "no target '*'", "known targets"),
    ],
)
def test_what_is_no_target(inventory: Inventory, name: str, said: str, hint: str) -> None:
    with pytest.raises(NoSuchTargetError) as caught:
        inventory.target(name)
    assert said in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_results_are_relative_to_the_file(inventory: Inventory, tmp_path: Path) -> None:
    assert inventory.results_path == CASE.parent.parent / "findings"
    absolute = inventory.model_copy(update={"results": inventory.results.model_copy(update={"path": "/srv/findings"})})
    assert absolute.results_path == Path("/srv/findings")


def test_only_a_lab_is_simulated(inventory: Inventory) -> None:
    service = Service(unit="x.service", engine="sglang", url="http://127.0.0.1:1")
    assert not inventory.targets()[0].simulated
    assert Target(host_name="h", service_name="s", host=Host(speed=20), service=service).simulated


@pytest.mark.parametrize("url", ["http://[::1]:30000", "http://127.0.0.1:30000/v1", "https://engine.example.net"])
def test_urls_that_are_taken(url: str) -> None:
    assert Service(unit="x.service", engine="sglang", url=url).url == url


@pytest.mark.parametrize("unit", ["x.service", "x@1.service", "a-b_c:d.service", r"a\x2db.service"])
def test_units_that_are_taken(unit: str) -> None:
    assert Service(unit=unit, engine="sglang", url="http://h").unit == unit


@pytest.mark.parametrize(
    "unit", ["x", "x.socket", "../x.service", "x y.service", "x.service\n", "@.service", "a" * 260 + ".service"]
)
def test_units_that_are_not(unit: str) -> None:
    with pytest.raises(ValueError, match="is not a service unit's name"):
        Service(unit=unit, engine="sglang", url="http://h")


NODES = """\
schema = 1
[hosts.gpu1.services.big]
unit = "big.service"
engine = "sglang"
url = "http://127.0.0.1:30000"
nodes = {nodes}
[hosts.gpu2]
[hosts.gpu3.services.other]
unit = "{other}"
engine = "sglang"
url = "http://127.0.0.1:30000"
"""


def with_nodes(folder: Path, nodes: str, other: str = "other.service") -> Inventory:
    path = folder / "hosts.toml"
    path.write_text(NODES.format(nodes=nodes, other=other))
    return load_inventory(path)


def test_the_nodes_of_an_engine_are_its_ranks_in_order(tmp_path: Path) -> None:
    target = with_nodes(tmp_path, '["gpu3", "gpu2"]').target("gpu1/big")
    assert [(node.name, node.rank, node.service.unit) for node in (target, *target.nodes)] == [
        ("gpu1/big", 0, "big.service"),
        ("gpu3/big", 1, "big.service"),
        ("gpu2/big", 2, "big.service"),
    ]


@pytest.mark.parametrize(
    ("nodes", "other", "said"),
    [
        ('["gpu4"]', "other.service", "no host 'gpu4'; did you mean"),
        ('["gpu2", "gpu2"]', "other.service", "'gpu2' is listed twice"),
        ('["gpu1"]', "other.service", "'gpu1' is the service's own host, rank 0"),
        ('["gpu3"]', "big.service", "big.service on 'gpu3' belongs to gpu3/other already"),
    ],
)
def test_nodes_that_are_none(tmp_path: Path, nodes: str, other: str, said: str) -> None:
    with pytest.raises(InvalidFileError, match=re.escape(said)):
        with_nodes(tmp_path, nodes, other)


def test_one_protected_node_protects_all_of_them(tmp_path: Path) -> None:
    target = with_nodes(tmp_path, '["gpu2"]').target("gpu1/big")
    assert not target.protected
    held = target.nodes[0].model_copy(update={"host": Host(protected=True)})
    assert target.model_copy(update={"nodes": (held,)}).protected


PAIR = """\
schema = 1
[hosts.gpu1.services.prefill]
unit = "prefill.service"
engine = "sglang"
url = "http://127.0.0.1:30000"
nodes = {nodes}
{router}
[hosts.gpu1.services.decode]
unit = "decode.service"
engine = "sglang"
url = "http://127.0.0.1:30001"
{decode}
[hosts.gpu2.services.other]
unit = "other.service"
engine = "vllm"
url = "http://127.0.0.1:8000"
{other}
"""
ROUTER = 'router = "http://127.0.0.1:8080"'


def pair(folder: Path, nodes: str = '["gpu1/decode"]', router: str = ROUTER, **more: str) -> Inventory:
    path = folder / "hosts.toml"
    path.write_text(PAIR.format(nodes=nodes, router=router, **{"decode": "", "other": "", **more}))
    return load_inventory(path)


def test_the_parts_of_a_pair_are_services_of_their_own(tmp_path: Path) -> None:
    inventory = pair(tmp_path)
    whole = inventory.target("gpu1/prefill")
    (decode,) = whole.nodes
    assert (decode.name, decode.node, decode.called, decode.service.port) == (
        "gpu1/decode",
        "gpu1/decode",
        "gpu1/decode",
        30001,
    )
    assert (whole.node, whole.in_parts, whole.called) == ("", True, "gpu1/prefill")
    assert inventory.target("gpu1/decode").part_of == "gpu1/prefill"


def test_a_host_whose_other_service_is_a_part_has_one_to_name(tmp_path: Path) -> None:
    assert pair(tmp_path).target("gpu1").name == "gpu1/prefill"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"nodes": '["gpu1/dekode"]'}, "no service 'gpu1/dekode'; did you mean 'gpu1/decode'?"),
        ({"nodes": '["gpu1/prefill"]'}, "'gpu1/prefill' is this service itself"),
        ({"nodes": '["gpu1/decode", "gpu1/decode"]'}, "'gpu1/decode' is listed twice, by gpu1/prefill already"),
        ({"nodes": '["gpu1/decode", "gpu2"]'}, "either hosts, which are ranks, or services, which are parts of a pair"),
        ({"nodes": '["gpu2/other"]'}, "'gpu2/other' is vllm, not sglang"),
        ({"decode": 'nodes = ["gpu1/prefill"]'}, "has nodes of its own: one of the pair names the others"),
        ({"other": 'nodes = ["gpu1/decode"]'}, "'gpu1/decode' is listed twice, by gpu1/prefill already"),
        ({"nodes": "[]"}, "router: it stands before a prefill/decode pair"),
        ({"router": 'router = "gpu1:8080"'}, "is not an http URL"),
        ({"nodes": '["gpu1/"]'}, "is not a name"),
    ],
)
def test_what_is_no_pair_is_named(tmp_path: Path, words: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidFileError, match=re.escape(said)):
        pair(tmp_path, **words)
