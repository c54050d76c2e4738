"""What a unit does that nobody meant is told with its line and its fix."""

from __future__ import annotations

import pytest

from console.engines.registry import engine_named
from console.settings.unit_sanity import findings, span_s
from console.units.effective import EffectiveUnit, UnitSource

COMMAND = "ExecStart=/opt/venv/bin/vllm serve /srv/m --port 8000"


def said(*lines: str, engine: str = "vllm", load_s: float | None = None) -> list[str]:
    content = "\n".join(["[Service]", COMMAND, *lines, ""]).encode()
    unit = EffectiveUnit("m.service", (UnitSource("/etc/m.service", content),))
    return [each.text for each in findings(unit, engine_named(engine), load_s)]


def test_a_sane_unit_has_nothing_to_mend() -> None:
    assert said("KillMode=mixed") == []


@pytest.mark.parametrize(
    ("lines", "load_s", "expected"),
    [
        (["Type=notify", "KillMode=mixed"], None, "/etc/m.service:3: Type=notify, but vllm never notifies"),
        (["Type=notify", "TimeoutStartSec=5min", "KillMode=mixed"], 400.0, "/etc/m.service:4: a start took 400 s"),
        (
            [],
            None,
            "KillMode=control-group ends the engine's children at once, so a stop drains nothing; KillMode=mixed",
        ),
        (["KillMode=process"], None, "/etc/m.service:3: KillMode=process leaves processes behind"),
        (["KillMode=mixed", "Environment=VLLM_API_KEY=abc"], None, "/etc/m.service:4: VLLM_API_KEY stands in the unit"),
        (["KillMode=mixed", "StartLimitBurst=3", "StartLimitIntervalSec=9"], None, "belongs into [Unit]"),
        (["KillMode=mixed", "Restart=always # yes"], None, "the # belongs to the value"),
    ],
)
def test_what_is_odd_is_told(lines: list[str], load_s: float | None, expected: str) -> None:
    assert any(expected in text for text in said(*lines, load_s=load_s)), said(*lines, load_s=load_s)


def test_a_key_in_a_wrapper_is_told_with_its_line() -> None:
    script = b"#!/bin/bash\nexec vllm serve m \\\n  --api-key abcd\n"
    unit = EffectiveUnit(
        "m.service",
        (UnitSource("/etc/m.service", b"[Service]\nKillMode=mixed\nExecStart=/opt/start.sh\n"),),
        files={"/opt/start.sh": script},
    )
    (found,) = findings(unit, engine_named("vllm"))
    assert found.where == "/opt/start.sh:3"
    assert "abcd" not in found.text


def test_time_spans() -> None:
    assert (span_s("90"), span_s("15min"), span_s("1h 30min"), span_s("infinity")) == (90.0, 900.0, 5400.0, None)
