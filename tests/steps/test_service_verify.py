"""The proof: four levels, the pool, and a real generation; nothing unseen passes for seen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from console.engines.base import Reply
from console.errors import NotServedError, RestartedByOthersError, UnreachableError
from console.remote.session import Reader
from console.schema.events import FactsRead, FindingMade, LevelsRead, StepProgress, Verified
from console.schema.facts import Facts, Process
from console.steps import service_verify
from console.steps.base import StepIO, StepResult
from console.steps.service_verify import FULL_PROBE_LIMIT_S, ServiceVerify
from tests.fakes import (
    ARGV,
    NEW,
    NEWER,
    OLD,
    UNIT,
    FakeRemote,
    Told,
    facts,
    host,
    ok,
    plan,
    serving,
    shown,
    state,
    step_io,
)

RAISED = UNIT.replace("32768", "200000")
SERVED = serving(context_length=200_000, pool_tokens=203_386, settings={"mem_fraction": "0.85"})
OLD_LIMIT = 32_768


def generated(prompt_tokens: int | None, completion_tokens: int | None = 8, **more: Any) -> Reply:
    meta = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "e2e_latency": 1.2345} | more
    return Reply(200, json.dumps({"text": "x", "meta_info": meta}).encode(), duration_s=2.0)


def raised(**more: Any) -> Facts:
    """A service that serves the new window, as its files say."""
    given: dict[str, Any] = {"serving": SERVED, "unit": {"invocation_id": NEW}, "prefill_tok_s": 10_000.0}
    return facts(more.pop("text", RAISED), **(given | more))


class Proof:
    """One verify on these facts. `reply` None: the engine counts what it was sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.told = Told()
        self.remote = FakeRemote()

    async def run(
        self,
        seen: Facts,
        reply: Reply | None = None,
        *,
        expected: Mapping[str, str] | None = None,
        probe: str = "auto",
        require: str = "serve",
        **more: Any,
    ) -> StepResult:
        async def collect(reader: Reader, engine: object, *, patience_s: float = 0.0) -> Facts:
            assert patience_s > 0, "a proof outlives a connection"
            return seen

        self.monkeypatch.setattr(service_verify, "collect", collect)
        given: dict[str, Any] = {"expected": dict(expected or {"context_length": "200000"}), "invocation": NEW}
        self.remote.unit = seen.unit
        io: StepIO = step_io(
            self.remote, "service.verify", self.told, **({"old_limit_tokens": OLD_LIMIT} | given | more)
        )
        if reply is not None:
            self.remote.replies = [reply]
        else:
            self.monkeypatch.setattr(self.remote, "fetch", self._count)
        step = ServiceVerify.model_validate({"probe": probe, "require": require})
        return await step.run(io)

    async def _count(self, request: Any, *, patience_s: float = 0.0) -> Reply:
        self.remote.requests.append(request)
        return generated(len(request.json["input_ids"]))

    @property
    def tokens(self) -> int:
        (request,) = self.remote.requests
        assert request.json is not None
        return len(request.json["input_ids"])


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch) -> Proof:
    return Proof(monkeypatch)


async def test_all_of_it(proof: Proof) -> None:
    result = await proof.run(raised())
    assert (result.outcome, result.message) == ("ok", "served: context_length 200000, pool 203386")
    (levels,) = proof.told.of(LevelsRead)
    assert levels.agree
    (verified,) = proof.told.of(Verified)
    assert verified.invocation_id == NEW
    findings = {event.name: event.value for event in proof.told.of(FindingMade)}
    assert findings["pool_tokens"] == 203_386
    assert findings["prompt_tokens"] == proof.tokens > OLD_LIMIT
    assert findings["probe_time"] == pytest.approx(1.2345, abs=0.001)


async def test_the_processes_environment_stays_out_of_the_log(proof: Proof) -> None:
    await proof.run(raised(environment={"HF_HOME": "/models", "COLOUR": "mauve"}))
    (read,) = proof.told.of(FactsRead)
    assert read.when == "after"
    assert "mauve" not in json.dumps(read.facts)


DIFFERENT = tuple("16384" if word == "32768" else word for word in ARGV)


