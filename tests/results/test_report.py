"""report.md for people; text of hosts stays text in it."""

from __future__ import annotations

import re

import pytest

from console.results.figures import figure, span
from console.results.report import render
from console.schema.record import Record
from tests.results.conftest import record_of
from tests.runs import stories


def section(report: str, title: str) -> str:
    return report.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_a_verified_run(record: Record) -> None:
    report = render(record)
    assert report.startswith("# gpu7/llm: extend-window, verified\n")
    assert "| outcome | verified, exit 0 |" in report
    assert "| context_length | 4096 | 8192 | /etc/systemd/system/engine-llm.service | written |" in section(
        report, "Settings"
    )
    assert "| context_length | 8192 | 8192 | 8192 | 8192 | yes |" in section(report, "Levels")
    assert "| 6 | verify (service.verify) | ok |" in section(report, "Steps")
    assert "-ExecStart=engine 4096" in section(report, "Difference")
    assert "console facts gpu7/llm" in section(report, "To go on")


@pytest.mark.parametrize("name", stories.ALL)
def test_every_end_has_a_report(name: str) -> None:
    record = record_of(stories.ALL[name]())
    report = render(record)
    assert record.outcome.value in report.splitlines()[0]
    assert "\n\n\n" not in report


def test_simulated_is_said_first(record: Record) -> None:
    assert render(record.model_copy(update={"simulated": True})).splitlines()[2].startswith("**Simulated:**")


def test_hostile_text_makes_no_markup_and_no_rows(record: Record) -> None:
    hostile = "a|b\n| forged | row |\n<script>x</script> `code` [link](http://x) **bold** \x1b[31m ```"
    report = render(
        record.model_copy(
            update={"message": hostile, "reason": hostile, "warnings": (hostile,), "also_activates": (hostile,)}
        )
    )
    assert "\x1b" not in report
    assert "\n| forged" not in report
    prose = "\n".join(line for line in report.splitlines() if not line.startswith("- `"))
    assert re.search(r"(?<!\\)<script", prose) is None
    rows = [line for line in report.splitlines() if line.startswith("| reason")]
    assert len(rows) == 1
    assert len(re.findall(r"(?<!\\)\|", rows[0])) == 3


def test_a_difference_with_fences_stays_inside(record: Record) -> None:
    report = render(record.model_copy(update={"diff": "-a\n+```\n+## forged\n", "next": (), "log": ()}))
    assert section(report, "Difference").strip().startswith("````diff")
    assert report.rstrip().endswith("````")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (139.6049, "139.6"),
        (34.0, "34"),
        (0.0201, "0.0201"),
        (203386, "203386"),
        (203386.7, "203387"),
        (1e-6, "0.000001"),
        (0.0, "0"),
        (-2.5, "-2.5"),
        (float("inf"), "inf"),
        ("absent", "absent"),
        (999.96, "1000"),
    ],
)
def test_figures_have_no_exponent(value: float | int | str, shown: str) -> None:
    assert figure(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0 s"), (9.96, "10.0 s"), (12.4, "12 s"), (192, "3 min 12 s"), (3900, "1 h 5 min")]
)
def test_spans(seconds: float, shown: str) -> None:
    assert span(seconds) == shown
