"""A start followed from the old process's last second to the new one's first answer, or to what ended it."""

from __future__ import annotations

from typing import Any

import pytest

from console.engines.base import LogLine, Reply
from console.facts.readiness import (
    ASK_AGAIN_S,
    CRASH_LOOP_RESTARTS,
    STALE_PORT_S,
    STALL_S,
    UNSAID_S,
    Answer,
    Readiness,
    Verdict,
    ask,
)
from console.facts.watch import PortOwner, Watch
from tests.fakes import NEW, NEWER, OLD, SGLANG, FakeRemote, watch

ARGS = LogLine("args", "server_args=ServerArgs(...)")
WEIGHTS = LogLine("weights", "Loading safetensors: 3/10", done=3, total=10)
LISTENING = LogLine("listening", "Uvicorn running")
READY = LogLine("ready", "The server is fired up and ready to roll!")
NO_MEMORY = LogLine("failure", "CUDA out of memory", cause="out-of-memory", certainty=90)
DECODE = LogLine("decode", "Decode batch. #running-req: 1")
UP = Answer(up=True, context_length=200_000)


def follow(
    *looks: tuple[float, Watch], restarted: bool = True, before: str = OLD, answer: Answer = UP, **more: Any
) -> list[Verdict]:
    """The verdict after each look, made at these seconds after the restart; an engine that is asked says `answer`."""
    readiness = Readiness(SGLANG, before, restarted, started_at=100.0, **more)
    return [judged(readiness, seen, 100.0 + at, answer) for at, seen in looks]


def judged(readiness: Readiness, seen: Watch, now: float, answer: Answer) -> Verdict:
    verdict = readiness.observe(seen, now)
    return readiness.heard(answer, now) if verdict.ask else verdict


def up(*lines: LogLine, **more: Any) -> Watch:
    """A look at the new start with its port open."""
    given: dict[str, Any] = {"port": "unit", "port_pid": 55, "active_state": "active"}
    return watch(NEW, *lines, **(given | more))


def test_stopping_starting_weights_ready() -> None:
    verdicts = follow(
        (0.0, watch(OLD, active_state="deactivating", port="unit")),
        (1.0, watch(NEW)),
        (2.0, watch(NEW, ARGS, WEIGHTS)),
        (3.0, watch(NEW, LISTENING, port="unit", active_state="active")),
        (4.0, watch(NEW, READY, port="unit", active_state="active")),
    )
    assert [verdict.phase for verdict in verdicts] == ["stopping", "starting", "weights", "warmup", "ready"]
    assert [verdict.state for verdict in verdicts] == ["waiting"] * 4 + ["ready"]
    assert (verdicts[2].done, verdicts[2].total) == (3, 10)
    assert verdicts[-1].invocation == NEW


def test_the_old_process_that_still_answers_is_not_the_new_one() -> None:
    verdicts = follow(
        (0.0, watch(OLD, READY, port="unit", active_state="active", sub_state="running")),
        (0.2, watch(OLD, READY, port="unit", active_state="deactivating")),
    )
    assert {verdict.phase for verdict in verdicts} == {"stopping"}
    assert all(verdict.invocation == "" for verdict in verdicts)


def test_an_open_port_is_not_ready_while_the_log_says_it_loads() -> None:
    (verdict,) = follow((1.0, up(ARGS)))
    assert (verdict.state, verdict.message) == ("waiting", "it answers, its log does not say yet that it is ready")


def test_the_ready_line_is_not_enough_without_the_port() -> None:
    (verdict,) = follow((1.0, watch(NEW, ARGS, READY, active_state="active")))
    assert (verdict.state, verdict.ask) == ("waiting", False)


@pytest.mark.parametrize("error", ["HTTP 503", "no answer within 5 s"])
def test_neither_are_line_and_port_without_an_answer(error: str) -> None:
    verdicts = follow((1.0, up(ARGS, READY)), (90.0, up()), answer=Answer(up=False, error=error))
    assert [verdict.state for verdict in verdicts] == ["waiting"] * 2
    assert verdicts[-1].message == f"port open, no answer yet: {error}"


