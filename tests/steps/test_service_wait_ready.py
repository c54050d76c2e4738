"""Waiting for a start: slow is not broken, silent is, and nobody else's start is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.engines.base import LogLine as EngineLine
from console.engines.base import Reply
from console.errors import NotReadyError, RestartedByOthersError, UnreachableError
from console.remote.scripts import Output
from console.schema.events import LogLine, StepProgress
from console.steps.base import StepIO, StepResult
from console.steps.service_wait_ready import FIRST_LOOK_S, SLOWEST_POLL_S, ServiceWaitReady, keep
from tests.fakes import NEW, NEWER, OLD, FakeRemote, Told, journal, ok, shown, state, step_io

ARGS = "[2026-01-02 03:01:05] server_args=ServerArgs(model_path='/models/chat-70b', context_length=32768)"
READY = "[2026-01-02 03:01:35] The server is fired up and ready to roll!"
NO_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB."


def look(
    invocation: str = NEW,
    *lines: str,
    active: str = "activating",
    port: str = "",
    read: int = 0,
    lines_of: str = "",
    boot: str = "boot-1",
    **unit: Any,
) -> Output:
    """What look_watch.sh says. `port`: a pid, of the unit or, as `foreign 9`, of somebody else."""
    seen = state(invocation_id=invocation, active_state=active, **unit)
    foreign, _, foreign_pid = port.partition(" ") if port.startswith("foreign") else ("", "", "")
    entries = [(f"s={number}", lines_of or invocation, line) for number, line in enumerate(lines, start=1)]
    return ok(
        unit=shown(seen),
        host=f"boot_id={boot}\nnow=1767322800.250\n",
        journal=journal(*entries),
        process=f"pid={'' if foreign else port}\nforeign={foreign_pid}\nreason=\n",
        read=f"{read}\n",
    )


class Host(FakeRemote):
    """Answers each look with the next of these; the last one stays. `on_look` is told the number of each."""

    def __init__(self, *looks: Output | Exception, on_look: Callable[[int], None] = lambda _number: None) -> None:
        super().__init__()
        self.looks = list(looks)
        self.on_look = on_look
        self.context_length = 200_000

    async def fetch(self, request: Any, *, patience_s: float = 0.0) -> Reply:
        self.requests.append(request)
        self.fetch_patience_s = patience_s
        return Reply(200, b'{"data": [{"id": "chat", "max_model_len": %d}]}' % self.context_length)

    async def look(self, script: str, *args: str, patience_s: float = 0.0, **_: Any) -> Output:
        assert script == "look_watch.sh"
        self.told.append((script, args))
        self.patience_s = patience_s
        self.on_look(len(self.told))
        said = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(said, Exception):
            raise said
        return said


async def wait(host: Host, told: Told | None = None, timeout_s: float = 60.0, **more: Any) -> StepResult:
    step = ServiceWaitReady(hard_timeout=more.pop("hard_timeout", 600.0))
    return await step.run(step_io(host, "service.wait_ready", told or Told(), timeout_s=timeout_s, **more))


async def test_it_follows_the_new_start_until_it_serves() -> None:
    told = Told()
    host = Host(
        look(OLD, active="deactivating", port="41"),
        look(NEW, ARGS),
        look(NEW, READY, active="active", port="55"),
    )
    result = await wait(host, told)
    assert result.outcome == "ok"
    assert result.message.endswith(f"invocation {NEW[:8]}")
    assert [event.phase for event in told.of(StepProgress)] == ["stopping", "starting"]
    assert [event.kind for event in told.of(LogLine)] == ["args", "ready"]


async def test_the_engine_itself_must_answer_with_the_window_of_the_unit() -> None:
    host = Host(look(NEW, ARGS, READY, active="active", port="55"))
    assert (await wait(host, expected={"context_length": "200k"})).outcome == "ok"
    assert [request.path for request in host.requests] == ["/v1/models"]
    host.context_length = 32_768
    with pytest.raises(NotReadyError, match="a context of 32768 is served, and 200000 is in the unit"):
        await wait(host, expected={"context_length": "200k"})


async def test_a_service_whose_log_does_not_say_that_it_is_ready_is_believed_after_a_while() -> None:
    host = Host(look(NEW, ARGS), look(NEW, active="active", port="55"))
    result = await wait(host, timeout_s=300.0)
    assert result.outcome == "ok"
    assert "its log does not say that it is ready" in result.message
    assert host.clock.monotonic() - 1000.0 > 30.0


async def test_a_process_from_before_the_restart_answers_for_nobody() -> None:
    host = Host(look(NEW, ARGS, READY, active="active", port="44"))
    with pytest.raises(NotReadyError, match="process 44, which is from before the restart"):
        await wait(host)
    assert not host.requests


async def test_a_reboot_is_somebody_elses_start_and_nothing_is_rolled_back_over_it() -> None:
    with pytest.raises(RestartedByOthersError, match="rebooted meanwhile"):
        await wait(Host(look(NEW, ARGS), look(NEWER, boot="boot-2")))


async def test_a_restart_that_nothing_came_of_ends_the_wait_at_once() -> None:
    host = Host(look(OLD, active="failed", result="start-limit-hit"))
    with pytest.raises(NotReadyError, match=r"systemd started nothing: the unit is failed \(start-limit-hit\)"):
        await wait(host, timeout_s=1800.0)
    assert host.clock.monotonic() - 1000.0 < 2.0


async def test_each_look_goes_on_where_the_last_one_ended() -> None:
    host = Host(look(OLD), look(NEW, ARGS), look(NEW, READY, active="active", port="55"))
    await wait(host)
    assert [args[2] for _, args in host.told] == ["", "@1767322800.250", "s=1"]


async def test_the_last_words_of_a_start_that_crashed_between_two_looks_are_the_cause() -> None:
    host = Host(look(NEW, ARGS), look(NEWER, NO_MEMORY, lines_of=NEW, n_restarts=1))
    with pytest.raises(NotReadyError, match="CUDA out of memory"):
        await wait(host)


async def test_the_old_process_dying_words_are_no_cause() -> None:
    host = Host(
        look(OLD, NO_MEMORY, active="deactivating"),
        look(NEW, NO_MEMORY, lines_of=OLD),
        look(NEW, ARGS, READY, active="active", port="55"),
    )
    assert (await wait(host)).outcome == "ok"


async def test_a_failed_start_ends_the_wait_with_the_lines_that_say_why() -> None:
    told = Told()
    with pytest.raises(NotReadyError) as caught:
        await wait(Host(look(NEW, ARGS, NO_MEMORY, active="failed", result="exit-code")), told)
    assert caught.value.where == "node7/chat"
    assert "journalctl -u chat.service" in caught.value.hint
    assert [event.kind for event in told.of(LogLine)][-1] == "failure"


async def test_somebody_elses_start_ends_the_wait_and_says_so() -> None:
    with pytest.raises(RestartedByOthersError) as caught:
        await wait(Host(look(NEW, ARGS), look(NEWER)))
    assert caught.value.exit_code == 3
    assert "nothing was rolled back" in caught.value.hint


async def test_a_start_that_no_longer_moves_is_given_up_at_the_timeout() -> None:
    host = Host(look(NEW, ARGS))
    with pytest.raises(NotReadyError, match="nothing moves any more"):
        await wait(host, timeout_s=300.0)
    assert 300.0 <= host.clock.monotonic() - 1000.0 < 300.0 + 2 * SLOWEST_POLL_S


async def test_a_short_timeout_waits_until_it_can_be_told_that_nothing_moves() -> None:
    host = Host(look(NEW, ARGS))
    with pytest.raises(NotReadyError, match="nothing moves any more"):
        await wait(host, timeout_s=10.0)
    assert 120.0 <= host.clock.monotonic() - 1000.0 < 130.0


async def test_a_start_that_still_moves_is_waited_for_up_to_the_hard_limit() -> None:
    host = Host(*(look(NEW, ARGS, read=number) for number in range(1000)))
    with pytest.raises(NotReadyError, match="the hard limit is reached"):
        await wait(host, timeout_s=60.0, hard_timeout=500.0)
    assert 500.0 <= host.clock.monotonic() - 1000.0 < 500.0 + 2 * SLOWEST_POLL_S


async def test_a_hard_limit_below_the_timeout_is_the_timeout() -> None:
    host = Host(*(look(NEW, ARGS, read=number) for number in range(1000)))
    with pytest.raises(NotReadyError, match="the hard limit is reached"):
        await wait(host, timeout_s=200.0, hard_timeout=10.0)
    assert host.clock.monotonic() - 1000.0 >= 200.0


async def test_a_person_can_extend_both_limits() -> None:
    host = Host(*(look(NEW, ARGS, read=number) for number in range(1000)))
    with pytest.raises(NotReadyError):
        await wait(host, timeout_s=60.0, hard_timeout=100.0, extended_s=lambda: 300.0)
    assert host.clock.monotonic() - 1000.0 >= 400.0


async def test_the_connection_is_waited_for_as_long_as_the_service() -> None:
    host = Host(look(NEW, READY, active="active", port="55"))
    await wait(host, timeout_s=60.0, hard_timeout=500.0)
    assert host.patience_s == host.fetch_patience_s == 500.0 - FIRST_LOOK_S


async def test_a_connection_opened_again_is_told_before_anything_else() -> None:
    host = Host(look(NEW, ARGS), look(NEW, READY, active="active", port="55"))
    order: list[str] = []

    async def regained() -> None:
        order.append(f"regained after look {len(host.told)}")

    def on_look(number: int) -> None:
        host.was_regained = number == 2

    host.on_look = on_look
    await wait(host, regained=regained)
    assert "regained after look 2" in order


async def test_a_lock_that_another_run_took_meanwhile_ends_the_wait() -> None:
    host = Host(look(NEW, READY, active="active", port="55"))
    host.was_regained = True

    async def regained() -> None:
        raise UnreachableError("gone")

    with pytest.raises(UnreachableError):
        await wait(host, regained=regained)


async def test_what_was_seen_last_stays_known_when_it_is_stopped() -> None:
    host = Host(look(NEW, ARGS), UnreachableError("gone"))
    given = step_io(host, "service.wait_ready", Told(), timeout_s=60.0)
    with pytest.raises(UnreachableError):
        await ServiceWaitReady().run(given)
    assert given.seen is not None
    assert given.seen.unit.active_state == "activating"
    assert given.invocation == NEW


async def test_it_looks_often_at_first_and_rarely_in_a_long_load() -> None:
    host = Host(look(NEW, ARGS))
    with pytest.raises(NotReadyError):
        await wait(host, timeout_s=1000.0, hard_timeout=1000.0)
    slept = host.clock.slept
    assert slept[0] == FIRST_LOOK_S
    assert slept[1] < 0.3
    assert max(slept) == slept[-1] == SLOWEST_POLL_S


async def test_progress_is_said_when_it_changes_and_now_and_then() -> None:
    told = Told()
    host = Host(*(look(NEW, ARGS, read=number) for number in range(8)), look(NEW, READY, active="active", port="55"))
    await wait(host, told)
    assert 2 <= len(told.of(StepProgress)) <= 4


def kept(io: StepIO, told: Told, *lines: EngineLine) -> list[str]:
    for line in lines:
        keep(io, line)
    return [event.kind for event in told.of(LogLine)]


def test_of_bars_ranks_and_batches_only_what_says_something_is_kept() -> None:
    told = Told()
    given = step_io(FakeRemote(), "service.wait_ready", told)
    lines = [
        EngineLine("weights", "loaded"),
        EngineLine("weights", "3/10", done=3, total=10),
        EngineLine("pool", "of rank 0", {"tokens": 88_000, "tp_rank": 0}),
        EngineLine("pool", "of rank 1", {"tokens": 88_000, "tp_rank": 1}),
        EngineLine("decode", "a batch"),
        EngineLine("access", "POST /generate"),
        EngineLine("failure", "x" * 9000),
    ]
    assert kept(given, told, *lines) == ["weights", "pool", "failure"]
    assert told.of(LogLine)[1].value == 88_000
    assert len(told.of(LogLine)[2].text) <= 400
