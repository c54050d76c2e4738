"""A baseline in 80 columns: what was made up beside what users do."""

from __future__ import annotations

from console.schema.events import FindingMade
from console.views.baseline import baseline_text


def test_side_by_side_and_what_one_side_lacks_is_said() -> None:
    load = {"ttft_p50_s": 0.2, "ttft_p95_s": 0.31, "itl_p50_ms": 12.5, "kv_use_percent": 4.0}
    text = baseline_text(
        [
            FindingMade(target="a/b", name="load_throughput", value=3000.0, figures={"streams": 1.0, **load}),
            FindingMade(target="a/b", name="load_throughput", value=7000.0, figures={"streams": 4.0, **load}),
            FindingMade(target="a/b", name="load_throughput", value=9000.0, figures={"streams": 8.0, **load}),
            FindingMade(target="a/b", name="replay_band", value=9.5, source="all", figures={"itl_p50_ms": 20.0}),
            FindingMade(target="a/b", name="replay_band", value=1.0, source="input:0-1024"),
            FindingMade(target="a/b", name="running_requests", value=3.5, figures={"decode_tok_s": 61.0}),
        ]
    )
    lines = text.splitlines()
    assert lines[0].split() == ["1", "streams", "8", "streams", "replay", "production"]
    assert lines[1].split()[-4:] == ["80", "80", "50", "61"]
    assert any(line.split() == ["end", "to", "end", "p95,", "s", "n/a", "n/a", "9.5", "n/a"] for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_nothing_measured_is_said() -> None:
    assert "nothing could be measured" in baseline_text([])


def test_what_the_engine_said_of_a_replay_and_what_of_production_is_ours_is_said() -> None:
    text = baseline_text(
        [
            FindingMade(
                target="a/b", name="load_throughput", value=9.0, text_class="replay",
                figures={"per_s": 2.0, "kv_use_percent": 91.0, "queued_most": 3.0, "retracted": 2.0},
            ),
            FindingMade(target="a/b", name="load_spread", value=80.0),
            FindingMade(target="a/b", name="replay_band", value=9.5, source="all", figures={"itl_p50_ms": 20.0}),
            FindingMade(target="a/b", name="running_requests", value=3.5, flags=("7 lines of our own left out",)),
        ]
    )  # fmt: skip
    rows = {" ".join(line.split()[:-2]): line.split()[-2:] for line in text.splitlines()}
    assert rows["KV pool in use, %"] == ["91", "n/a"]
    assert rows["taken back for room"] == ["2", "n/a"]
    assert rows["spread over replicas, %"] == ["80", "n/a"]
    assert text.splitlines()[-1] == "production: 7 lines of our own left out"
