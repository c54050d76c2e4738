"""The main job on the embedded lab: what the host shows, what git keeps, and how it ends when it must not end well."""

from __future__ import annotations

import json
import signal

import pytest

from tests.runner.conftest import RUNBOOK, Desk, of_type

RAISE_POOL = ("--set", "mem_fraction=0.92")


def serving(desk: Desk) -> dict[str, str]:
    done = desk.run("facts", "--json")
    assert done.returncode == 0, done.stderr
    levels = {level["setting"]: level for level in json.loads(done.stdout)["levels"]}
    return {name: levels["context_length"][name] for name in ("disk", "loaded", "running", "serving")}


def test_verified_then_nothing_to_do(desk: Desk) -> None:
    before = desk.show("InvocationID")["InvocationID"]
    code, events = desk.extend(*RAISE_POOL)
    assert code == 0
    assert serving(desk) == dict.fromkeys(("disk", "loaded", "running", "serving"), "200000")
    started = desk.show("InvocationID", "NRestarts")
    assert started["InvocationID"] != before
    assert started["NRestarts"] == "0"
    prompt = [event["value"] for event in of_type(events, "finding.made") if event["name"] == "prompt_tokens"]
    assert prompt
    assert prompt[0] > 32768
    assert desk.git("log", "-1", "--format=%(trailers:key=Change,valueonly)").splitlines()[:2] == [
        "context_length 32768 -> 200000",
        "mem_fraction 0.85 -> 0.92",
    ]
    code, events = desk.extend(*RAISE_POOL)
    assert code == 0
    assert of_type(events, "run.finished")[0]["outcomes"] == {"lab1/k26": "no-change"}
    assert not of_type(events, "change.intended")
    assert not of_type(events, "question.asked")
    assert desk.show("InvocationID")["InvocationID"] == started["InvocationID"]
    assert desk.git("log", "-1", "--format=%(trailers:key=Outcome,valueonly)").strip() == "no-change"
    assert not desk.git("log", "-1", "--format=%(trailers:key=Change,valueonly)").strip()


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("oom", "out of memory"),
        ("pool-shrinks", "is accepted but cannot be served: the KV pool holds 122031 tokens"),
        ("crash-loop", "started it again"),
    ],
)
def test_a_start_that_fails_is_put_back(desk: Desk, fault: str, cause: str) -> None:
    before = desk.unit_text()
    desk.lab.set_fault(fault, 32768)
    code, events = desk.extend(*RAISE_POOL)
    finished = of_type(events, "target.finished")[0]
    assert (code, finished["outcome"]) == (4, "rolled-back"), finished
    assert cause in finished["message"]
    assert desk.unit_text() == before
    assert set(serving(desk).values()) == {"32768"}
    assert desk.git("log", "-1", "--format=%(trailers:key=Outcome,valueonly)").strip() == "rolled-back"


def test_a_port_held_by_a_stale_process_is_caught_and_named(desk: Desk) -> None:
    """The old process answers as if nothing were wrong; while it does, no start can serve, the old one neither."""
    before = desk.unit_text()
    desk.lab.set_fault("stale-port", 32768)
    code, events = desk.extend(*RAISE_POOL)
    finished = of_type(events, "target.finished")[0]
    assert (code, finished["outcome"]) == (5, "rollback-failed"), finished
    assert "port" in finished["message"]
    assert desk.unit_text() == before
    assert f"console rollback {finished['run']}" in finished["next"]


def test_a_slow_load_is_waited_for(desk: Desk) -> None:
    desk.lab.set_fault("slow-load", 32768)
    code, _ = desk.extend(*RAISE_POOL)
    assert code == 0


def test_the_pool_as_it_is_cannot_hold_the_window(desk: Desk) -> None:
    before, started = desk.unit_text(), desk.show("InvocationID")
    planned = desk.run("plan", str(RUNBOOK))
    assert planned.returncode == 1, planned.stdout
    assert "the largest served would be 101,128" in planned.stdout
    code, events = desk.extend()
    assert code == 1
    finished = of_type(events, "target.finished")[0]
    assert finished["outcome"] == "failed-unchanged"
    assert "starts but cannot serve: the pool will hold 101,134 tokens" in finished["message"]
    assert not of_type(events, "change.intended")
    assert (desk.unit_text(), desk.show("InvocationID")) == (before, started), "nothing was touched"


