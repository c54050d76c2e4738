"""The words that let one run do what its plan is refused for; only a command line can say them."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta

from console.clock import SystemClock, stamp
from console.errors import UsageError
from console.planning.consent import Consent
from console.schema.names import seconds


def add(parser: argparse.ArgumentParser) -> None:
    """All of them, for `plan` and `run`."""
    add_pending(parser)
    parser.add_argument(
        "--also-affects", type=int, metavar="N", help="so many other units and hosts read what is edited, and are meant"
    )
    parser.add_argument(
        "--temporary", default="", metavar="REASON", help="edit what a configuration management writes, and why"
    )
    parser.add_argument(
        "--i-will-be-here",
        action="store_true",
        help="begin though the login may end before the run, or each sudo waits for an approval: I am there",
    )
    parser.add_argument("--until", default="", metavar="TIME", help="when that must be over: 2h, 3d or a UTC time")
    parser.add_argument(
        "--restart-anyway", default="", metavar="REASON", help="restart though the host would not start it again"
    )


def add_pending(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--accept-pending", action="store_true", help="also activate what others left on disk")


def read(arguments: argparse.Namespace) -> Consent:
    """What was said of this one run. Raises UsageError for a time that is none."""
    until, temporary = getattr(arguments, "until", ""), getattr(arguments, "temporary", "")
    if until and not temporary:
        raise UsageError("--until says when --temporary REASON is over, and stands beside it")
    return Consent(
        accept_pending=getattr(arguments, "accept_pending", False),
        also_affects=getattr(arguments, "also_affects", None),
        temporary=temporary,
        until=stamp(moment(until, SystemClock().now())) if until else "",
        be_here=getattr(arguments, "i_will_be_here", False),
        restart_anyway=getattr(arguments, "restart_anyway", ""),
    )


def moment(text: str, now: datetime) -> datetime:
    """`2h` or `3d` from now, or a time such as 2026-12-01T09:00Z; without a zone it is UTC. Raises UsageError."""
    try:
        length = seconds(text)
    except ValueError:
        length = text
    if isinstance(length, int | float):
        return now + timedelta(seconds=length)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--until {text!r} is no time", hint="such as 2h, 3d or 2026-12-01T09:00Z") from None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    if found <= now:
        raise UsageError(f"--until {text} is over already")
    return found


def words(consent: Consent) -> list[str]:
    """The same as words of a command line."""
    said = ["--accept-pending"] if consent.accept_pending else []
    said += [] if consent.also_affects is None else ["--also-affects", str(consent.also_affects)]
    said += ["--i-will-be-here"] if consent.be_here else []
    for name in ("temporary", "until", "restart_anyway"):
        value = getattr(consent, name)
        said += [f"--{name.replace('_', '-')}", value] if value else []
    return said
