"""`history blame`: who set each value that is in force, when and in which run; what was never set here is said so."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from console.errors import StateError
from console.results.history import History, Row, as_ended
from console.results.store import sighting
from console.results.told import ChangeTold
from console.schema.outcome import Outcome

# After these a change made by the run stands on the host.
STANDING = frozenset({Outcome.VERIFIED, Outcome.VERIFIED_INCOMPLETE, Outcome.APPLIED_UNVERIFIED})


@dataclass(frozen=True)
class Blame:
    """One value in force. `how`: set · found · baseline · never set here; `differs`: who set it last set another."""

    setting: str
    value: str | None
    how: str
    before: str | None = None
    at: str = ""
    run: str = ""
    sha: str = ""
    operator: str = ""
    reason: str = ""
    ticket: str = ""
    outcome: str = ""
    note: str = ""


@dataclass(frozen=True)
class Blamed:
    """The values in force on a target, as its newest record that saw them says."""

    target: str
    seen_at: str
    seen_run: str
    settings: tuple[Blame, ...]


def blame(history: History, target: str, setting: str = "") -> Blamed:
    """Who set each value (or the one of `setting`). Raises StateError where no record saw the target."""
    rows = as_ended(history.rows(target))
    passed: list[Row] = []
    seen = None
    for row in rows:
        passed.append(row)
        if (seen := sighting(history, row)) is not None:
            break
    if seen is None:
        raise StateError(
            f"no record says what is in force on {target}",
            where=str(history.path),
            hint=f"console history adopt {target}",
        )
    values: dict[str, str | None] = dict(seen.settings)
    if setting:
        values = {setting: values.get(setting)}
    found: dict[str, Blame] = {}
    # Once every value has its origin, nothing older can say more.
    for row in chain(passed, rows):
        for name, one in _origins(row):
            if name in values or not setting:
                found.setdefault(name, _against(one, values.get(name), name in values))
        if all(name in found for name in values):
            break
    for name, value in values.items():
        found.setdefault(name, Blame(name, value, "never set here" if value is not None else "not given"))
    order = sorted((one for one in found.values() if one.setting in values or one.note), key=_order)
    return Blamed(target, seen.at, seen.run, tuple(order))


def _order(one: Blame) -> tuple[bool, str]:
    return one.how == "never set here", one.setting


def _origins(row: Row) -> list[tuple[str, Blame]]:
    """What a record says of where values come from."""
    told = row.told
    common = {
        "at": row.at, "run": told.run, "sha": row.sha, "operator": told.operator, "reason": told.reason,
        "ticket": told.ticket, "outcome": told.outcome,
    }  # fmt: skip
    found = []
    if told.outcome in STANDING:
        found += [(c.setting, Blame(c.setting, c.after, "set", c.before, **common)) for c in standing(row)]
    for seen in told.observed:
        note = f"{seen.how}, between {seen.since} and {seen.until}"
        found.append((seen.setting, Blame(seen.setting, seen.after, "found", seen.before, **common, note=note)))
    found += [(name, Blame(name, value, "baseline", **common)) for name, value in told.settings]
    return found


def standing(row: Row) -> tuple[ChangeTold, ...]:
    """The settings a record changed for good."""
    return row.told.changed if row.told.outcome in STANDING else ()


def _against(origin: Blame, value: str | None, known: bool) -> Blame:
    """The origin of a value; a note where what is in force now is not what was set then."""
    if not known or value == origin.value:
        return origin
    said = "absent" if value is None else value
    return Blame(
        **(
            vars(origin)
            | {"value": value, "how": "changed since", "note": f"set to {origin.value} then; {said} was seen later"}
        )
    )


def document(blamed: Blamed) -> dict[str, object]:
    """For --json."""
    return {
        "target": blamed.target,
        "seen_at": blamed.seen_at,
        "seen_run": blamed.seen_run,
        "settings": [dict(vars(one)) for one in blamed.settings],
    }
