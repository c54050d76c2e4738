from __future__ import annotations

import argparse
import shlex

from console.cli.plan import command
from console.schema.plan import Activation
from tests.views import story
from tests.views.samples import plan, target


def arguments(**more: object) -> argparse.Namespace:
    given: dict[str, object] = {"hosts": None, "runbook": "runbooks/extend_context.toml", "assignments": []}
    return argparse.Namespace(**(given | more))


def test_a_plan_ends_with_the_run_that_carries_it_out() -> None:
    said = command(arguments(), plan(target=target(protected=False)))
    assert said == f"console run runbooks/extend_context.toml {story.TARGET}"


def test_what_was_said_is_said_again_and_quoted() -> None:
    given = arguments(hosts="my hosts.toml", assignments=["to=65536", "note=a b"])
    words = shlex.split(command(given, plan(activation=Activation(words_added=("--tp 8",)))))
    assert words == [
        *("console", "--hosts", "my hosts.toml", "run", "runbooks/extend_context.toml", story.TARGET),
        *("--set", "to=65536", "--set", "note=a b", "--accept-pending", "--reason", "TEXT"),
    ]