def test_a_journal_that_dropped_the_one_line_costs_a_while_and_not_the_service() -> None:
    verdicts = follow((1.0, up(ARGS)), (9.0, up(LISTENING)), (6.9 + UNSAID_S, up()), (9.0 + UNSAID_S, up(DECODE)))
    assert [verdict.state for verdict in verdicts] == ["waiting"] * 3 + ["ready"]
    assert verdicts[-1].message == "it answered for 30 s, its log does not say that it is ready"


def test_without_a_journal_an_open_port_is_not_ready_before_the_warm_up_had_its_time() -> None:
    verdicts = follow((1.0, up()), (-1.1 + UNSAID_S, up()), (1.0 + UNSAID_S, up()))
    assert [verdict.state for verdict in verdicts] == ["waiting", "waiting", "ready"]


def test_only_answers_without_a_gap_count() -> None:
    readiness = Readiness(SGLANG, OLD, True, started_at=100.0)
    down = Answer(up=False, error="HTTP 503")
    answers = [(101.0, UP), (120.0, down), (122.0, UP), (101.0 + UNSAID_S, UP)]
    assert [judged(readiness, up(), at, answer).state for at, answer in answers] == ["waiting"] * 4
    assert judged(readiness, up(), 122.0 + UNSAID_S, UP).state == "ready"


def test_the_next_start_of_systemd_has_not_answered_yet() -> None:
    again = watch(NEWER, n_restarts=1, port="unit", active_state="active")
    verdicts = follow((1.0, up()), (1.0 + UNSAID_S, again), (2.0 + UNSAID_S, again))
    assert [verdict.state for verdict in verdicts] == ["waiting"] * 3


def test_an_engine_is_not_asked_more_often_than_its_log_bears() -> None:
    readiness = Readiness(SGLANG, OLD, True, started_at=100.0)
    assert readiness.observe(up(ARGS), 101.0).ask
    readiness.heard(UP, 101.0)
    assert not readiness.observe(up(), 101.1).ask
    assert readiness.observe(up(), 101.0 + ASK_AGAIN_S).ask
    readiness.heard(UP, 101.0 + ASK_AGAIN_S)
    assert readiness.observe(up(READY), 101.1 + ASK_AGAIN_S).ask, "now its answer decides"


def test_the_window_of_the_unit_must_be_the_one_that_is_served() -> None:
    verdicts = follow(
        (1.0, up(ARGS, READY)),
        (1.0 + STALE_PORT_S, up()),
        answer=Answer(up=True, context_length=32_768),
        expected_context=200_000,
    )
    assert [verdict.state for verdict in verdicts] == ["waiting", "failed"]
    assert verdicts[-1].cause == "other-context"
    assert verdicts[-1].message == "a context of 32768 is served, and 200000 is in the unit"


@pytest.mark.parametrize("served", [200_000, None])
def test_a_window_that_is_right_or_for_the_proof_to_see(served: int | None) -> None:
    (verdict,) = follow((1.0, up(ARGS, READY)), answer=Answer(up=True, context_length=served), expected_context=200_000)
    assert verdict.state == "ready"


def test_what_the_service_left_running_answers_for_nobody() -> None:
    """KillMode=process: a child of the old start stays in the unit's control group, and keeps the port."""
    left = up(ARGS, READY, port_pid=44)
    verdicts = follow((1.0, left), (1.0 + STALE_PORT_S, left), pid_before=44)
    assert [verdict.state for verdict in verdicts] == ["waiting", "failed"]
    assert verdicts[-1].message == "port held by process 44, which is from before the restart"
    assert follow((1.0, left), pid_before=41)[0].state == "ready"


class Engine(FakeRemote):
    def __init__(self, replies: dict[str, Reply]) -> None:
        super().__init__()
        self.by_path = replies

    async def fetch(self, request: Any, *, patience_s: float = 0.0) -> Reply:
        self.requests.append(request)
        return self.by_path.get(request.path, Reply(404))


MODELS = Reply(200, b'{"data": [{"id": "chat", "max_model_len": 200000}]}')


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ({"/v1/models": MODELS}, UP),
        ({"/server_info": Reply(200, b'{"context_length": 200000}')}, UP),
        ({"/v1/models": Reply(503)}, Answer(up=False, error="HTTP 503")),
        ({"/v1/models": Reply(0, error="connection refused")}, Answer(up=False, error="connection refused")),
        ({"/v1/models": Reply(401)}, Answer(up=True)),
        ({}, Answer(up=False, error="HTTP 404")),
    ],
)
async def test_asking(replies: dict[str, Reply], said: Answer) -> None:
    engine = Engine(replies)
    assert await ask(engine, SGLANG) == said
    assert all(request.method == "GET" and "health" not in request.path for request in engine.requests)
    assert engine.requests[0].timeout_s <= 5.0


