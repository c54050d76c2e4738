"""Logs from the field, as our tables read them: `pytest tests/cases --cases DIR` runs any folder of this format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.reading import COMPARED, Case, Judged, cases_in, judged

OWN = Path(__file__).parent / "logs"
LEAST = 45
JUDGED = pytest.StashKey[list[Judged]]()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        given = metafunc.config.getoption("--cases", default=None)
        found = cases_in(Path(given) if given else OWN)
        metafunc.parametrize("case", found, ids=[case.id for case in found])


def test_a_log_is_read_as_expected(case: Case, request: pytest.FixtureRequest) -> None:
    found = judged(case)
    request.config.stash.setdefault(JUDGED, []).extend(found)
    wrong = [f"{one.key}: {one.read!r}, not {one.expected!r}" for one in found if one.right is False]
    assert not wrong, f"{case.path}: {'; '.join(wrong)}"


def test_there_are_enough_of_our_own() -> None:
    own = cases_in(OWN)
    assert len(own) >= LEAST
    assert {case.engine for case in own} >= {"sglang", "vllm", "llamacpp", "ollama", "tgi", "tensorrt-llm"}
    told = {key for case in own for key in case.expect}
    assert told >= set(COMPARED)
