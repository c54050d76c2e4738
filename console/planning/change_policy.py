"""When a change may be made and what must be said with it: the inventory's [policy], judged before a host is asked."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from console.errors import UsageError
from console.schema.hosts import Policy

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WINDOW = re.compile(
    r"(?:(?P<first>[A-Z][a-z]{2})(?:-(?P<last>[A-Z][a-z]{2}))? )?(?P<from>\d\d:\d\d)-(?P<to>\d\d:\d\d)"
)


def check(policy: Policy, now: datetime, *, reason: str, ticket: str, override: str) -> None:
    """Raise UsageError for a missing word, and outside the windows or in a freeze without an override's reason."""
    said = {"reason": reason, "ticket": ticket}
    missing = [name for name in policy.require if not said[name]]
    if missing:
        listed = " and ".join(missing)
        raise UsageError(f"the inventory's policy wants a {listed}", hint=" ".join(f"--{name} …" for name in missing))
    if override:
        return
    local = now.astimezone(zone(policy.zone))
    for freeze in policy.freezes:
        if day(freeze.first) <= local.date() <= day(freeze.last):
            why = f": {freeze.why}" if freeze.why else ""
            raise UsageError(
                f"no changes from {freeze.first} to {freeze.last} ({policy.zone}){why}", hint="--override REASON"
            )
    if policy.windows and not any(inside(window, local) for window in policy.windows):
        raise UsageError(
            f"{local:%a %H:%M} ({policy.zone}) is outside the windows for changes: {', '.join(policy.windows)}",
            hint="wait for one, or --override REASON",
        )


def inside(window: str, local: datetime) -> bool:
    """Whether a moment is in a window such as `Mon-Fri 09:00-17:00` or `22:00-04:00`, which goes on past midnight.

    Raises UsageError for what is no window.
    """
    match = _WINDOW.fullmatch(window)
    if match is None or not {match["first"] or "Mon", match["last"] or "Sun"} <= set(DAYS):
        raise UsageError(f"policy window {window!r} is not like 'Mon-Fri 09:00-17:00'")
    begin, end = clock(match["from"]), clock(match["to"])
    days = _days(match["first"], match["last"])
    today, now = local.weekday(), local.time()
    if begin <= end:
        return today in days and begin <= now < end
    # The part after midnight belongs to the day on which the window began.
    return (today in days and now >= begin) or ((today - 1) % 7 in days and now < end)


def _days(first: str | None, last: str | None) -> set[int]:
    if first is None:
        return set(range(7))
    begin, end = DAYS.index(first), DAYS.index(last or first)
    return {(begin + offset) % 7 for offset in range((end - begin) % 7 + 1)}


def clock(text: str) -> time:
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise UsageError(f"policy: {text!r} is no time of day") from None


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"policy: {text!r} is no date such as 2026-12-24") from None


def zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise UsageError(f"policy: this machine knows no time zone {name!r}") from None
