"""One look at a starting service: whose lines, whose port, where to go on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.clock import SystemClock
from console.engines.registry import engine_named
from console.facts.watch import Watch, port_owner, watch_once
from console.remote.scripts import Output
from console.remote.session import Reader
from console.schema.hosts import Host, Service, Target
from console.secrets import Redactor

READY = "[2026-01-02 03:01:35] The server is fired up and ready to roll!"


def entry(cursor: str, invocation: str, message: str) -> str:
    return json.dumps({"__CURSOR": cursor, "_SYSTEMD_INVOCATION_ID": invocation, "MESSAGE": message}) + "\n"


class Scripted(Reader):
    """Answers every look with these sections."""

    def __init__(self, **sections: str) -> None:
        self.target = Target(
            host_name="gpu1",
            service_name="k26",
            host=Host(),
            service=Service(unit="k26.service", engine="sglang", url="http://127.0.0.1:30000"),
        )
        self.redactor = Redactor()
        self.clock = SystemClock()
        self.said = {name: text.encode() for name, text in sections.items()}
        self.args: tuple[str, ...] = ()

    def regained(self) -> bool:
        return False

    async def look(self, script: str, *args: str, **_: Any) -> Output:
        self.args = args
        return Output(0, self.said)


UNIT = "status=0\nId=k26.service\nActiveState=activating\nInvocationID=new\nMainPID=7\nNRestarts=1\n"
HOST = "boot_id=boot\nnow=1767322800.250\n"


async def watch(cursor: str = "", not_of: str = "", **sections: str) -> Watch:
    reader = Scripted(**({"unit": UNIT, "host": HOST} | sections))
    return await watch_once(reader, engine_named("sglang"), 30000, cursor, not_of=not_of)


ARGS = "[2026-01-02 03:01:02] server_args=ServerArgs(model_path='/srv/m', context_length=65536)"
KILLED = "[2026-01-02 03:00:59] Subprocess scheduler crashed"


async def in_file(cursor: str, log: str, size: int = 0) -> Watch:
    """A look at a unit that logs to a file; the start before was `old`."""
    reader = Scripted(unit=UNIT, host=HOST, log=log, log_at=f"{size or 700 + len(log)}\n")
    seen = await watch_once(reader, engine_named("sglang"), 30000, cursor, not_of="old", log="/var/log/k26.log")
    assert reader.args[4:] == ("/var/log/k26.log", "700" if cursor else "")
    return seen


async def test_a_log_file_that_goes_on_over_starts_is_cut_at_this_one() -> None:
    text = f"{READY}\n{KILLED}\n{ARGS}\rLoading 1/2\rLoading 2/2\n"
    seen = await in_file("|old|700", text)
    assert seen.raw_lines == (ARGS, "Loading 1/2", "Loading 2/2")
    assert seen.cursor == f"@1767322800.250|new|{700 + len(text)}"
    # The next look goes on in the same start: all that was written since is its own.
    seen = await in_file("@1767322800.250|new|700", f"{READY}\n")
    assert [line.kind for line in seen.lines] == ["ready"]


async def test_a_line_that_is_still_being_written_is_read_later() -> None:
    seen = await in_file("|new|700", f"{ARGS}\n[2026-01-02 03:01:35] The serv", size=700 + len(ARGS) + 31)
    assert seen.raw_lines == (ARGS,)
    assert seen.cursor == f"@1767322800.250|new|{700 + len(ARGS) + 1}"


async def test_before_the_new_start_says_its_arguments_an_old_ready_is_not_taken_for_its_own() -> None:
    seen = await in_file("|old|700", f"{READY}\nModuleNotFoundError: No module named 'sglang'\n")
    assert [line.kind for line in seen.lines] == ["failure"]


async def test_only_lines_of_the_current_start_count() -> None:
    journal = entry("s=1", "old", READY) + entry("s=2", "new", "Loading") + entry("s=3", "new", READY)
    seen = await watch(journal=journal)
    assert [line.kind for line in seen.lines] == ["ready"]
    assert seen.raw_lines == ("Loading", READY)
    assert [line.invocation for line in seen.journal] == ["old", "new", "new"]
    assert (seen.invocation, seen.boot_id, seen.cursor) == ("new", "boot", "s=3")


async def test_the_last_words_of_a_crashed_start_are_kept_when_asked() -> None:
    journal = entry("s=1", "old", "old line") + entry("s=2", "crashed", "torch.OutOfMemoryError: CUDA out of memory.")
    seen = await watch(journal=journal, not_of="old")
    assert [line.kind for line in seen.lines] == ["failure"]
    assert "old line" not in seen.raw_lines


async def test_without_a_line_the_next_look_goes_on_from_now() -> None:
    assert (await watch()).cursor == "@1767322800.250"
    assert (await watch("s=5")).cursor == "s=5"


async def test_memory_and_bytes_read_are_sums() -> None:
    seen = await watch(gpu="81234\n1000\n", read="123456\n")
    assert (seen.gpu_used_mib, seen.read_bytes) == (82234, 123456)
    nothing = await watch(gpu="", read="")
    assert (nothing.gpu_used_mib, nothing.read_bytes) == (None, None)


@pytest.mark.parametrize(
    ("said", "owner"),
    [
        (b"pid=7\nforeign=\nreason=\n", ("unit", 7)),
        (b"pid=\nforeign=99\nreason=port 1 belongs to process 99 outside the unit\n", ("foreign", 99)),
        (b"pid=\nforeign=\nreason=port 1 is open, but its process cannot be seen\n", ("unseen", 0)),
        (b"pid=\nforeign=\nreason=nothing listens on port 1\n", ("none", 0)),
        (b"", ("none", 0)),
    ],
)
def test_who_has_the_port(said: bytes, owner: tuple[str, int]) -> None:
    assert port_owner(said) == owner
