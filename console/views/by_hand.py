"""A plan as commands for a person without this program: the same order, the same checks, and the way back."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from console.planning import nodes
from console.schema.change import WHERE, BalancerChange, FileChange
from console.schema.plan import Plan
from console.schema.writes import written
from console.untrusted import one_line

BACKUPS = "/var/tmp"  # noqa: S108 - where a person's copy outlives the shell; `cp -a` keeps who may read it
DIGEST = 12


def by_hand(plan: Plan) -> list[str]:
    """Shell lines, to be typed on the host one by one; empty where the plan changes nothing."""
    if not plan.changes:
        return []
    return list(_lines(plan)) if not plan.target.nodes else list(_on_all(plan, _files_of))


def back_by_hand(plan: Plan) -> list[str]:
    """Shell lines that put it back; empty where no file is changed."""
    if plan.target.nodes and plan.edits:
        return list(_on_all(plan, lambda share: [line for change in _files(share) for line in _back(change)]))
    files = _files(plan)
    if not files:
        return []
    return [*(line for change in files for line in _back(change)), *_taken_up(plan)]


def _on_all(plan: Plan, files_of: Callable[[Plan], Iterable[str]]) -> Iterator[str]:
    """Files on each host first; then every rank is stopped before any is started."""
    places = (plan.target, *plan.target.nodes)
    kinds = {change.kind for change in plan.changes}
    units = list(dict.fromkeys(_word(place.service.unit) for place in places))
    yield from _door(plan, "out")
    for place in places:
        yield f"# on {place.host_name}, {place.called}:"
        yield from files_of(nodes.share(plan, place))
        if "reload" in kinds:
            yield "sudo systemctl daemon-reload"
    if "restart" in kinds:
        hosts = ", ".join(dict.fromkeys(place.host_name for place in places))
        yield f"# on {hosts}, in this order, and all are down before the next:"
        yield from (f"sudo systemctl stop {unit}" for unit in units)
        yield "# on all of them again:"
        yield from (f"sudo systemctl start {unit}" for unit in units)
        for place in (plan.target, *(node for node in plan.target.nodes if node.part)):
            yield f"# on {place.host_name}:"
            yield f"journalctl -f -u {_word(place.service.unit)}  # until it serves"
            yield f"curl -fsS {_word(place.service.url + '/health')}"
    yield from _door(plan, "in")


def _back(change: FileChange) -> Iterator[str]:
    path = _word(change.real_path)
    if change.makes:
        yield f"sudo rm {path}"
        if change.folder:
            yield f"sudo rmdir {_folder(change)}"
        return
    if change.removes and change.folder:
        yield f"sudo mkdir -m 0755 {_folder(change)}"
    yield f"sudo cp -a {_backup(change)} {path}"


def _lines(plan: Plan) -> Iterator[str]:
    yield from _door(plan, "out")
    yield from _files_of(plan)
    yield from _taken_up(plan)
    yield from _door(plan, "in")


def _files_of(plan: Plan) -> Iterator[str]:
    """What is written on one host, and the commands of the runbook."""
    for change in _files(plan):
        path = _word(change.real_path)
        if change.makes:
            if change.folder:
                yield f"sudo mkdir -m 0755 {_folder(change)}"
            yield f"sudo sh -c 'umask 022; cat >{path}'  # a new file: the lines of its difference without their +"
            yield f"sha256sum {path}  # {change.sha256_after[:DIGEST]}…"
            continue
        yield f"sha256sum {path}  # {change.sha256_before[:DIGEST]}…, or it is another file than was planned for"
        yield f"sudo cp -a {path} {_backup(change)}"
        if change.removes:
            yield f"sudo rm {path}"
            continue
        yield f"sudoedit {path}  # as its difference says"
        yield f"sha256sum {path}  # {change.sha256_after[:DIGEST]}…"
    for one in plan.changes:
        if one.kind == "command":
            yield f"{'sudo ' if one.sudo else ''}sh -c {_word(one.command)}"


def _door(plan: Plan, way: str) -> Iterator[str]:
    """Out of the balancer before anything, and in again once it serves."""
    for change in plan.changes:
        if isinstance(change, BalancerChange) and change.way == way:
            yield f"{one_line(change.action)}  # {WHERE[change.runs]}: the balancer of {one_line(change.group)}"


def _taken_up(plan: Plan) -> Iterator[str]:
    """What makes systemd and the engine see the files, and the look at whether it serves."""
    service = plan.target.service
    kinds = {change.kind for change in plan.changes}
    if "reload" in kinds:
        yield "sudo systemctl daemon-reload"
    if "restart" in kinds:
        yield f"sudo systemctl restart {_word(service.unit)}"
        yield f"journalctl -f -u {_word(service.unit)}  # until it serves"
        yield f"curl -fsS {_word(service.url + '/health')}"


def _files(plan: Plan) -> Sequence[FileChange]:
    """One for each file: what it is before the plan, and after all that the plan writes into it."""
    files = written(plan.changes).values()
    return [each.changes[0].model_copy(update={"sha256_after": each.after}) for each in files]


def _backup(change: FileChange) -> str:
    return _word(f"{BACKUPS}/{PurePosixPath(change.real_path).name}.before")


def _folder(change: FileChange) -> str:
    return _word(str(PurePosixPath(change.real_path).parent))


def _word(text: str) -> str:
    return shlex.quote(one_line(text))