@pytest.mark.parametrize("owner", ["foreign", "unseen", "none"])
def test_without_a_journal_another_port_does_not(owner: PortOwner) -> None:
    (verdict,) = follow((1.0, watch(NEW, port=owner, active_state="active")))
    assert verdict.state == "waiting"


def test_a_service_that_has_served_for_long_is_ready_though_its_first_lines_are_gone() -> None:
    seen = watch(OLD, DECODE, DECODE, port="unit", active_state="active")
    (verdict,) = follow((0.0, seen), restarted=False)
    assert (verdict.state, verdict.invocation) == ("ready", OLD)


def test_without_a_restart_any_start_will_do() -> None:
    (verdict,) = follow((0.0, watch(OLD, ARGS, READY, port="unit", active_state="active")), restarted=False)
    assert verdict.state == "ready"


def test_a_process_of_nobodys_may_hold_the_port_for_a_moment_only() -> None:
    seen = watch(NEW, ARGS, port="foreign", port_pid=99, active_state="active")
    verdicts = follow((0.0, seen), (STALE_PORT_S - 0.1, seen), (STALE_PORT_S, seen))
    assert [verdict.state for verdict in verdicts] == ["waiting", "waiting", "failed"]
    assert verdicts[0].message == "port still held by process 99"
    assert verdicts[-1].cause == "stale-port"
    assert "process 99, which is not of this unit" in verdicts[-1].message


def test_a_port_let_go_of_in_between_counts_anew() -> None:
    stale = watch(NEW, ARGS, port="foreign", port_pid=99, active_state="active")
    free = watch(NEW, active_state="active")
    verdicts = follow((0.0, stale), (4.0, free), (6.0, stale), (10.9, stale))
    assert [verdict.state for verdict in verdicts] == ["waiting"] * 4


def test_a_start_that_failed_says_why() -> None:
    (verdict,) = follow(
        (1.0, watch(NEW, ARGS, NO_MEMORY, active_state="failed", result="exit-code", exec_main_status=1))
    )
    assert (verdict.state, verdict.cause) == ("failed", "out-of-memory")
    assert verdict.message == "the unit failed (exit-code, status 1): CUDA out of memory"
    assert verdict.lines == ("CUDA out of memory",)


def test_a_start_that_failed_without_a_known_cause_shows_its_last_lines() -> None:
    seen = watch(NEW, raw=[f"line {number}" for number in range(9)], active_state="failed", exec_main_code="killed")
    (verdict,) = follow((1.0, seen))
    assert verdict.message == "the unit failed (killed, status 0)"
    assert verdict.lines == tuple(f"line {number}" for number in range(3, 9))


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        ({"active_state": "failed", "result": "start-limit-hit"}, "the unit is failed (start-limit-hit)"),
        ({"active_state": "inactive", "result": "success"}, "the unit is inactive (a condition or a dependency)"),
    ],
)
@pytest.mark.parametrize("invocation", [OLD, ""])
def test_a_restart_that_no_start_came_of_is_not_waited_for(unit: dict[str, Any], said: str, invocation: str) -> None:
    seen = watch(invocation, **unit)
    verdicts = follow((0.0, seen), (0.5, seen), before=invocation)
    assert [verdict.state for verdict in verdicts] == ["waiting", "failed"]
    assert verdicts[-1].message == f"systemd started nothing: {said}"


def test_a_job_that_is_left_can_still_bring_a_start() -> None:
    gone, queued = watch(OLD, active_state="inactive"), watch(OLD, active_state="inactive", job="9")
    assert [verdict.state for verdict in follow((0.0, gone), (0.2, queued), (0.4, gone))] == ["waiting"] * 3


def test_a_unit_that_had_failed_before_is_not_our_start_failing() -> None:
    (verdict,) = follow((0.0, watch(OLD, active_state="failed", result="exit-code")))
    assert (verdict.state, verdict.phase) == ("waiting", "stopping")


