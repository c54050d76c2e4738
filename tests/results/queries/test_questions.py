"""blame, audit, compare, trend and list, asked of one small history."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable

import pytest

from console.errors import StateError, UsageError
from console.results.history import NAME, History
from console.results.queries.audit import audit, quarter
from console.results.queries.blame import blame
from console.results.queries.compare import compare_runs, sentence
from console.results.queries.list import Filter, find
from console.results.queries.trend import trend_of
from console.results.store import find_rows, record_of, settings_of
from console.schema import names
from console.views.audit import audit_csv, audit_markdown, audit_text
from console.views.history import blame_text, compare_text, trend_text
from console.views.record import record_text
from tests.results.queries.conftest import Commit, run_id, stack

GitCommand = Callable[..., str]
TARGET = "gpu7/llm"
APRIL = 1775001600.0  # 2026-04-01


def too_wide(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > 80]


def test_names_are_what_the_schema_says() -> None:
    assert NAME.pattern == names.NAME.pattern


class TestBlame:
    def test_each_value_has_its_origin(self, history: History) -> None:
        found = {one.setting: one for one in blame(history, TARGET).settings}
        hand = found["context_length"]
        assert (hand.value, hand.how, hand.before) == ("131072", "found", "200000")
        assert "by hand, between 2026-03-04" in hand.note
        assert (found["mem_fraction"].how, found["mem_fraction"].reason) == ("baseline", "begin here")
        assert too_wide(blame_text(blame(history, TARGET))) == []

    def test_a_value_we_set(self, history: History, commit: Commit) -> None:
        commit(7, settings=(), stack_before=stack(context_length="200000", dtype="bfloat16"))
        found = {one.setting: one for one in blame(history, TARGET).settings}
        # What was seen last is not what was found before it: that is said, not hidden.
        assert found["context_length"].how == "changed since"
        assert found["dtype"].how == "never set here"

    def test_one_setting_and_a_rolled_back_attempt_is_no_origin(self, history: History) -> None:
        (one,) = blame(history, TARGET, "context_length").settings
        assert one.run == run_id(5)

    def test_a_target_without_records(self, history: History) -> None:
        with pytest.raises(StateError, match="no record says"):
            blame(history, "gpu9/llm")


class TestAudit:
    def test_a_quarter(self, history: History) -> None:
        found = audit(history, "context_length", quarter("2026Q1"), targets=["gpu8/llm"], now=APRIL + 86400)
        (net,) = found.net
        assert (net.target, net.before, net.after, net.changes) == (TARGET, "32768", "131072", 2)
        (made,) = found.changes
        assert (made.operator, made.reason, made.ticket, made.outage_s) == ("robin", "longer documents", "OPS-9", "251")
        assert made.held_s == 2 * 86400
        (hand,) = found.found
        assert (hand.before, hand.after, hand.kind) == ("200000", "131072", "found")
        (tried,) = found.attempts
        assert (tried.outcome, tried.held_s) == ("rolled-back", None)
        unseen = [(one.target, one.why) for one in found.unseen]
        assert ("gpu8/llm", "no record at all") in unseen
        assert (TARGET, "59 days without a record") in unseen
        assert found.doubts[0].what.startswith("not signed: 3 of 3")

    def test_each_form(self, history: History) -> None:
        found = audit(history, "context_length", quarter("2026Q1"), now=APRIL)
        assert too_wide(audit_text(found)) == []
        assert "all times are UTC" in audit_text(found)
        rows = list(csv.DictReader(io.StringIO(audit_csv(found))))
        assert {row["kind"] for row in rows} == {"net", "change", "found", "attempt", "not observed", "doubt"}
        assert "| gpu7/llm | 32768 → 200000 |" in audit_markdown(found)

    def test_a_value_that_begins_like_a_formula_is_text(self, history: History, commit: Commit) -> None:
        commit(8, settings=(), reason="=cmd|' /C calc'!A0", purpose="run")
        found = audit(history, "context_length", quarter("2026Q1"), now=APRIL)
        assert not [line for line in audit_csv(found).splitlines() if ",=" in line]

    def test_outside_the_quarter_nothing_counts(self, history: History) -> None:
        found = audit(history, "context_length", quarter("2026Q2"), now=APRIL + 86400)
        assert (found.net, found.changes) == ((), ())
        assert [one.why for one in found.unseen] == ["no record in the period"]

    def test_an_edited_record_and_a_rewritten_branch_are_named(self, history: History, git: GitCommand) -> None:
        (path,) = history.path.glob(f"*/*/*/{run_id(3)}/record.json")
        path.write_text(path.read_text().replace("robin", "somebody"))
        git("commit", "-q", "-am", "nothing to see")
        git("commit", "-q", "--amend", "-m", "nothing at all")
        what = " ".join(one.what for one in audit(history, "context_length", quarter("2026Q1"), now=APRIL).doubts)
        assert f"changed or took away gpu7/llm/2026/{run_id(3)}/record.json" in what
        assert "the branch was rewritten here: commit (amend)" in what

    @pytest.mark.parametrize("text", ["2026", "2026Q5", "Q3"])
    def test_what_is_no_quarter(self, text: str) -> None:
        with pytest.raises(UsageError, match="not a quarter"):
            quarter(text)


class TestCompare:
    def test_noise_is_no_difference(self, history: History) -> None:
        (compared,) = compare_runs(history, run_id(3), run_id(4))
        (figure,) = compared.figures
        assert figure.verdict == "no difference shown"
        assert figure.low is not None
        assert figure.low < 0 < (figure.high or 0)
        assert "1% between restarts is assumed" in sentence(figure)
        assert compared.settings == ()

    def test_five_percent_is_said_with_its_interval(self, history: History) -> None:
        (compared,) = compare_runs(history, run_id(3), run_id(6))
        (figure,) = compared.figures
        assert figure.verdict == "suggestive"
        assert figure.change == pytest.approx(0.05, abs=0.004)
        assert figure.low is not None
        assert 0 < figure.low < 0.05 < (figure.high or 0)
        assert [(d.name, d.a, d.b) for d in compared.settings] == [("context_length", "200000", "131072")]
        text = compare_text([compared])
        assert "suggestive: +" in text
        chart = text.partition("over context tokens, A x, B o\n")[2]
        assert "x" in chart
        assert "o" in chart
        assert too_wide(text) == []

    def test_one_process_needs_no_allowance_for_restarts(self, history: History, commit: Commit) -> None:
        from tests.results.queries.conftest import sweep

        commit(9, findings=sweep(1.02), stack_before=stack(context_length="131072"), invocation_after="i6")
        (compared,) = compare_runs(history, run_id(6), run_id(9))
        assert compared.figures[0].verdict == "changed"

    def test_runs_without_a_figure_in_common(self, history: History) -> None:
        (compared,) = compare_runs(history, run_id(1), run_id(3))
        assert compared.figures == ()
        assert compared.only_b == ("decode_rate",)


class TestFindingARun:
    def test_by_its_beginning(self, history: History) -> None:
        (row,) = find_rows(history, run_id(3).lower())
        record = record_of(history, row)
        assert record.run == run_id(3)
        assert settings_of(record.model_dump(mode="json"))["context_length"] == "200000"
        message = history.git.run("log", "-1", "--format=%B", row.sha).out
        text = record_text(record, message, row.sha)
        assert too_wide(text) == []
        assert "decode_rate analysis (tok/s) over context tokens" in text
        assert "Run-Id:" not in text

    @pytest.mark.parametrize(
        ("prefix", "said"), [("01KAYX5V", "runs begin with"), ("01KB", "no record"), ("*", "is not")]
    )
    def test_what_names_no_one_run(self, history: History, prefix: str, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            find_rows(history, prefix)


class TestList:
    @pytest.mark.parametrize(
        ("only", "runs"),
        [
            (Filter(setting="context_length"), "5321"),
            (Filter(outcome="rolled-back"), "2"),
            (Filter(operator="ROBIN"), "3"),
            (Filter(text="longer Documents"), "3"),
            (Filter(since="2026-03-03", until="2026-03-05"), "43"),
            (Filter(setting="context_length", operator="robin", outcome="verified"), "3"),
            (Filter(runbook="extend"), ""),
            (Filter(unit="engine-llm"), "654321"),
            (Filter(text=".*"), ""),
        ],
    )
    def test_filters(self, history: History, only: Filter, runs: str) -> None:
        assert "".join(row.run[-1] for row in find(history, only)) == runs

    @pytest.mark.parametrize(
        "text",
        ["soon", "2026-13-45", "2026-02-30", "2026-03-01T25:00", "99999999999999.days", "1234567", "last", "-1.days"],
    )
    def test_what_is_no_time(self, history: History, text: str) -> None:
        """git would make one of every text with a digit in it."""
        with pytest.raises(UsageError, match="is not a time"):
            list(find(history, Filter(since=text)))

    @pytest.mark.parametrize("text", ["12h", "30.days", "3 weeks ago", "yesterday", "last.friday"])
    def test_spans_reach_back_from_now(self, history: History, text: str) -> None:
        now = time.time()
        assert now - 32 * 86400 < history.moment(text) < now

    def test_a_time_without_a_zone_is_utc(self, history: History, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TZ", "America/New_York")
        midnight = history.moment("2026-03-01")
        assert midnight == 1772323200.0
        assert history.moment("2026-03-01 06:00") == midnight + 6 * 3600
        assert history.moment("2026-03-01T06:00+02:00") == midnight + 4 * 3600


def test_trend(history: History) -> None:
    found = trend_of(history, TARGET, name="decode_rate", by_stack=False)
    assert len(found) == 4
    assert [len(one.points) for one in found] == [3, 3, 3, 3]
    assert too_wide(trend_text(found)) == []
    assert "newest" in trend_text(found)