@pytest.mark.parametrize(
    ("seen", "where"),
    [
        (raised(text=UNIT, running=ARGV), "and 32768 on disk"),
        (raised(unit={"invocation_id": NEW, "exec_start": (" ".join(DIFFERENT),)}), "16384 as systemd loaded it"),
        (raised(running=DIFFERENT), "16384 in the running process"),
        (raised(serving=serving(context_length=16_384, pool_tokens=203_386)), "16384 as served"),
    ],
    ids=["disk", "loaded", "running", "serving"],
)
async def test_each_level_must_say_the_same(proof: Proof, seen: Facts, where: str) -> None:
    with pytest.raises(NotServedError, match=where) as caught:
        await proof.run(seen)
    assert caught.value.where == "node7/chat"
    assert proof.remote.requests == [], "nothing is generated for what is not served"
    assert proof.told.of(LevelsRead), "the levels are on record all the same"
    assert not proof.told.of(Verified)


async def test_what_is_served_must_be_seen(proof: Proof) -> None:
    with pytest.raises(NotServedError, match=r"cannot be seen: HTTP 503"):
        await proof.run(raised(serving=None, serving_reason="HTTP 503"))
    with pytest.raises(NotServedError, match=r"cannot be seen: not reported"):
        await proof.run(raised(serving=serving(context_length=None)))


async def test_values_are_compared_by_meaning(proof: Proof) -> None:
    text = UNIT.replace("32768", "200k")
    assert (await proof.run(raised(text=text))).outcome == "ok"


WITHOUT = UNIT.replace("  --mem-fraction-static 0.85 \\\n", "")
WITHOUT_ARGV = [*ARGV[:7], *ARGV[9:]]
SILENT = serving(context_length=200_000, pool_tokens=203_386)


@pytest.mark.parametrize(
    ("seen", "where"),
    [
        (raised(text=WITHOUT, running=ARGV), "on disk"),
        (raised(text=UNIT, unit={"invocation_id": NEW, "exec_start": (" ".join(WITHOUT_ARGV),)}), "systemd loaded it"),
        (raised(text=UNIT, running=WITHOUT_ARGV, serving=SILENT), "in the running process"),
    ],
    ids=["disk", "loaded", "running"],
)
async def test_a_command_line_without_the_flag_is_not_as_wanted(proof: Proof, seen: Facts, where: str) -> None:
    with pytest.raises(NotServedError, match=rf"mem_fraction is 0\.85 in the unit and not given .*{where}"):
        await proof.run(seen, expected={"mem_fraction": "0.85"})


async def test_a_process_that_took_another_name_is_judged_by_what_it_reports(proof: Proof) -> None:
    seen = raised(text=UNIT, running=["sglang::server"])
    assert (await proof.run(seen, expected={"mem_fraction": "0.85"})).outcome == "ok"


async def test_a_switch_that_is_wanted_off_is_absent(proof: Proof) -> None:
    assert (await proof.run(raised(), expected={"metrics": "false"})).outcome == "ok"


async def test_a_level_that_cannot_be_seen_does_not_fail_it(proof: Proof) -> None:
    seen = raised(process=Process(reason="the process belongs to a container"))
    assert (await proof.run(seen)).outcome == "ok"
    assert proof.told.of(LevelsRead)[0].reasons == {"running": "the process belongs to a container"}


SMALL_POOL = serving(context_length=200_000, pool_tokens=88_000, largest_request_tokens=87_993)


async def test_a_pool_smaller_than_the_window_is_not_served(proof: Proof) -> None:
    with pytest.raises(NotServedError) as caught:
        await proof.run(raised(serving=SMALL_POOL))
    assert "accepted but cannot be served: the KV pool holds 88000 tokens" in caught.value.message
    assert "the largest request served is 87993" in caught.value.message
    assert "require=start" in caught.value.hint


async def test_a_person_may_accept_a_window_that_only_starts(proof: Proof) -> None:
    result = await proof.run(raised(serving=SMALL_POOL), require="start", probe="full")
    assert result.outcome == "ok"
    assert result.message.endswith("pool 88000: the largest request served is 87993 tokens")
    assert proof.tokens < 88_000


async def test_a_pool_of_exactly_the_window_is_enough(proof: Proof) -> None:
    exact = serving(context_length=200_000, pool_tokens=200_000)
    assert (await proof.run(raised(serving=exact))).outcome == "ok"


async def test_a_pool_that_is_not_seen_is_said(proof: Proof) -> None:
    result = await proof.run(raised(serving=serving(context_length=200_000, pool_tokens=None)))
    assert result.message.endswith("pool not seen")


# Fast enough to prefill 200k tokens within the limit, and too slow.
QUICK, SLOW = 200_000 / FULL_PROBE_LIMIT_S * 1.01, 200_000 / FULL_PROBE_LIMIT_S * 0.99
FULL, PAST_OLD, SHORT = 199_990, OLD_LIMIT + 64, 64


