"""Will it fit? Will it come back? What else goes live? Who else is touched? And what cannot be said."""

from __future__ import annotations

from typing import Any

import pytest

from console.planning.answers import answered
from console.planning.estimates import prices, span
from console.schema.change import ReloadChange, RestartChange
from console.schema.facts import LedgerEntry, LockState
from console.schema.plan import Activation, Answers, FileEdit, Plan, PlannedStep, SettingChange
from console.steps.service_verify import probe_size
from tests.fakes import FRAGMENT, SGLANG, facts, host, plan, serving, target

RELOAD = ReloadChange(id="c2", step="reload", unit="chat.service")
RESTART = RestartChange(id="c3", step="restart", unit="chat.service", invocation_before="")


def setting(name: str, before: str | None, after: str) -> SettingChange:
    return SettingChange(setting=name, flag=f"--{name}", before=before, after=after, path=FRAGMENT, line=1)


def edit(path: str = FRAGMENT, real_path: str = "") -> FileEdit:
    digest = "a" * 64
    return FileEdit(
        path=path,
        real_path=real_path or path,
        splices=(),
        sha256_before=digest,
        sha256_after=digest,
        diff="",
        steps=("set",),
        change="c1",
    )


def raised(to: str, *more: SettingChange, **of_plan: Any) -> Plan:
    return plan(settings=(setting("context_length", "32768", to), *more), changes=(RELOAD, RESTART), **of_plan)


def ask(made: Plan, **seen: Any) -> Answers:
    return answered(made, facts(**seen), SGLANG).answers


def test_a_pool_that_holds_the_window() -> None:
    said = ask(raised("32768")).fits
    assert said[0] == "the pool will hold 88,000 tokens: 2.69 requests of 32,768"


def test_a_pool_that_does_not() -> None:
    said = ask(raised("88001")).fits
    assert said[0] == (
        "NO, starts but cannot serve: the pool will hold 88,000 tokens, one request of 88,001 needs more; "
        "the largest served would be 87,994"
    )


def test_a_model_whose_limit_is_not_known_is_not_promised() -> None:
    said = ask(raised("88000")).fits
    assert said[0].startswith("not judged before the restart: the pool holds 88,000 tokens, but how long a context")
    assert "the model: the command line names none that could be read" in said[-1]


def test_suffixes_of_the_engine_are_tokens() -> None:
    assert ask(raised("200k")).fits[0].startswith("NO, starts but cannot serve")
    assert "requests of 32,000" in ask(raised("32k")).fits[0]


def test_a_window_that_does_not_change() -> None:
    assert ask(plan(settings=(setting("served_model_name", "a", "b"),))).fits == ("the window does not change",)


@pytest.mark.parametrize(("name", "value"), [("mem_fraction", "0.9"), ("kv_cache_dtype", "fp8_e4m3")])
def test_what_resizes_the_pool_is_not_judged_without_the_model(name: str, value: str) -> None:
    said = ask(raised("200000", setting(name, None, value))).fits
    assert said[0].startswith(f"not judged before the restart: the pool cannot be predicted ({name})")


def test_one_that_is_so_already_resizes_nothing() -> None:
    made = raised("32000", unchanged=(setting("mem_fraction", "0.85", "0.85"),))
    assert ask(made).fits[0].endswith("requests of 32,000")


def test_a_pool_that_cannot_be_seen_is_not_judged() -> None:
    hidden = ask(raised("1"), serving=None, serving_reason="HTTP 503").fits
    assert hidden[0].startswith("not judged before the restart: ")
    assert "the running pool: HTTP 503" in hidden[-1]
    assert "not reported" in ask(raised("1"), serving=serving(pool_tokens=None)).fits[-1]


def test_a_window_that_is_no_number() -> None:
    assert "many is no number of tokens" in ask(raised("many")).fits[0]


def test_will_it_come_back() -> None:
    said = ask(raised("1"), host=host(kernel_driver="550.90.07", library_driver="550.90.07")).comes_back
    assert said == ("restart safe: driver 550.90.07 = libraries 550.90.07, no Xid since boot",)
    xid = "NVRM: Xid (PCI:0000:01:00): 79"
    verdict = "restart would not come back: Xid 79 on GPU 0000:01:00: the GPU has fallen off the bus, in this boot"
    assert ask(raised("1"), host=host(xid_lines=(xid,))).comes_back == (verdict, "1 Xid lines", xid)
    assert ask(raised("1"), host=host(xid_reason="no right")).comes_back == ("nothing could be seen",)


def test_what_else_goes_live() -> None:
    assert ask(raised("1")).also_live == ("nothing",)
    activation = Activation(
        words_added=("--tp-size 8",), words_removed=("--tp-size 4",), environment=("A: absent -> 1",), reason="unseen"
    )
    assert ask(raised("1", activation=activation)).also_live == (
        "--tp-size 4 -> 8 on disk, never restarted: needs --accept-pending",
        "environment A: absent -> 1",
        "unseen",
    )


def test_who_else_is_touched() -> None:
    reload = "daemon-reload reads every unit of the host again"
    assert ask(raised("1")).also_hit == (reload,)
    assert ask(plan()).also_hit == ("nobody that could be seen",)
    said = ask(
        raised("1", edits=(edit("/etc/systemd/system/chat@.service", "/srv/chat@.service"),)),
        unit={"required_by": ("proxy.service", "probe.service")},
    ).also_hit
    assert said[0] == "stops and starts with it: proxy.service, probe.service"
    assert said[2] == "/etc/systemd/system/chat@.service is a link: /srv/chat@.service is what changes"
    assert said[3].endswith("decides every instance of chat@.service")


