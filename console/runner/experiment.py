"""An experiment: a series of ordinary runs of one runbook, one an arm, until its own results say that it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from console.analysis.tuning.experiment import Candidate, Result, Settings, Spec, Standing, standing
from console.analysis.tuning.objective import parse_objective
from console.errors import AbortedError, RefusedError
from console.runs.experiment_log import ExperimentLog
from console.schema.events import ConclusionMade, Event, FindingMade
from console.schema.runbook import Runbook, Value

# How a run may end without ending the experiment: done, if not in a last step; rolled back or refused, which is an
# answer about its arm.
ROLLED_BACK = 4
MEASURED, ABOUT_ITS_ARM = (0, 10), (1, ROLLED_BACK)
SETTLE = "settle"
# What systemd says of too many starts: true of the experiment, not of the arm whose turn it was.
START_LIMIT = "start-limit-hit"


@dataclass(frozen=True)
class ArmEnd:
    """How one run of an arm ended, and what it measured. `stopped`: by what it was asked to stop, in vain or not."""

    exit_code: int
    run: str
    figures: Mapping[str, Sequence[float]]
    minutes: float
    limit: str = ""
    layer: str = ""
    why: str = ""
    stopped: str = ""


class RunArm(Protocol):
    def __call__(self, name: str, variables: dict[str, Value]) -> ArmEnd: ...


def spec_of(runbook: Runbook) -> Spec:
    """What its [experiment] table asks for. Raises InvalidFileError, RefusedError for a runbook without one."""
    table = runbook.experiment
    if table is None:
        raise RefusedError("the runbook has no [experiment] table", where=runbook.path)
    for name, settings in table.arms.items():
        unknown = [variable for variable in settings if variable not in runbook.vars]
        if unknown:
            raise RefusedError(f"arm {name} sets {', '.join(unknown)}, which is no variable", where=runbook.path)
    return Spec(
        objective=parse_objective(table.objective, f"{runbook.path}: [experiment] objective"),
        base=Candidate("base", ()),
        candidates=tuple(Candidate(name, settings_of(settings)) for name, settings in table.arms.items()),
        restarts=table.restarts,
        most_restarts=table.most_restarts,
        most_minutes=table.budget / 60,
        until_met=table.until_met,
        inconclusive=table.inconclusive,
    )


def settings_of(values: Mapping[str, Value]) -> Settings:
    return tuple(
        (name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in values.items()
    )


def variables_of(spec: Spec, now: Standing, arm: str, given: Mapping[str, Value], runbook: Runbook) -> dict[str, Value]:
    """The variables of an arm: those given, then of every candidate that was kept before it, then its own."""
    table = runbook.experiment
    assert table is not None
    found = dict(given)
    for decision in now.decisions:
        if decision.verdict == "keep":
            found |= table.arms[decision.candidate]
    if arm != spec.base.name:
        found |= table.arms[arm]
    return found


def conduct(
    runbook: Runbook,
    given: Mapping[str, Value],
    log: ExperimentLog,
    run_arm: RunArm,
    say: Callable[[str], object],
) -> Standing:
    """Run arm after arm until it is over, then leave what was kept in service.

    Every result is on disk before the next run begins, so that an interrupted experiment goes on where it was. Raises
    RefusedError when a run ends in a way that is no answer about its arm: somebody must look first. Raises AbortedError
    after a run that was asked to stop: no other begins, not even the one that would put what was kept into service.
    """
    spec = spec_of(runbook)
    results = log.results()
    while (now := standing(spec, results)).next_arm is not None:
        say(f"{now.next_arm} for {now.versus} against {now.kept}, run {len(results) + 1}")
        variables = variables_of(spec, now, now.next_arm, given, runbook)
        end = run_arm(now.next_arm, variables)
        if end.stopped and end.exit_code not in MEASURED:
            raise _asked_to_stop(end, now.next_arm, now.kept)
        result = _result(now.next_arm, now.versus, end, now.kept)
        log.add(result)
        results.append(result)
        if end.stopped:
            raise _asked_to_stop(end, now.next_arm, now.kept)
    if results and _serves(results, spec.base.name) != now.kept:
        say(f"{now.kept} goes back into service")
        end = run_arm(now.kept, variables_of(spec, now, now.kept, given, runbook))
        if end.exit_code not in MEASURED:
            raise stopped(end, now.kept)
        log.add(Result(now.kept, SETTLE, end.figures, minutes=end.minutes, run=end.run))
    return now


def _serves(results: Sequence[Result], base: str) -> str:
    """The arm that the last run left in service: a run that was rolled back left the one before it."""
    arm = base
    for one in results:
        arm = one.arm if one.ok else arm
    return arm


def _result(arm: str, versus: str, end: ArmEnd, kept: str) -> Result:
    if end.exit_code in MEASURED:
        return Result(arm, versus, end.figures, minutes=end.minutes, run=end.run, limit=end.limit, layer=end.layer)
    if end.exit_code in ABOUT_ITS_ARM and arm != kept and START_LIMIT not in end.why:
        return Result(arm, versus, {}, ok=False, minutes=end.minutes, run=end.run, why=end.why)
    raise stopped(end, arm)


def _asked_to_stop(end: ArmEnd, arm: str, kept: str) -> AbortedError:
    """What stands after a stop: whoever asked for it decides what comes next."""
    serves = f"run {end.run or '?'} of {arm} says what serves now"
    if end.exit_code in MEASURED:
        serves = f"{arm} is in service"
    elif end.exit_code == ROLLED_BACK:
        serves = f"{arm} was put back, what stood before it serves"
    return AbortedError(
        f"stopped by {end.stopped}: {serves}; {kept} is what was kept so far",
        hint="console runs --open says what is left; the same command with --continue goes on",
    )


def stopped(end: ArmEnd, arm: str) -> RefusedError:
    if START_LIMIT in end.why:
        return RefusedError(
            f"systemd starts it no more: too many restarts in StartLimitIntervalSec (run {end.run or '?'} of {arm})",
            hint="systemctl reset-failed UNIT on the host, a larger StartLimitBurst, then the same with --continue",
        )
    return RefusedError(
        f"run {end.run or '?'} of {arm} ended with {end.exit_code}: {end.why or 'its end says nothing of the arm'}",
        hint="console runs --open says what is left; then the same command with --continue goes on",
    )


class Figures:
    """The figures of one run, out of its events."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}
        self.run = ""
        self.widest = 0.0
        self.limit = ""
        self.layer = ""
        self.why = ""

    def hear(self, event: Event) -> None:
        self.run = event.run or self.run
        if isinstance(event, FindingMade):
            self._finding(event)
        elif isinstance(event, ConclusionMade) and event.kind == "bottleneck":
            # What is inconclusive is no limit, and nothing has moved when it is told at last.
            named, _, _ = event.text.partition(":")
            self.limit = "" if named == "inconclusive" else named
        elif isinstance(event, ConclusionMade) and event.kind == "lever" and ": next " in event.text:
            self.layer = event.text.partition(": next ")[2]
        elif event.type == "step.finished" and getattr(event, "outcome", "") in ("failed", "refused"):
            self.why = self.why or str(getattr(event, "message", ""))

    def _finding(self, event: FindingMade) -> None:
        value = float(event.value) if isinstance(event.value, int | float) else None
        if event.name == "replay_band" and event.source == "all":
            self._keep({**event.figures, "e2e_p95_s": value})
        elif event.name == "load_throughput":
            self._load(event.figures.get("streams", 0.0), {**event.figures, "tok_min_gpu": value})
        elif event.name == "decode_rate" and "no headline" not in event.flags:
            self._keep({"decode_tok_s": value})
        elif event.name == "pool_served":
            self._keep({"pool_tokens": value})

    def _load(self, streams: float, figures: Mapping[str, float | None]) -> None:
        """The widest load is what is judged; those with fewer streams are there to tell the limit from."""
        if streams > self.widest:
            for name in figures:
                self.found.pop(name, None)
        if streams >= self.widest:
            self.widest = streams
            self._keep(figures)

    def _keep(self, figures: Mapping[str, float | None]) -> None:
        for name, value in figures.items():
            if value is not None and value > 0:
                self.found.setdefault(name, []).append(value)
