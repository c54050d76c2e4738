"""What going on with an earlier run and undoing it have in common: how it left the host, and whose words are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.changes.base import Seen
from console.changes.restart import from_now
from console.engines.base import Engine
from console.errors import ForeignEditError
from console.planning import answers, differences, estimates, nodes
from console.remote.files import read_file
from console.remote.session import Reader
from console.runner.three_way import three_way
from console.schema.change import Change, FileChange, RestartChange
from console.schema.facts import Facts
from console.schema.plan import Activation, Plan, PlannedStep
from console.schema.splice import apply, inverse
from console.schema.writes import written
from console.secrets import Redactor
from console.settings import resolve
from console.settings.flags import sought
from console.settings.levels import level_of_words
from console.settings.resolve import unit_of
from console.settings.specifiers import specifiers
from console.units.effective import EffectiveUnit

STOPPED = ("inactive", "failed")


@dataclass(frozen=True)
class Earlier:
    """One target of an earlier run: what was planned, and what is known to have been done.

    `made`: changes that were made, or may have been. `tried`: changes that were begun at all. `undoing`: it was putting
    its changes back when it ended. From a host's ledger alone every change counts as made.
    """

    run: str
    plan: Plan
    made: frozenset[str]
    tried: frozenset[str]
    undoing: bool = False
    purpose: str = "run"
    root: str = ""  # the run whose ledger entry holds the backups, where that is another one

    @classmethod
    def of_ledger(cls, run: str, plan: Plan, purpose: str = "run", *, undoing: bool = False) -> Earlier:
        everything = frozenset(change.id for change in plan.changes)
        return cls(run, plan, everything, everything, undoing, purpose=purpose)


async def seen_files(plan: Plan, reader: Reader, root: str) -> dict[str, Seen]:
    """Each file change of a plan, and whether the host shows it. Raises ForeignEditError for somebody's later edit.

    `root`: the run whose ledger entry holds the backups, for the three-way difference.
    """
    found: dict[str, Seen] = {}
    for place in (plan.target, *plan.target.nodes):
        node = place.node
        for path, writes in written(plan.changes, node).items():
            made = writes.made((await read_file(reader.at(node), path)).digest)
            if made is None:
                raise ForeignEditError(
                    f"{writes.changes[0].path} was edited since by somebody else: nothing is touched\n"
                    + await three_way(writes, plan, root, reader.at(node)),
                    where=place.name,
                    hint="decide by hand which of the two stays; the backup is in the ledger on the host",
                )
            found |= {change.id: "after" if at < made else "before" for at, change in enumerate(writes.changes)}
    return found


async def seen_change(change: FileChange, plan: Plan, reader: Reader) -> Seen:
    """What the host shows of one write, where the plan may have others of the same file before and after it."""
    writes = written(plan.changes, change.node)[change.real_path]
    made = writes.made((await read_file(reader.at(change.node), change.real_path)).digest)
    if made is None:
        return "foreign"
    return "after" if change in writes.changes[:made] else "before"


async def is_back(change: FileChange, plan: Plan, reader: Reader) -> bool:
    """Whether its file is as it was before the plan."""
    before = written(plan.changes, change.node)[change.real_path].before
    return (await read_file(reader.at(change.node), change.real_path)).digest == before


def runs_new(plan: Plan, facts: Facts, engine: Engine) -> bool | None:
    """Whether the process has what the plan wrote; None where that cannot be told, which is never a reason to restart.

    An engine that still loads owns no port yet: then a start that came after the plan's own restart counts as new when
    systemd has loaded what the files say.
    """
    if facts.unit.active_state in STOPPED:
        return None
    if facts.process.pid:
        return _runs_settings(plan, facts, engine)
    restart = next((change for change in plan.changes if isinstance(change, RestartChange)), None)
    if restart is None or not facts.unit.invocation_id:
        return None
    if facts.unit.invocation_id == restart.invocation_before:
        return False
    return True if loaded_is_disk(facts) else None


def _runs_settings(plan: Plan, facts: Facts, engine: Engine) -> bool | None:
    """The words of the process that owns the port, judged setting by setting; None where a worker shows none."""
    for setting in plan.settings:
        value = running_value(facts, engine, setting.setting)
        if value is None and setting.before is not None and setting.after is not None:
            return None
        if not same(engine, setting.setting, value, setting.after):
            return False
    return True


def running_value(facts: Facts, engine: Engine, setting: str) -> str | None:
    what = sought(engine, flag=setting) if setting.startswith("-") else sought(engine, setting=setting)
    return level_of_words(facts.process.argv, engine, what).value


def same(engine: Engine, setting: str, left: str | None, right: str | None) -> bool:
    """Whether two words mean the same value of a setting."""
    if left is None or right is None:
        return left is right
    try:
        return engine.parse_value(setting, left) == engine.parse_value(setting, right)
    except (ValueError, KeyError):
        return left == right


def loaded_is_disk(facts: Facts) -> bool:
    """Whether systemd has loaded the command line that the files have now."""
    commands = unit_of(facts).commands()
    if len(commands) != 1 or facts.unit.need_daemon_reload or not facts.unit.exec_start:
        return False
    # systemd shows variables as they are written, and specifiers filled in.
    words = [specifiers(word, facts.unit.id) for word in commands[0].argv]
    return None not in words and " ".join(filter(None, words)).split() == facts.unit.exec_start[0].split()


def without_ours(facts: Facts, plan: Plan, seen: dict[str, Seen]) -> EffectiveUnit:
    """The unit as it would be on disk without what the plan wrote."""
    unit = unit_of(facts)
    for change in reversed(plan.changes):
        if isinstance(change, FileChange) and seen.get(change.id) == "after" and not (change.removes or change.node):
            unit = unit.with_content(change.path, apply(unit.content(change.path), inverse(change.splices)))
    return unit


def not_ours(facts: Facts, plan: Plan, seen: dict[str, Seen], redactor: Redactor) -> Activation:
    """What a restart would also make live that is neither the plan's doing nor its undoing.

    The process runs the state with our words or the one without; the difference to the nearer of the two is others'.
    """
    found = []
    for unit in (unit_of(facts), without_ours(facts, plan, seen)):
        environment = resolve.environment_on_disk(unit)
        found.append(differences.activation(facts, resolve.argv_on_disk(unit, environment), environment, redactor))
    return min(found, key=lambda each: len(each.words_added) + len(each.words_removed))


def from_here(change: Change, facts: Facts) -> Change:
    """A restart starts from whatever runs now."""
    if not isinstance(change, RestartChange):
        return change
    return from_now(change, facts.unit, {seen.node: seen.unit for seen in facts.nodes})


def stopped(facts: Facts) -> bool:
    """Whether the unit is down, or a rank of its engine is."""
    return any(seen.unit.active_state in STOPPED for seen in (facts, *facts.nodes))


def reload_due(facts: Facts) -> bool:
    return any(seen.unit.need_daemon_reload for seen in (facts, *facts.nodes))


def left_behind(plan: Plan, facts: Facts) -> bool:
    """Whether a rank is still the start from before the plan's restart, which was to end them all."""
    before = {
        start.node: start.invocation_before
        for change in plan.changes
        if isinstance(change, RestartChange)
        for start in change.nodes
    }
    now = {seen.node: seen.unit.invocation_id for seen in facts.nodes}
    return any(now.get(node) == invocation for node, invocation in before.items())


def refreshed(plan: Plan, facts: Facts, activation: Activation) -> Plan:
    """A plan bound to the host as it is now."""
    return plan.model_copy(
        update={
            "deciding": nodes.deciding(facts),
            "boot_id": facts.host.boot_id,
            "invocation_id": facts.unit.invocation_id,
            "load_estimate_s": estimates.load_time_s(plan.target, facts),
            "activation": activation,
            "nothing_to_do": False,
        }
    )


def answered(plan: Plan, facts: Facts, engine: Engine) -> Plan:
    """The plan with the answers to its own questions, not to those of the run it is about."""
    return answers.answered(plan, facts, engine)


def step(
    index: int,
    step_id: str,
    uses: str,
    title: str,
    changes: Sequence[str] | None = None,
    otherwise: str = "",
    fields: Mapping[str, Any] | None = None,
) -> PlannedStep:
    """A step of our own making; one that should change something and need not is skipped with `otherwise`."""
    return PlannedStep(
        id=step_id,
        index=index,
        uses=uses,
        title=title,
        fields=fields or {},
        on_failure="stop",
        changes=tuple(changes or ()),
        skipped=otherwise if changes is not None and not changes else "",
        on_abort="stops now" if changes is None else "finishes this action",
    )