def test_the_proof_says_so_where_nothing_judged_it_before(desk: Desk) -> None:
    code, events = desk.extend_unchecked()
    assert code == 4
    assert "the KV pool holds 101134 tokens" in of_type(events, "target.finished")[0]["message"]


def test_a_window_that_only_starts_is_accepted_when_said(desk: Desk) -> None:
    code, events = desk.extend("--set", "require=start")
    assert code == 0
    checked = [event for event in of_type(events, "step.finished") if event["uses"] == "capacity.check"]
    assert checked[0]["message"].startswith("starts but cannot serve")


def test_the_pool_is_what_was_predicted(desk: Desk) -> None:
    code, events = desk.extend(*RAISE_POOL)
    assert code == 0
    found = {event["name"]: event for event in of_type(events, "finding.made")}
    assert found["predicted_pool_tokens"]["value"] == 203386
    assert found["pool_tokens"]["value"] == 203386
    assert found["pool_tokens"]["figures"] == {"predicted": 203386}
    assert abs(found["pool_error"]["value"]) <= 1
    assert "pool_tokens 203386 method=server_info source=engine predicted=203386" in desk.git(
        "log", "-1", "--format=%(trailers:key=Finding,valueonly)"
    )


def test_a_stop_in_the_wait_leaves_what_was_restarted_and_resume_proves_it(desk: Desk) -> None:
    desk.lab.set_fault("slow-load", 32768)
    process = desk.start("run", str(RUNBOOK), "--json", *RAISE_POOL)
    events = []
    assert process.stdout is not None
    for line in process.stdout:
        events.append(json.loads(line))
        if events[-1]["type"] == "step.progress" and events[-1]["phase"] == "weights":
            process.send_signal(signal.SIGINT)
            break
    events += [json.loads(line) for line in process.stdout]
    assert process.wait() == 3
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()
    finished = of_type(events, "target.finished")[0]
    assert (finished["outcome"], finished["live"]) == ("applied-unverified", True)
    run = finished["run"]
    opened = desk.run("runs", "--open")
    assert "lab1/k26" in opened.stdout
    assert f"console resume {run}" in opened.stdout
    assert f"console rollback {run}" in opened.stdout
    before = desk.show("InvocationID")["InvocationID"]
    resumed = desk.run("resume", run, "--yes")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert desk.show("InvocationID")["InvocationID"] == before, "the process that was loading is the one proven"
    assert set(serving(desk).values()) == {"200000"}
    assert desk.run("runs", "--open").stdout == ""
    back = desk.run("rollback", "lab1/k26", "--yes")
    assert back.returncode == 0, back.stdout + back.stderr
    assert set(serving(desk).values()) == {"32768"}


def test_what_somebody_left_on_disk_is_named_and_stops_the_run(desk: Desk) -> None:
    unit = desk.lab.service().unit_file
    unit.write_text(desk.unit_text().replace("--tp-size 8", "--tp-size 8 --max-running-requests 64"))
    edited = desk.unit_text()
    assert "--max-running-requests 64" in edited
    invocation = desk.show("InvocationID")
    planned = desk.run("plan", str(RUNBOOK), *RAISE_POOL)
    assert planned.returncode == 1
    assert "--max-running-requests" in planned.stdout
    done = desk.run("run", str(RUNBOOK), *RAISE_POOL, "--yes")
    assert done.returncode == 1, done.stdout + done.stderr
    assert desk.unit_text() == edited
    assert desk.show("InvocationID") == invocation
    accepted = desk.run("run", str(RUNBOOK), *RAISE_POOL, "--yes", "--accept-pending")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr


def test_a_saved_plan_is_used_once_and_only_while_fresh(desk: Desk) -> None:
    out = desk.state / "plan.json"
    before = desk.unit_text()
    assert desk.run("plan", str(RUNBOOK), *RAISE_POOL, "--out", str(out)).returncode == 0
    desk.lab.service().unit_file.write_text(before + "# touched\n")
    stale = desk.run("run", "--plan", str(out), "--yes")
    assert stale.returncode == 8, stale.stderr
    desk.put_back(before)
    assert desk.run("plan", str(RUNBOOK), *RAISE_POOL, "--out", str(out)).returncode == 0
    done = desk.run("run", "--plan", str(out), "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert desk.run("run", "--plan", str(out), "--yes").returncode == 8
