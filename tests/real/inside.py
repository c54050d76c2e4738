"""Interruptions inside an action of the main job, which is held there on the host and seen to be first."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, URL, set_simulator
from tests.hosts.host import CommandError, Host
from tests.real.desk import Desk, Done, Going
from tests.real.held import held

# How long the console may take to hear a signal, or to be connected again.
HEARD_S = 20.0
SLOW_LOAD_S = 60.0  # of the simulator: 3 s
BALANCER_STATE = "/var/lib/balancer-out"
BALANCER_PROGRAM = f"""#!/bin/sh
case $1 in
  out) touch {BALANCER_STATE} ;;
  in) rm -f {BALANCER_STATE} ;;
  is-in) [ ! -e {BALANCER_STATE} ] ;;
esac
"""
BALANCER = """
[groups.k26]
members = ["{name}/k26"]
min_ready = 0
[groups.k26.balancer]
out = "balancer out now"
in = "balancer in now"
state = "balancer is-in"
"""


@dataclass
class Point:
    """Where an action stands still. `is_there` sees that it does, `release` lets it go on."""

    is_there: Callable[[Going], bool]
    release: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True)
class Action:
    """One action of the main job, held in the middle."""

    name: str
    hold: Callable[[Host, Desk, ExitStack], Point]


def called(name: str, program: str, pattern: str, *, done: bool = False, nth: int = 1) -> Action:
    """An action that calls a program of the host: held before that call, or when it is `done` and not answered."""

    def hold(host: Host, _desk: Desk, stack: ExitStack) -> Point:
        point = stack.enter_context(held(host, program, pattern, done=done, nth=nth))
        return Point(lambda _going: point.is_reached, point.release)

    return Action(name, hold)


def drained(host: Host, _desk: Desk, _stack: ExitStack) -> Point:
    """Somebody's request runs for some seconds, and the drain has seen it."""
    body = '{"text": "hello", "sampling_params": {"max_new_tokens": 16000, "ignore_eos": true}}'
    ask = ["curl", "-s", "-o", "/dev/null", "-H", "Content-Type: application/json", "-d", body, f"{URL}/generate"]
    host.run("systemctl", "stop", "somebody", check=False)  # of an earlier cell on this host
    host.run("systemd-run", "--quiet", "--collect", "--unit=somebody", *ask)
    assert remains.wait_until(lambda: requests(host) > 0, 10.0, every_s=0.05), "the request does not run"
    return Point(lambda going: in_phase(going, "draining"))


def loading(host: Host, _desk: Desk, _stack: ExitStack) -> Point:
    set_simulator(host, load_s=SLOW_LOAD_S)
    return Point(lambda going: in_phase(going, "weights", "graphs"))


def generating(host: Host, _desk: Desk, _stack: ExitStack) -> Point:
    """The proof's long prompt is read slowly, and the engine says that a request is under way."""
    set_simulator(host, load_s=6.0, prefill_tok_s=500.0)
    return Point(lambda going: in_step(going, "service.verify") and requests(host) > 0)


def committing(_host: Host, desk: Desk, stack: ExitStack) -> Point:
    subprocess.run(["git", "init", "--quiet", str(desk.findings)], env=desk.environment, check=True)
    armed, reached = desk.folder / "armed", desk.folder / "reached"
    hook = desk.findings / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {reached}\nwhile [ -e {armed} ]; do sleep 0.05; done\n")
    hook.chmod(0o755)
    armed.touch()

    def release() -> None:
        armed.unlink(missing_ok=True)

    stack.callback(release)
    return Point(lambda _going: reached.exists(), release)


