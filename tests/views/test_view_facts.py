from __future__ import annotations

import pytest

from console.schema.facts import Facts, HostState, LockState, Process, UnitState
from console.views.facts import facts_text
from tests.views import story
from tests.views.golden import screen, too_wide
from tests.views.samples import HOSTILE, LONG, WIDE, facts, levels


def test_facts_read_as_their_screen() -> None:
    shown = [
        levels("65536", "16384", "16384", "16384", differs="loaded"),
        levels(None, None, None, "auto", name="kv_cache_dtype"),
    ]
    assert facts_text(facts(), shown) + "\n" == screen("facts")


def test_what_cannot_be_seen_says_why() -> None:
    seen = Facts(
        target=story.TARGET,
        read_at="2026-03-04T03:02:11.000Z",
        host=HostState(gpu_reason="no nvidia-smi", xid_reason="the journal of the kernel is not readable"),
        unit=UnitState(id=story.UNIT, load_state="masked"),
        process=Process(reason="the unit is not active", foreign_pid=812),
        serving_reason="connection refused",
        lock=LockState(held=True, run="01K2", operator="ops", from_host="desk", since="2026-03-04T02:00:00Z"),
    )
    text = facts_text(seen, [], odd=["/etc/a.service:3: Type=notify, but it never notifies; Type=simple"])
    for words in (
        "ODD /etc/a.service:3: Type=notify, but it never notifies; Type=simple",
        "n/a: no nvidia-smi",
        "the journal of the kernel is not readable",
        "load state: masked",
        "n/a: the unit is not active",
        "held by process 812, which is not of this unit",
        "n/a: connection refused",
        "held by run 01K2 of ops from desk since 2026-03-04 02:00Z",
        "no earlier start in the journal",
    ):
        assert words in " ".join(text.split())


@pytest.mark.parametrize("poison", [HOSTILE, LONG, WIDE])
def test_what_a_host_says_cannot_leave_its_line(poison: str) -> None:
    seen = facts(
        host=HostState(hostname=poison, os=poison, kernel=poison, xid_lines=(poison,), login_user=poison),
        process=Process(reason=poison),
        serving=None,
        serving_reason=poison,
    )
    text = facts_text(seen, [])
    assert not [character for character in text if character != "\n" and not character.isprintable()]
    assert too_wide(text) == []