@pytest.mark.parametrize(
    ("probe", "seen", "old", "tokens"),
    [
        ("auto", {"prefill_tok_s": QUICK}, OLD_LIMIT, FULL),
        ("auto", {"prefill_tok_s": SLOW}, OLD_LIMIT, PAST_OLD),
        ("auto", {"prefill_tok_s": None}, OLD_LIMIT, PAST_OLD),
        ("auto", {"foreign_requests_60s": 1}, OLD_LIMIT, PAST_OLD),
        ("auto", {"foreign_requests_60s": None}, OLD_LIMIT, PAST_OLD),
        ("auto", {}, 200_000, SHORT),
        ("auto", {}, 400_000, SHORT),
        ("auto", {}, None, FULL),
        ("auto", {"foreign_requests_60s": 9, "prefill_tok_s": SLOW}, None, FULL),
        ("full", {"foreign_requests_60s": 9, "prefill_tok_s": SLOW}, OLD_LIMIT, FULL),
        ("past-old", {}, OLD_LIMIT, PAST_OLD),
        ("past-old", {}, None, FULL),
        ("past-old", {}, 199_980, FULL),
        ("short", {}, OLD_LIMIT, SHORT),
        ("short", {}, None, SHORT),
    ],
)
async def test_how_much_is_asked_for(
    proof: Proof, probe: str, seen: dict[str, Any], old: int | None, tokens: int
) -> None:
    await proof.run(raised(**seen), probe=probe, old_limit_tokens=old)
    assert proof.tokens == tokens
    request = proof.remote.requests[0]
    assert request.json is not None
    assert request.json["rid"] == "console-r1"
    (progress,) = proof.told.of(StepProgress)
    assert progress.message.startswith(f"{tokens} tokens in, 8 out")


async def test_without_a_known_window_the_probe_is_short_and_not_empty(proof: Proof) -> None:
    unknown = serving(context_length=None, settings={"mem_fraction": "0.85"})
    seen = raised(text=UNIT, serving=unknown)
    await proof.run(seen, expected={"mem_fraction": "0.85"}, probe="full", old_limit_tokens=None)
    assert proof.tokens == SHORT


async def test_a_window_that_was_not_set_has_not_risen(proof: Proof) -> None:
    await proof.run(raised(), expected={"mem_fraction": "0.85"}, old_limit_tokens=None)
    assert proof.tokens == SHORT


async def test_where_no_old_limit_is_known_the_whole_prompt_must_be_counted(proof: Proof) -> None:
    with pytest.raises(NotServedError, match=f"counted {FULL - 1} prompt tokens of {FULL}: it cuts long requests"):
        await proof.run(raised(), generated(FULL - 1), old_limit_tokens=None)


async def test_how_long_it_takes_is_estimated_from_the_engines_own_rate(proof: Proof) -> None:
    await proof.run(raised(prefill_tok_s=1000.0), probe="past-old")
    assert proof.told.of(StepProgress)[0].eta_s == PAST_OLD / 1000.0


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (generated(OLD_LIMIT), "counted 32768 prompt tokens, not more than the old limit 32768"),
        (generated(12), "counted 12 prompt tokens"),
        (generated(None), "no token count in the reply"),
        (generated(PAST_OLD, 0), "generated nothing"),
        (generated(PAST_OLD, None), "generated nothing"),
        (Reply(400, b'{"error": {"message": "input is longer than the model\'s context length"}}'), "is longer than"),
        (Reply(0, error="timed out"), "was not served: timed out"),
        (Reply(200, b"not json"), "was not served"),
        (
            generated(PAST_OLD, 8, finish_reason={"type": "abort", "message": "KV cache pool is full"}),
            "KV cache pool is full",
        ),
    ],
)
async def test_a_reply_that_proves_nothing(proof: Proof, reply: Reply, said: str) -> None:
    with pytest.raises(NotServedError, match=said):
        await proof.run(raised(), reply, probe="past-old")
    assert not proof.told.of(Verified)


async def test_one_token_past_the_old_limit_proves_it(proof: Proof) -> None:
    assert (await proof.run(raised(), generated(OLD_LIMIT + 1), probe="past-old")).outcome == "ok"


async def test_another_start_than_the_one_waited_for_is_somebody_elses(proof: Proof) -> None:
    with pytest.raises(RestartedByOthersError) as caught:
        await proof.run(raised(unit={"invocation_id": NEWER}))
    assert caught.value.exit_code == 3
    assert not proof.remote.requests