ACTIONS = (
    called("lock: document", "tee", f"*/{UNIT}.lock*"),
    called("ledger: backup", "cp", "*/var/lib/console/*"),
    called("ledger: entry", "mv", "*/change.json*"),
    called("check of the file", "systemd-analyze", "*verify*"),
    called("guard: files", "ln", "*console-guard-*"),
    called("guard: timer", "systemctl", "*restart*console-guard-*"),
    called("lb.out", "balancer", "*out*"),
    Action("drain", drained),
    called("host lock", "tee", "*/host.lock*"),
    called("write: bytes", "dd", "*.console-*"),
    called("write: rename", "mv", "*.console-*"),
    called("write: renamed", "mv", "*.console-*", done=True),
    called("reload", "systemctl", "*daemon-reload*"),
    called("reload: done", "systemctl", "*daemon-reload*", done=True),
    called("restart", "systemctl", f"*restart*{UNIT}*"),
    called("restart: asked", "systemctl", f"*restart*{UNIT}*", done=True),
    Action("wait", loading),
    Action("proof", generating),
    called("guard: off", "systemctl", "*stop*console-guard-*"),
    called("lb.in", "balancer", "*in?now*"),
    Action("commit", committing),
    called("ledger: closed", "mv", "*/change.json*", nth=2),
)


def in_phase(going: Going, *phases: str) -> bool:
    return any(event["type"] == "step.progress" and event["phase"] in phases for event in going.events())


def in_step(going: Going, uses: str) -> bool:
    return any(event["type"] == "step.started" and event["uses"] == uses for event in going.events())


def requests(host: Host) -> int:
    """How many requests the engine has; 0 where nothing answers."""
    try:
        return int(host.get_json(f"{URL}/get_load")[0]["num_reqs"])
    except (CommandError, LookupError, TypeError, ValueError):
        return 0


def give_balancer(host: Host, desk: Desk) -> None:
    """A front door of the one service, which the host itself tells."""
    host.write("/usr/bin/balancer", BALANCER_PROGRAM, mode=0o755)
    host.run("rm", "-f", BALANCER_STATE)
    with desk.inventory.open("a") as inventory:
        inventory.write(BALANCER.format(name=host.name))


def is_in_balancer(host: Host) -> bool:
    return not host.exists(BALANCER_STATE)


def interrupted_inside(action: Action, kind: str, host: Host, desk: Desk, words: tuple[str, ...]) -> Done:
    """A run that was interrupted while that was under way, to its end. Raises AssertionError where it never was."""
    give_balancer(host, desk)
    with stopped_at(action, host, desk, words) as (point, going):
        arrives(kind, host, going)
        if kind != "reboot":
            point.release()
        return going.end(timeout_s=240.0)


@contextmanager
def stopped_at(action: Action, host: Host, desk: Desk, words: tuple[str, ...]) -> Iterator[tuple[Point, Going]]:
    with ExitStack() as stack:
        point = action.hold(host, desk, stack)
        going = desk.start(*words)
        remains.wait_until(lambda: point.is_there(going) or going.process.poll() is not None, 60.0, every_s=0.02)
        assert point.is_there(going), f"never came to {action.name}: {' '.join(going.err.read_text()[-600:].split())}"
        yield point, going


def arrives(kind: str, host: Host, going: Going) -> None:
    """Interrupt, and wait until the console knows of it; a killed one is gone then."""
    if kind == "reboot":
        host.reboot()
        return
    if kind == "cut":
        before = connections(going)
        assert host.kill_sessions(), "there was no connection"
        wait_for(going, lambda: connections(going) > before)
        return
    number = signal.Signals[kind]
    if kind in ("SIGINT", "SIGHUP"):  # which come from a terminal, and so to all that runs there
        os.killpg(going.process.pid, number)
    else:
        going.stop(number)
    wait_for(going, lambda: any(event["type"] == "abort.requested" for event in going.events()))


def wait_for(going: Going, heard: Callable[[], bool]) -> None:
    """Until then, or until the process is over, which is an answer, too."""
    remains.wait_until(lambda: heard() or going.process.poll() is not None, HEARD_S, every_s=0.02)


def connections(going: Going) -> int:
    return sum(event["type"] == "connection.changed" and event["state"] == "connected" for event in going.events())


def commits_twice(desk: Desk) -> list[str]:
    """Runs that have more than one commit."""
    if not (Path(desk.findings) / ".git").exists() or not desk.git("rev-list", "--all"):
        return []
    runs = desk.git("log", "--all", "--format=%(trailers:key=Run-Id,valueonly,separator=)").split()
    return sorted({run for run in runs if runs.count(run) > 1})