def test_how_long_nothing_is_served() -> None:
    assert ask(plan()).outage == ("none",)
    assert ask(raised("1")).outage == ("length unknown: no earlier start is in the journal, 2 requests in flight",)
    assert ask(raised("1"), load_times_s=(360.0, 300.0, 340.0)).outage == (
        "about 6 min (3 starts: 5 min to 6 min), 2 requests in flight",
    )
    assert ask(raised("1"), unit={"active_state": "failed"}).outage == ("none: the unit is failed now",)
    starting = {"active_state": "activating", "sub_state": "auto-restart"}
    assert ask(raised("1"), unit=starting, load_times_s=(340.0,)).outage == (
        "about 6 min (as the last start): the unit is activating (auto-restart) now, the restart begins anew",
    )
    assert ask(raised("1"), serving=None).outage[0].endswith("requests in flight not visible")


def proving(to: str, *more: SettingChange, probe: str = "auto", **of_plan: Any) -> Plan:
    step = PlannedStep(
        id="verify", index=1, uses="service.verify", title="prove it", fields={"probe": probe}, on_failure="stop"
    )
    return raised(to, *more, steps=(step,), **({"old_limit_tokens": 32_768} | of_plan))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (proving("80000"), "one request of 32,832 tokens (past-old), about 33 s"),
        (proving("16384"), "one request of 64 tokens (short), about 0 s"),
        (proving("80000", probe="full"), "one request of 79,990 tokens (full), about 80 s"),
        (proving("80000", old_limit_tokens=None), "one request of 79,990 tokens (full), about 80 s"),
        (
            proving("200000", setting("mem_fraction", None, "0.9"), probe="full"),
            "one request of up to 199,990 tokens (full), about 3 min",
        ),
    ],
)
def test_what_the_proof_costs(made: Plan, said: str) -> None:
    assert ask(made, prefill_tok_s=1000.0).proof == (said,)
    assert ask(made).proof == (said.rpartition(", ")[0] + ", time unknown: no prefill rate seen yet",)


def test_no_proof_no_cost() -> None:
    assert ask(raised("80000")).proof == ()
    assert ask(proving("80000", nothing_to_do=True)).proof == ()
    skipped = tuple(step.model_copy(update={"skipped": "not wanted"}) for step in proving("1").steps)
    assert ask(raised("80000", steps=skipped)).proof == ()


def test_the_plan_says_the_size_that_the_step_then_asks_for() -> None:
    """After a restart the process has logged no rate and served nobody, as the step will find it."""
    made = proving("80000")
    said = ask(made, prefill_tok_s=50_000.0).proof[0]
    tokens, kind = probe_size(
        "auto",
        SGLANG,
        serving(context_length=80_000),
        old_limit_tokens=32_768,
        window_set=True,
        quiet=False,
        prefill_tok_s=None,
    )
    assert said.startswith(f"one request of {tokens:,} tokens ({kind})")


def test_a_simulated_hosts_loads_are_counted_in_its_own_time_once() -> None:
    made = plan(target=target(speed=50.0), changes=(RESTART,))
    assert ask(made, load_times_s=(300.0,)).outage[0].startswith("about 5 min (as the last start)")


def test_the_inventorys_word_for_how_long_it_loads() -> None:
    here = target()
    service = here.service.model_copy(update={"load_time": 720.0})
    made = plan(target=here.model_copy(update={"service": service}), changes=(RESTART,))
    assert ask(made).outage[0].startswith("about 12 min (load_time in hosts.toml)")


def test_what_the_way_back_takes() -> None:
    assert ask(plan()).undo == ("nothing to put back",)
    (said,) = ask(raised("1", edits=(edit(),)), load_times_s=(340.0,)).undo
    assert said == "file at once, service after about 6 min; backup and undo.sh in /var/lib/console on the host"


def test_what_is_in_the_way() -> None:
    assert ask(plan()).blocked_by == ("no open run or lock",)
    said = ask(
        plan(),
        lock=LockState(held=True, run="R1", operator="kim", since="03:02"),
        ledger=(
            LedgerEntry(run="R0", state="open", operator="lee", summary="context_length 1 -> 2"),
            LedgerEntry(run="RZ", state="verified"),
        ),
    ).blocked_by
    assert said == ("lock of run R1 (kim) since 03:02", "open run R0 of lee: context_length 1 -> 2")


@pytest.mark.parametrize(
    ("sudo", "said"), [("password", "asking for a password"), ("refused", "not allowed"), ("absent", "not there")]
)
def test_a_ledger_that_cannot_be_read_is_not_an_empty_one(sudo: str, said: str) -> None:
    hidden = f"open runs not visible: the ledger is root's, and sudo is {said}"
    assert ask(plan(), host=host(sudo=sudo)).blocked_by == ("no lock", hidden)
    held = LockState(held=True, run="R1", operator="kim", since="03:02")
    assert ask(plan(), host=host(sudo=sudo), lock=held).blocked_by == ("lock of run R1 (kim) since 03:02", hidden)
    entry = LedgerEntry(run="R0", state="open", operator="lee", summary="a change")
    assert ask(plan(), host=host(sudo=sudo), ledger=(entry,)).blocked_by == ("open run R0 of lee: a change",)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (89.0, "89 s"), (90.0, "2 min"), (720.0, "12 min"), (3900.0, "65 min"), (5400.0, "1 h 30 min")],
)
def test_durations_for_people(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_every_choice_after_a_stop_has_its_price() -> None:
    before = prices(plan(load_estimate_s=720.0), restarted=False)
    after = prices(plan(load_estimate_s=720.0), restarted=True)
    assert before.keys() == after.keys() == {"leave", "rollback", "wait"}
    assert "not touched" in before["rollback"]
    assert "about 12 min without service" in after["rollback"]
    assert "an unknown load time" in prices(plan(), restarted=True)["rollback"]
