"""The main job as an operator types it, on a real host."""

from __future__ import annotations

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, serving, unit_text
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import Desk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE, digest, everywhere, starts

pytestmark = pytest.mark.real_host

KEY = "an-api-key-for-this-test"


def test_whole_job_then_nothing_to_do(host: Host, make_desk: MakeDesk) -> None:
    install_engine(host, unit_text(flags={"--api-key": KEY}), api_key=KEY, load_s=QUICK_LOAD_S)
    before = host.read_bytes(UNIT_FILE)
    first = starts(host)
    desk = make_desk([host], service_keys={"api_key_env": "K26_API_KEY"})

    done = desk.extend(environment={"K26_API_KEY": KEY})

    assert done.code == 0, done.err
    assert everywhere(host, api_key=KEY) == ("200000", "200000", "200000", "200000")
    assert host.read_bytes(UNIT_FILE) == before.replace(b" 32768 ", b" 200000 ")
    assert starts(host) == first + 1
    assert done.outcome == "verified"
    (prompt,) = [finding["value"] for finding in done.record["findings"] if finding["name"] == "prompt_tokens"]
    assert prompt > 32768
    assert desk.commits() == [f"{host.name}/k26: context_length 32768 -> 200000, verified"]
    trailers = desk.trailers()
    assert trailers["Run-Id"] == [done.run_id]
    assert trailers["Target"] == [f"{host.name}/k26"]
    assert trailers["Unit"] == [UNIT]
    assert trailers["Change"] == ["context_length 32768 -> 200000"]
    assert trailers["Outcome"] == ["verified"]
    assert trailers["Runbook"][0].startswith("extend-context sha256:")

    invocation = host.show(UNIT, "InvocationID")
    changed_at = digest(host), host.out("stat", "--format=%Z", UNIT_FILE)
    again = desk.extend(environment={"K26_API_KEY": KEY})

    assert again.code == 0, again.err
    assert again.outcome == "no-change"
    assert host.show(UNIT, "InvocationID") == invocation
    assert (digest(host), host.out("stat", "--format=%Z", UNIT_FILE)) == changed_at
    assert not again.of("change.intended")
    assert desk.commits()[0] == f"{host.name}/k26: context_length already 200000, no-change"
    assert "Change" not in desk.trailers()


def test_override_that_wins_is_edited_and_the_base_is_not(host: Host, desk: Desk) -> None:
    override = f"/etc/systemd/system/{UNIT}.d/50-override.conf"
    command = next(line for line in unit_text().replace(" \\\n   ", "").splitlines() if line.startswith("ExecStart="))
    host.write(override, f"# ours\n[Service]\nExecStart=\n{command}\n")
    host.run("chown", "daemon:adm", override)
    host.run("chmod", "0640", override)
    host.run("setfattr", "-n", "user.origin", "-v", "deployed", override)
    host.run("setfacl", "-m", "u:games:r", override)
    host.run("systemctl", "daemon-reload")
    kept = ["sh", "-c", 'stat --format="%a %U:%G" $0; getfattr --absolute-names -d $0; getfacl -p $0', override]
    identity = host.out(*kept)
    base, content = digest(host), host.read_bytes(override)

    done = desk.extend()

    assert done.code == 0, done.err
    assert digest(host) == base
    assert host.read_bytes(override) == content.replace(b" 32768 ", b" 200000 ")
    assert host.out(*kept) == identity
    assert serving(host) == 200000
    assert done.record["settings"][0]["path"] == override