async def test_without_a_wait_any_new_start_will_do(proof: Proof) -> None:
    assert (await proof.run(raised(unit={"invocation_id": NEWER}), invocation="")).outcome == "ok"


async def test_without_a_wait_the_old_process_still_proves_nothing(proof: Proof) -> None:
    old = raised(unit={"invocation_id": OLD})
    with pytest.raises(NotServedError, match="is still the start from before it") as caught:
        await proof.run(old, invocation="")
    assert "service.wait_ready" in caught.value.hint
    assert not proof.remote.requests
    assert (await proof.run(old, invocation="", restarted=False)).outcome == "ok"


async def test_files_that_changed_since_systemd_read_them_are_not_what_is_served(proof: Proof) -> None:
    with pytest.raises(NotServedError, match="changed since systemd read them"):
        await proof.run(raised(unit={"invocation_id": NEW, "need_daemon_reload": True}))


async def test_a_reboot_is_somebody_elses_start(proof: Proof) -> None:
    with pytest.raises(RestartedByOthersError, match="rebooted meanwhile"):
        await proof.run(raised(host=host(boot_id="boot-2")), invocation="")


@pytest.mark.parametrize("active", ["inactive", "failed", "activating"])
async def test_a_unit_that_is_not_up(proof: Proof, active: str) -> None:
    with pytest.raises(NotServedError, match=f"chat.service is {active}"):
        await proof.run(raised(unit={"invocation_id": NEW, "active_state": active}))


async def test_a_port_that_somebody_else_answers(proof: Proof) -> None:
    seen = raised(process=Process(foreign_pid=99, reason="port 30000 belongs to process 99 outside the unit"))
    with pytest.raises(NotServedError, match=r"port 30000 is answered by process 99, which is not of chat\.service"):
        await proof.run(seen)


async def test_nothing_to_do_generates_nothing(proof: Proof) -> None:
    result = await proof.run(raised(), plan=plan(nothing_to_do=True), invocation="")
    assert (result.outcome, result.message) == ("ok", "already so on disk, loaded, running and serving, pool 203386")
    assert proof.remote.requests == []
    assert not proof.told.of(Verified)


async def test_nothing_to_do_still_looks(proof: Proof) -> None:
    with pytest.raises(NotServedError):
        await proof.run(raised(serving=serving()), plan=plan(nothing_to_do=True), invocation="")


class Dying:
    """A connection that dies under the first of the requests, or under all."""

    def __init__(self, proof: Proof, monkeypatch: pytest.MonkeyPatch, deaths: int) -> None:
        self.proof, self.deaths = proof, deaths
        monkeypatch.setattr(proof, "_count", self._fetch)
        self._counted = proof.remote.requests

    async def _fetch(self, request: Any, *, patience_s: float = 0.0) -> Reply:
        assert patience_s == 0, "a request that may still run is not sent again as it is"
        self._counted.append(request)
        if len(self._counted) <= self.deaths:
            raise UnreachableError("gone")
        return generated(len(request.json["input_ids"]))

    @property
    def ids(self) -> list[str]:
        return [request.json["rid"] for request in self._counted if request.json is not None]


async def test_a_connection_that_dies_under_the_probe_is_opened_again_and_it_is_asked_once_more(
    proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    regained: list[int] = []

    async def again() -> None:
        regained.append(len(dying.ids))

    dying = Dying(proof, monkeypatch, deaths=1)
    assert (await proof.run(raised(), regained=again)).outcome == "ok"
    assert dying.ids == ["console-r1", "console-r1-2"], "the engine may still be at the first one"
    assert regained == [1], "the lock is taken again before anything else"
    assert proof.remote.scripts() == ["look_unit.sh"]


async def test_it_is_not_asked_a_third_time(proof: Proof, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = Dying(proof, monkeypatch, deaths=2)
    with pytest.raises(UnreachableError):
        await proof.run(raised())
    assert len(dying.ids) == 2
    assert not proof.told.of(Verified)


async def test_a_start_that_came_while_the_connection_was_gone_is_not_asked(
    proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = Dying(proof, monkeypatch, deaths=1)
    proof.remote.answers = {"look_unit.sh": ok(unit=shown(state(invocation_id=NEWER)))}
    with pytest.raises(RestartedByOthersError, match="started again under the probe"):
        await proof.run(raised())
    assert len(dying.ids) == 1


async def test_without_expectations_it_proves_that_it_serves(proof: Proof) -> None:
    result = await proof.run(raised(), expected={"model_path": "/models/chat-70b"}, old_limit_tokens=None)
    assert result.outcome == "ok"
