"""What a command line starts: the engine itself, a container, a shell, a script; and where the engine's words begin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

LaunchKind = Literal["engine", "shell-string", "script", "compose", "container-elsewhere"]


@dataclass(frozen=True)
class Launch:
    """`first`: index of the word the engine's arguments follow. `place`: index of the shell string or script."""

    kind: LaunchKind
    first: int
    place: int = 0
    contained: bool = False  # inside a container, whose environment is its own
    image: int = 0  # index of the container's image


@dataclass(frozen=True)
class _Prefix:
    """A program that starts another one: its options that take a word, and the words before the other program."""

    with_value: frozenset[str] = frozenset()
    positional: int = 0
    assignments: bool = False
    subcommands: tuple[str, ...] = ()


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
_PREFIXES = {
    "env": _Prefix(frozenset({"-u", "--unset", "-C", "--chdir"}), assignments=True),
    "nice": _Prefix(frozenset({"-n", "--adjustment"})),
    "ionice": _Prefix(frozenset({"-c", "-n", "--class", "--classdata"})),
    "chrt": _Prefix(positional=1),
    "taskset": _Prefix(positional=1),
    "numactl": _Prefix(
        frozenset(
            {"-i", "-p", "-P", "-m", "-N", "-C", "--interleave", "--preferred", "--membind", "--cpunodebind"}
            | {"--physcpubind", "--localalloc-node"}
        )
    ),
    "stdbuf": _Prefix(frozenset({"-i", "-o", "-e"})),
    "nohup": _Prefix(),
    "exec": _Prefix(frozenset({"-a"})),
    "command": _Prefix(),
    "setsid": _Prefix(),
    "time": _Prefix(),
    "timeout": _Prefix(frozenset({"-k", "-s", "--kill-after", "--signal"}), positional=1),
    "sudo": _Prefix(frozenset({"-u", "-g", "--user", "--group"}), assignments=True),
    "setpriv": _Prefix(frozenset({"--reuid", "--regid", "--groups"})),
    "gosu": _Prefix(positional=1),
    "systemd-inhibit": _Prefix(),
    "uv": _Prefix(frozenset({"--project", "--directory", "--with", "--python", "-p"}), subcommands=("run",)),
    "conda": _Prefix(frozenset({"-n", "-p", "--name", "--prefix"}), subcommands=("run",)),
    "mamba": _Prefix(frozenset({"-n", "-p", "--name", "--prefix"}), subcommands=("run",)),
    "poetry": _Prefix(frozenset({"-C", "--directory"}), subcommands=("run",)),
    "toolbox": _Prefix(frozenset({"-c", "--container"}), subcommands=("run",)),
    "distrobox": _Prefix(frozenset({"-n", "--name"}), positional=1, subcommands=("enter",)),
    "distrobox-enter": _Prefix(frozenset({"-n", "--name"})),
}
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_COMPOSE = frozenset({"docker-compose", "podman-compose"})
# The options of `docker run` and `podman run` that take no word of their own; every other one does.
_CONTAINER_SWITCHES = frozenset(
    re.findall(
        r"\S+",
        """-d --detach -i --interactive -t --tty -P --publish-all -q --quiet --init --no-healthcheck
        --oom-kill-disable --privileged --read-only --rm --rmi --replace --sig-proxy --disable-content-trust
        --use-api-socket --help --http-proxy --no-hostname --no-hosts --passwd --read-only-tmpfs --rootfs
        --tls-verify --env-host""",
    )
)


def read_launch(words: Sequence[str], scripts: frozenset[str] = frozenset()) -> Launch:
    """What the argv `words` starts. `scripts`: paths known to be shell scripts, whatever their names."""
    index = 0
    while index < len(words):
        name = words[index].rpartition("/")[2]
        if name in _SHELLS:
            return _shell(words, index)
        if name in _COMPOSE:
            return Launch("compose", index, index)
        if name in _CONTAINERS:
            return _container(words, index, scripts)
        if words[index] in scripts or re.search(r"\.(sh|bash|zsh)\Z", name):
            return Launch("script", index, index)
        prefix = _PREFIXES.get(name)
        after = _skip_prefix(words, index, prefix) if prefix else None
        if after is None:
            return Launch("engine", index)
        index = after
    return Launch("engine", 0)


def _skip_prefix(words: Sequence[str], index: int, prefix: _Prefix) -> int | None:
    """The index of the program that a prefix command starts; None where there is none."""
    index += 1
    if prefix.subcommands:
        if index >= len(words) or words[index] not in prefix.subcommands:
            return None
        index += 1
    positional = prefix.positional
    while index < len(words):
        word = words[index]
        if word == "--":
            index += 1
            if not positional:
                break
        elif word.startswith("-") and len(word) > 1:
            index += 2 if word in prefix.with_value else 1
        elif prefix.assignments and re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word):
            index += 1
        elif positional:
            positional -= 1
            index += 1
        else:
            break
    return index if index < len(words) else None


def _shell(words: Sequence[str], index: int) -> Launch:
    at = index + 1
    while at < len(words) and words[at].startswith(("-", "+")):
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", words[at]) and at + 1 < len(words):
            return Launch("shell-string", index, at + 1)
        at += 2 if words[at] in ("-o", "+o", "-O") else 1
    return Launch("script", min(at, len(words) - 1), min(at, len(words) - 1))


def _container(words: Sequence[str], index: int, scripts: frozenset[str]) -> Launch:
    at = index + 1
    while at < len(words) and words[at].startswith("-"):
        at += 1 if "=" in words[at] or words[at] in ("-D", "--debug", "--tls") else 2
    if at < len(words) and words[at] == "container":
        at += 1
    verb = words[at] if at < len(words) else ""
    if verb == "compose":
        return Launch("compose", index, at)
    if verb not in ("run", "create"):
        return Launch("container-elsewhere", index, at if verb else index)
    at += 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        switch = words[at] in _CONTAINER_SWITCHES or re.fullmatch(r"-[ditPq]+", words[at])
        glued = "=" in words[at] or re.fullmatch(r"-[a-zA-Z].+", words[at])
        at += 1 if switch or glued else 2
    if at < len(words) and words[at] == "--":
        at += 1
    inside = read_launch(words[at + 1 :], scripts)
    first = at + 1 + inside.first
    if inside.kind == "engine":
        # The image's entry point takes the words, so they all count, from the image on.
        begin = min(at, len(words) - 1) if inside.first == 0 else first
        return Launch("engine", begin, contained=True, image=min(at, len(words) - 1))
    return Launch(inside.kind, first, at + 1 + inside.place, contained=True, image=at)
