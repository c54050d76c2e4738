"""What `console run` may read of its targets before it has judged the runbook."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from console.cli.run_ahead import _may_read
from console.schema.hosts import Host, Policy
from tests.fakes import target

CHANGES = 'schema = 1\nname = "change"\n'
PROCEEDS = CHANGES + 'unattended = "proceed"\n'


def asked(runbook: Path | str, *, yes: bool = False) -> argparse.Namespace:
    return argparse.Namespace(runbook=str(runbook), yes=yes)


@pytest.mark.parametrize(
    ("text", "yes", "reads"),
    [
        (PROCEEDS, False, True),
        (CHANGES, True, True),
        (CHANGES, False, False),
        (PROCEEDS + "[experiment]\n", True, False),
        ("not = toml = at all", True, False),
    ],
    ids=["proceeds", "yes", "would be refused", "experiment", "no runbook"],
)
def test_a_run_that_is_sure_to_look_may_look_ahead(tmp_path: Path, text: str, yes: bool, reads: bool) -> None:
    runbook = tmp_path / "runbook.toml"
    runbook.write_text(text)
    assert _may_read(asked(runbook, yes=yes), Policy(), [target()]) is reads


def test_no_host_is_read_before_a_policy_or_its_protection_is_asked(tmp_path: Path) -> None:
    runbook = tmp_path / "runbook.toml"
    runbook.write_text(PROCEEDS)
    guarded = target().model_copy(update={"host": Host(protected=True)})
    assert guarded.protected
    assert not _may_read(asked(runbook), Policy(), [target(), guarded])
    assert not _may_read(asked(runbook), Policy(require=("reason",)), [target()])
    assert not _may_read(asked(runbook), Policy(windows=("Mon-Fri 09:00-17:00",)), [target()])
    assert not _may_read(asked(tmp_path / "none.toml"), Policy(), [target()])
