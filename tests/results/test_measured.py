"""The files of a record that hold what was measured."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ElementTree

from console.results.measured import files
from console.results.report import render
from console.results.spreadsheet import text
from console.results.svg import ceiling
from console.schema.cells import Cell, Estimate
from console.schema.events import FindingMade
from console.schema.loads import Level
from console.schema.outcome import Outcome
from console.schema.record import Record
from console.views.load import load_lines


def record() -> Record:
    cells = [
        Cell(
            name=f"{at} tokens",
            step="sweep",
            text_class="prose",
            context_tokens=at,
            at_tokens=at + 144.0,
            step_ms=20 + 0.002 * (at + 144),
            rate_tok_s=140.0,
            estimates=(Estimate(method="server", rate_tok_s=140.0), Estimate(method="client", unusable="none")),
            flags=("degenerate text",),
        )
        for at in (500, 4000, 12000)
    ]
    refused = Cell(name="big", step="sweep", text_class="prose", state="refused", reason="=over budget")
    fit = FindingMade(
        name="step_time_fit",
        value="",
        figures={"intercept_ms": 20.0, "slope_ms_per_token": 0.002},
        context_tokens="1..2",
    )
    predicted = FindingMade(name="step_time_predicted", value=84.0, low=80.0, high=88.0, context_tokens=32000)
    return Record(
        schema=1, run="r", target="node7/chat", runbook="measure-sweep", outcome=Outcome.MEASURED, simulated=True,
        cells=(*cells, refused), findings=(fit, predicted),
    )  # fmt: skip


def test_a_row_a_cell_with_every_clock() -> None:
    rows = list(csv.DictReader(files(record())["sweep.csv"].splitlines()))
    assert [row["context_tokens"] for row in rows] == ["500", "4000", "12000", ""]
    assert (rows[0]["server_tok_s"], rows[0]["client_tok_s"]) == ("140", "")
    assert rows[0]["flags"] == "degenerate text"
    assert rows[3]["state"] == "refused"


def test_a_cell_that_begins_like_a_formula_is_none() -> None:
    assert text("=1+1") == "'=1+1"
    assert text(-1.5) == "-1.5"


def test_the_chart_is_well_formed_and_says_that_it_is_simulated() -> None:
    svg = ElementTree.fromstring(files(record())["sweep.svg"])
    texts = [element.text or "" for element in svg.iter() if element.tag.endswith("text")]
    assert "node7/chat: step time over context (simulated)" in texts
    assert len([element for element in svg.iter() if element.tag.endswith("circle")]) == 4


def test_nothing_measured_makes_no_file() -> None:
    assert files(record().model_copy(update={"cells": (), "findings": ()})) == {}


def test_axes_end_at_round_numbers() -> None:
    assert [ceiling(value) for value in (0.9, 1.1, 2.2, 30, 51, 203_386)] == [1, 2, 2.5, 50, 100, 250_000]


def load_record() -> Record:
    figures = {"ttft_p50_s": 0.2, "ttft_p95_s": 0.4, "itl_p50_ms": 6.25, "itl_p95_ms": 7.0, "e2e_p50_s": 1.8}
    levels = [
        Level(streams=n, tok_min_gpu=8000.0 * n, figures=figures, flags=("p95 is max of 8",), requests=())
        for n in (1, 4)
    ]
    refused = Level(streams=8, state="refused", reason="server busy")
    return record().model_copy(update={"cells": (), "findings": (), "loads": (*levels, refused)})


def test_a_row_a_level_and_a_chart_of_throughput() -> None:
    made = files(load_record())
    rows = list(csv.DictReader(made["load.csv"].splitlines()))
    assert [(row["streams"], row["tok_min_gpu"], row["ttft_p95_s"]) for row in rows] == [
        ("1", "8000", "0.4"),
        ("4", "32000", "0.4"),
        ("8", "", ""),
    ]
    assert rows[2]["reason"] == "server busy"
    texts = [e.text or "" for e in ElementTree.fromstring(made["load.svg"]).iter() if e.tag.endswith("text")]
    assert {"streams at once", "tok/min/GPU", "node7/chat: throughput under load (simulated)"} <= set(texts)


def test_the_report_and_the_terminal_show_the_same_level() -> None:
    report = render(load_record())
    assert "| 4 | 0 | 0 | 0.2 | 0.4 | 6.25 | 7 | 1.8 |  | 32000 |  | measured | p95 is max of 8 |" in report
    assert "![Throughput under load](load.svg)" in report
    lines = load_lines(load_record().loads)
    assert max(map(len, lines)) <= 80
    assert any("0.20/0.40" in line and "6.2/7.0" in line and "32,000" in line for line in lines)
    assert any("server busy" in line for line in lines)
