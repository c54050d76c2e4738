"""A long history: how long questions and one more commit take beside git's own time, and how much memory they need.

    python -m bench.records [--records 50000] [--rounds 3] [--all] [--keep FOLDER]

The history is made by `git fast-import` from a record of the tests, 40 targets in turn, one every half hour.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from console.clock import stamp, ulid
from console.results import message
from console.results.history import FORM
from console.results.record import documents
from console.results.repository import Repository
from console.schema.record import Record, Stack
from console.secrets import Redactor
from tests.results.conftest import record_of
from tests.runs import stories

PROJECT = Path(__file__).resolve().parents[1]
TARGETS = 40
TARGET = "gpu07/llm"
EVERY = timedelta(minutes=30)
SMALL = 1000


@dataclass(frozen=True)
class Took:
    """The least wall of several rounds, and the largest memory of one, with and without git's own."""

    wall_s: float
    own_mib: float
    all_mib: float


def template() -> Record:
    stack = Stack(id="bench", engine="sglang", settings={"context_length": "8192", "mem_fraction": "0.9"})
    return record_of(stories.verified()).model_copy(update={"stack_before": stack, "stack_after": stack})


def numbered(record: Record, number: int, of: int) -> Record:
    """One of `of` records, the last of which ended just now."""
    moment = datetime.now(UTC).replace(microsecond=0) - EVERY * (of - number)
    target = f"gpu{number % TARGETS:02d}/llm"
    return record.model_copy(
        update={
            "run": ulid(moment, number.to_bytes(10, "big")),
            "target": target,
            "started_at": stamp(moment),
            "finished_at": stamp(moment),
        }
    )


def generate(folder: Path, count: int) -> None:
    """A repository with `count` records. Text is replaced in one record: made one by one it takes an hour."""
    folder.mkdir(parents=True)
    run = ["git", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    made = subprocess.Popen([*run, "fast-import", "--quiet"], stdin=subprocess.PIPE)
    assert made.stdin is not None
    base = numbered(template(), 0, count)
    text, files = message.compose(base).encode(), documents(base)

    def as_of(data: bytes, one: Record) -> bytes:
        for old, new in ((base.run, one.run), (base.target, one.target), (base.started_at, one.started_at)):
            data = data.replace(old.encode(), new.encode())
        return data

    for number in range(count):
        one = numbered(base, number, count)
        seconds = int(datetime.fromisoformat(one.finished_at).timestamp())
        said = as_of(text, one)
        who = f"Bench <bench@test.invalid> {seconds} +0000"
        made.stdin.write(f"commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {len(said)}\n".encode() + said)
        for name, data in files.items():
            body = as_of(data, one)
            path = f"{one.target}/{one.started_at[:4]}/{one.run}/{name}"
            made.stdin.write(f"M 100644 inline {path}\ndata {len(body)}\n".encode() + body + b"\n")
    made.stdin.close()
    if made.wait():
        raise SystemExit("git fast-import failed")
    subprocess.run([*run, "reset", "-q", "--hard"], check=True)
    for name, value in (("user.name", "Bench"), ("user.email", "bench@test.invalid")):
        subprocess.run([*run, "config", name, value], check=True)


def measured(words: Sequence[str], rounds: int) -> Took:
    """A command, several times; its output goes to nobody."""
    walls, own, everything = [], [], []
    environment = dict(os.environ) | {"PYTHONPATH": str(PROJECT)}
    for _ in range(rounds):
        with tempfile.TemporaryFile() as said:
            started = time.perf_counter()
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            walls.append(time.perf_counter() - started)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read().decode()
            if process.returncode:
                raise SystemExit(f"{' '.join(words)}: {text}")
        everything.append(usage.ru_maxrss / 1024)
        own += [int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("RSS ")]
    return Took(min(walls), max(own, default=0.0), max(everything))


def console(folder: Path, *words: str) -> list[str]:
    """The command line, which then says what memory its own process took at most."""
    script = (
        "import resource, sys; from console.cli.main import run; code = run(sys.argv[1:]);"
        "print('RSS', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )
    return [sys.executable, "-c", script, "history", "--results", str(folder), *words]


def git_log(folder: Path, *words: str) -> list[str]:
    return ["git", "-C", str(folder), "log", f"--format={FORM}", *words]


def more_commits(folder: Path, rounds: int, count: int) -> float:
    """The least wall of committing one more record."""
    repository = Repository(folder, environment=os.environ)
    repository.open()
    took = []
    for number in range(rounds):
        one = numbered(template(), count + 1 + number, count)
        started = time.perf_counter()
        repository.commit_target(one, Redactor())
        took.append(time.perf_counter() - started)
    return min(took)


def slow(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Questions that read, mask and print every record there is."""
    quarter = ("audit", "--setting", "context_length", "--since", "90.days")
    return {
        "list -n 0 --json": (console(folder, "list", "-n", "0", "--json"), git_log(folder)),
        "audit, a quarter": (console(folder, *quarter), git_log(folder)),
    }


def report(folder: Path, count: int, rounds: int, *, everything: bool) -> dict[str, Took]:
    questions: dict[str, tuple[list[str], list[str]]] = {
        "list --target X --since 30.days": (
            console(folder, "list", "--target", TARGET, "--since", "30.days", "-n", "0"),
            git_log(folder, "--since=30.days", "--", TARGET),
        ),
        "blame X": (console(folder, "blame", TARGET), git_log(folder, "--", TARGET)),
        "list --target X -n 0": (console(folder, "list", "--target", TARGET, "-n", "0"), git_log(folder, "--", TARGET)),
    } | (slow(folder) if everything else {})
    found = {}
    for name, (ours, theirs) in questions.items():
        git, asked = measured(theirs, rounds), measured(ours, rounds)
        found[name] = asked
        print(
            f"{count:6} records  {name:32} git {git.wall_s:6.2f} s  console {asked.wall_s:6.2f} s"
            f"  {asked.wall_s - git.wall_s:+.2f} s  {asked.wall_s / git.wall_s:.2f}x  RSS {asked.own_mib:.0f} MiB"
        )
    print(f"{count:6} records  one more commit: {more_commits(folder, rounds, count):.2f} s")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="How a long history is answered from, beside git itself.")
    parser.add_argument("--records", type=int, default=50000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--all", action="store_true", help="also questions that read every record")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the histories here, and use those that are")
    asked = parser.parse_args()
    if asked.keep:
        return compare(asked.keep, asked.records, asked.rounds, everything=asked.all)
    with tempfile.TemporaryDirectory() as folder:
        return compare(Path(folder), asked.records, asked.rounds, everything=asked.all)


def compare(base: Path, count: int, rounds: int, *, everything: bool) -> int:
    made: Callable[[int], Path] = lambda size: base / f"records-{size}"  # noqa: E731
    for size in (SMALL, count):
        if not made(size).exists():
            generate(made(size), size)
    few = report(made(SMALL), SMALL, rounds, everything=everything)
    many = report(made(count), count, rounds, everything=everything)
    for name in many:
        print(f"RSS growth from {SMALL} to {count}: {many[name].own_mib - few[name].own_mib:+.1f} MiB  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
