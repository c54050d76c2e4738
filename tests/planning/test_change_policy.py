"""The inventory's policy: what a change must say, and when it may be made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from console.errors import UsageError
from console.planning.change_policy import check, inside
from console.schema.hosts import Policy

WEDNESDAY_NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


def judge(
    now: datetime = WEDNESDAY_NOON, *, reason: str = "", ticket: str = "", override: str = "", **policy: Any
) -> None:
    check(Policy.model_validate(policy), now, reason=reason, ticket=ticket, override=override)


def test_without_a_policy_everything_may_be_done() -> None:
    judge()


def test_what_must_be_said_is_named_and_no_override_helps() -> None:
    with pytest.raises(UsageError, match="wants a reason and ticket"):
        judge(require=["reason", "ticket"], override="the pager rang")
    judge(require=["reason", "ticket"], reason="longer prompts", ticket="OPS-7")


@pytest.mark.parametrize(
    ("window", "moment", "held"),
    [
        ("Mon-Fri 09:00-17:00", "2026-03-04T16:59", True),
        ("Mon-Fri 09:00-17:00", "2026-03-04T17:00", False),
        ("Mon-Fri 09:00-17:00", "2026-03-07T12:00", False),
        ("Sat-Mon 08:00-12:00", "2026-03-08T09:00", True),
        ("22:00-04:00", "2026-03-04T03:59", True),
        ("22:00-04:00", "2026-03-04T12:00", False),
        ("Fri 22:00-04:00", "2026-03-07T01:00", True),
        ("Fri 22:00-04:00", "2026-03-06T01:00", False),
        ("Wed 10:00-11:00", "2026-03-04T10:30", True),
    ],
)
def test_windows(window: str, moment: str, held: bool) -> None:
    assert inside(window, datetime.fromisoformat(moment)) is held


def test_outside_the_windows_only_an_override_helps_and_the_zone_counts() -> None:
    policy: dict[str, Any] = {"windows": ["Mon-Fri 09:00-12:30"], "zone": "Europe/Berlin"}
    with pytest.raises(UsageError, match=r"Wed 13:00 \(Europe/Berlin\) is outside"):
        judge(**policy)
    judge(override="the pager rang", **policy)
    judge(datetime(2026, 3, 4, 11, 0, tzinfo=UTC), **policy)


def test_a_freeze_says_why() -> None:
    freeze = {"first": "2026-03-01", "last": "2026-03-04", "why": "quarter's end"}
    with pytest.raises(UsageError, match="quarter's end"):
        judge(freezes=[freeze])
    judge(datetime(2026, 3, 5, tzinfo=UTC), freezes=[freeze])


@pytest.mark.parametrize(
    "policy",
    [{"windows": ["9-17"]}, {"windows": ["Mon 25:00-26:00"]}, {"zone": "Mars/Base"}, {"windows": ["Xyz 09:00-17:00"]}],
)
def test_a_policy_that_says_nothing_is_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="policy"):
        judge(**policy)


def test_a_freeze_without_a_date_is_refused() -> None:
    with pytest.raises(UsageError, match="no date"):
        judge(freezes=[{"first": "soon", "last": "later"}])