def test_a_service_that_stopped_is_over() -> None:
    verdicts = follow((1.0, watch(NEW, ARGS)), (2.0, watch(NEW, active_state="inactive", sub_state="dead")))
    assert (verdicts[-1].state, verdicts[-1].message) == ("failed", "the service stopped")


def test_inactive_with_a_job_is_between_stop_and_start() -> None:
    verdicts = follow((1.0, watch(NEW, ARGS)), (2.0, watch(NEW, active_state="inactive", job="start")))
    assert (verdicts[-1].state, verdicts[-1].message) == ("waiting", "unit is inactive")


def test_one_crash_with_a_known_cause_is_enough() -> None:
    """The lines of the dead start come with the first look at the next one."""
    verdicts = follow((1.0, watch(NEW, ARGS)), (2.0, watch(NEWER, NO_MEMORY, n_restarts=1)))
    assert verdicts[-1].state == "failed"
    assert verdicts[-1].message == "the start failed and systemd started it again 1×: CUDA out of memory"


def test_one_crash_of_unknown_cause_may_be_a_hiccup_more_are_a_loop() -> None:
    assert CRASH_LOOP_RESTARTS == 2
    verdicts = follow(
        (1.0, watch(NEW, ARGS, WEIGHTS)), (2.0, watch(NEWER, n_restarts=1)), (3.0, watch("4" * 32, n_restarts=2))
    )
    assert [verdict.state for verdict in verdicts] == ["waiting", "waiting", "failed"]
    assert verdicts[-1].message == "crash loop: systemd started it again 2 times"
    assert verdicts[1].phase == "starting", "the dead start's progress is not the new one's"


def test_a_start_by_somebody_else_ends_the_wait() -> None:
    verdicts = follow((1.0, watch(NEW, ARGS)), (2.0, watch(NEWER, n_restarts=0)))
    assert (verdicts[-1].state, verdicts[-1].invocation) == ("replaced", NEWER)


def test_lines_of_somebody_elses_start_are_not_read() -> None:
    readiness = Readiness(SGLANG, OLD, True, started_at=100.0)
    readiness.observe(watch(NEW, ARGS), 101.0)
    readiness.observe(watch(NEWER, NO_MEMORY), 102.0)
    assert readiness.failures == []


def test_a_reboot_is_somebody_elses_start() -> None:
    (verdict,) = follow((1.0, watch(NEW, boot_id="boot-2")), boot_id="boot-1")
    assert (verdict.state, verdict.cause) == ("replaced", "reboot")
    assert follow((1.0, watch(NEW, boot_id="")), boot_id="boot-1")[0].state == "waiting"


def test_each_line_is_told_once() -> None:
    told: list[str] = []
    readiness = Readiness(SGLANG, OLD, True, started_at=100.0)
    readiness.observe(watch(OLD, LogLine("stopping", "old")), 100.0, lambda line: told.append(line.text))
    readiness.observe(watch(NEW, ARGS, WEIGHTS), 101.0, lambda line: told.append(line.kind))
    readiness.observe(watch(NEW), 102.0, lambda line: told.append(line.kind))
    assert told == ["args", "weights"]


@pytest.mark.parametrize("what", [{"gpu": 2}, {"read": 2}, {"cursor": "s=2"}, {"sub_state": "running"}])
def test_slow_is_not_broken_while_anything_moves(what: dict[str, Any]) -> None:
    readiness = Readiness(SGLANG, OLD, True, started_at=100.0)
    still: dict[str, Any] = {"gpu": 1, "read": 1}
    readiness.observe(watch(NEW, **still), 100.0)
    readiness.observe(watch(NEW, **still), 150.0)
    assert readiness.moving(100.0 + STALL_S - 1)
    assert not readiness.moving(100.0 + STALL_S)
    readiness.observe(watch(NEW, **(still | what)), 100.0 + STALL_S)
    assert readiness.moving(100.0 + 2 * STALL_S - 1)


def test_the_rest_is_estimated_from_earlier_loads_until_this_one_says_more() -> None:
    readiness = Readiness(SGLANG, OLD, True, started_at=100.0, load_estimate_s=60.0)
    assert readiness.observe(watch(NEW, ARGS), 110.0).eta_s == 50.0
    half = readiness.observe(watch(NEW, LogLine("weights", "5/10", done=5, total=10)), 120.0).eta_s
    assert half is not None
    assert half != 40.0
    assert readiness.observe(watch(NEW), 400.0).eta_s is not None
