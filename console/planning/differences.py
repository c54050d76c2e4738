"""The two differences a plan shows: our edit, and what the restart also makes live."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence

from console.schema.facts import Facts
from console.schema.plan import Activation
from console.secrets import MASK, Redactor, is_secret_name
from console.settings.launch import read_launch
from console.untrusted import clean, decode

# Set by systemd or the shell for every process; they say nothing about the unit.
AMBIENT = frozenset(
    {
        "PATH", "LANG", "LC_ALL", "HOME", "LOGNAME", "USER", "SHELL",
        "INVOCATION_ID", "JOURNAL_STREAM", "PWD", "SHLVL",
        "SYSTEMD_EXEC_PID", "NOTIFY_SOCKET", "MAINPID", "MANAGERPID", "LISTEN_FDS", "LISTEN_PID", "_", "TERM", "OLDPWD",
        "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "CREDENTIALS_DIRECTORY",
        "RUNTIME_DIRECTORY", "STATE_DIRECTORY",
    }
)  # fmt: skip


def text_diff(path: str, before: bytes | None, after: bytes | None, redactor: Redactor) -> str:
    """A unified diff of one file with secrets masked on both sides, controls made visible. None: there is no file."""
    old, new = (clean(redactor.text(decode(text or b""))).splitlines() for text in (before, after))
    was, becomes = ("/dev/null" if text is None else f"{side}{path}" for side, text in (("a", before), ("b", after)))
    lines = difflib.unified_diff(old, new, was, becomes, lineterm="")
    return "\n".join(lines)


def flag_groups(words: Sequence[str]) -> list[tuple[str, ...]]:
    """A command line cut into a program part and one group a flag: `--flag value …` or `--flag=value`."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-") and len(word) > 1 and not _number(word):
            groups.append([word])
        else:
            groups[-1].append(word)
    return [tuple(group) for group in groups if group]


def _number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def same_shape(running: Sequence[str], planned: Sequence[str]) -> list[str]:
    """`running` without what a `#!` interpreter put in front of the planned command."""
    words = list(running)
    if planned:
        for skip in (1, 2):
            if words[:1] != [planned[0]] and len(words) > skip and words[skip] == planned[0]:
                return words[skip:]
    return words


def without_prefix(planned: Sequence[str], running: Sequence[str]) -> Sequence[str]:
    """`planned` without what only starts the engine (`numactl …`, `env A=1`, `nice`), where `running` is the engine.

    Such a program becomes the engine, so nothing of its own words is left in the process. Of a container it is what
    stands after the image.
    """
    launch = read_launch(planned)
    own = planned[launch.first :]
    if launch.kind == "engine" and launch.contained:
        return planned[launch.image + 1 :]
    if launch.kind != "engine" or not launch.first or running[:1] == planned[:1]:
        return planned
    program = same_shape(running, own)[:1]
    if program == own[:1]:
        return own
    # Found on PATH: a launcher may put in the path it found.
    if program and "/" not in own[0] and program[0].rpartition("/")[2] == own[0]:
        return [program[0], *own[1:]]
    return planned


def in_container(facts: Facts) -> bool:
    """Whether what systemd runs only starts a container that the engine is in."""
    launch = read_launch(facts.unit.exec_start[0].split() if facts.unit.exec_start else [])
    return launch.contained or launch.kind == "compose"


def from_word(running: Sequence[str], own: Sequence[str]) -> Sequence[str]:
    """`running` without what the image's entry point put in front of a container's own words."""
    if not own:
        return running
    name = own[0].rpartition("/")[2]
    begin = next((index for index, word in enumerate(running) if word.rpartition("/")[2] == name), 0)
    return [own[0], *running[begin + 1 :]] if begin else running


def activation(
    facts: Facts, disk_argv: Sequence[str] | None, disk_environment: Mapping[str, str], redactor: Redactor
) -> Activation:
    """What a restart would make live without this run's own edit: running → disk, in words and variables.

    `disk_argv` is None where the disk's command line cannot be resolved to words.
    """
    if facts.unit.active_state in ("inactive", "failed"):
        return Activation(reason=f"the unit is {facts.unit.active_state}: nothing runs that could differ")
    if disk_argv is None:
        return Activation(reason="the command line on disk cannot be resolved to words")
    if not facts.process.pid:
        return _against_loaded(facts, disk_argv, redactor)
    words = without_prefix(disk_argv, facts.process.argv)
    contained = in_container(facts)
    running = flag_groups(from_word(facts.process.argv, words) if contained else same_shape(facts.process.argv, words))
    planned = flag_groups(words)
    added = list((Counter(planned) - Counter(running)).elements())
    removed = list((Counter(running) - Counter(planned)).elements())
    return Activation(
        words_added=tuple(_shown(group, redactor) for group in added),
        words_removed=tuple(_shown(group, redactor) for group in removed),
        # The unit's variables are those of the program that starts the container.
        environment=() if contained else tuple(_environment(facts.process.environment, disk_environment, redactor)),
    )


def _against_loaded(facts: Facts, disk_argv: Sequence[str], redactor: Redactor) -> Activation:
    """Without a visible process the best comparison left is what systemd has loaded."""
    reason = f"the running process cannot be seen ({facts.process.reason}); compared with what systemd loaded"
    loaded = facts.unit.exec_start[0].split() if facts.unit.exec_start else []
    planned = " ".join(disk_argv).split()
    if loaded == planned:
        return Activation(reason=reason)
    added = list((Counter(flag_groups(planned)) - Counter(flag_groups(loaded))).elements())
    removed = list((Counter(flag_groups(loaded)) - Counter(flag_groups(planned))).elements())
    return Activation(
        words_added=tuple(_shown(group, redactor) for group in added),
        words_removed=tuple(_shown(group, redactor) for group in removed),
        reason=reason,
    )


def _shown(group: Sequence[str], redactor: Redactor) -> str:
    return clean(" ".join(redactor.words(group)))


def _environment(running: Mapping[str, str], disk: Mapping[str, str], redactor: Redactor) -> list[str]:
    """Variables the unit's files set otherwise than the process has them; values of secrets are masked."""
    said = []
    for name in sorted(disk):
        if name in AMBIENT or running.get(name) == disk[name]:
            continue
        before = running.get(name)
        shown = [MASK if is_secret_name(name) else clean(redactor.text(value)) for value in (before or "", disk[name])]
        said.append(f"{name}: {'absent' if before is None else shown[0]} -> {shown[1]}")
    return said


def pair(activation: Activation) -> list[str]:
    """The words for people: a flag that changed its value on one line, `--flag 48 -> 64`."""
    removed = {text.partition(" ")[0]: text.partition(" ")[2] for text in activation.words_removed}
    lines = []
    for text in activation.words_added:
        flag, _, value = text.partition(" ")
        if flag in removed:
            lines.append(f"{flag} {removed.pop(flag) or '(set)'} -> {value or '(set)'}")
        else:
            lines.append(f"+ {text}")
    return lines + [f"- {flag} {value}".rstrip() for flag, value in removed.items()]
