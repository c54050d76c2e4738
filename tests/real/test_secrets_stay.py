"""Secrets of a host and of its operator: in nothing that is printed, kept or committed."""

from __future__ import annotations

import pytest

from tests.hosts.engine_unit import install_engine, serving, unit_text
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT
from tests.real.ready import QUICK_LOAD_S
from tests.runbooks import without_step

pytestmark = pytest.mark.real_host

API_KEY = "canary-one-4f1c9a77d2"
HF_TOKEN = "hf_canaryTwoQ8wZ1xR5tY7uI3oP9a"
BEARER = "canary-three-b81e6d20c5"
PASSWORD = "canary-four-e2a94c"


def test_canaries_are_nowhere(host: Host, make_desk: MakeDesk) -> None:
    content = unit_text(
        flags={"--api-key": API_KEY},
        environment=[f"HF_TOKEN={HF_TOKEN}"],
        service=[
            f"ExecStartPre=/bin/echo 'Authorization: Bearer {BEARER}'",
            f"ExecStartPre=/bin/echo 'OSError: fetching https://ops:{PASSWORD}@models.invalid/k26 failed'",
        ],
    )
    install_engine(host, content, api_key=API_KEY, load_s=QUICK_LOAD_S)
    desk = make_desk([host], service_keys={"api_key_env": "K26_API_KEY"})
    key = {"K26_API_KEY": API_KEY}
    unchecked = desk.runbook(without_step("capacity.check"))

    said = [
        desk.console("facts", f"{host.name}/k26", environment=key),
        desk.console("facts", f"{host.name}/k26", "--json", environment=key),
        desk.console("plan", EXTEND_CONTEXT, "--out", "plan.json", "--md", "plan.md", environment=key),
        desk.console("run", unchecked, "--set", "to=300000", environment=key),
        desk.extend("--json", environment=key),
        desk.console("runs"),
        desk.console("history", "list"),
        desk.console("rollback", host.name, "--yes", environment=key),
    ]

    assert [done.code for done in said] == [0, 0, 0, 4, 0, 0, 0, 0], "\n".join(done.err for done in said)
    assert serving(host, api_key=API_KEY) == 32768
    kept = desk.everything()
    # They were there to be seen: their places are, masked.
    for place in ("--api-key", "HF_TOKEN"):
        assert place in kept
    for canary in (API_KEY, HF_TOKEN, BEARER, PASSWORD):
        # Also not in pieces that would do.
        for piece in (canary, canary[3:], canary[:-3]):
            assert piece not in kept, kept[max(0, kept.find(piece) - 300) : kept.find(piece) + 60]
