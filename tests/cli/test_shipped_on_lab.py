"""The runbooks beside the main one, and `lint --against`, on a simulated host, as a person would use them."""

from __future__ import annotations

import pytest

from tests.runner.conftest import ROOT, Desk, desk, lab

__all__ = ["desk", "lab"]
pytestmark = pytest.mark.xdist_group("shipped-lab")

BOOKS = ROOT / "runbooks"


def carried_out(desk: Desk, book: str, *sets: str) -> str:
    """The unit's file after the run, which was verified and restarted the service."""
    started = desk.show("InvocationID")
    words = [word for each in sets for word in ("--set", each)]
    done = desk.run("run", str(BOOKS / f"{book}.toml"), "--yes", *words)
    assert done.returncode == 0, done.stderr
    assert desk.show("InvocationID") != started
    assert desk.git("log", "-1", "--format=%(trailers:key=Outcome,valueonly)").strip() == "verified"
    return desk.unit_text()


def test_each_is_verified(desk: Desk) -> None:
    first = desk.unit_text()

    text = carried_out(desk, "change_setting", "setting=max_running_requests", "to=24")
    assert text == first.replace("cache-report\n", "cache-report \\\n    --max-running-requests 24\n")
    text = carried_out(desk, "kv_cache_fp8")
    assert text.count("--kv-cache-dtype fp8_e4m3") == 1

    parsers = carried_out(desk, "toggle_parsers", "tool_call_parser=qwen25")
    assert parsers == text.replace("--tool-call-parser kimi_k2", "--tool-call-parser qwen25")

    assert carried_out(desk, "restart_and_verify") == parsers


def test_lint_against_a_target_tells_what_its_run_would_end_with(desk: Desk) -> None:
    started = desk.show("InvocationID")
    book = str(BOOKS / "extend_context.toml")

    bad = desk.run("lint", book, "--against", "lab1", "--set", "to=65536", "--set", "expect=4096")
    assert bad.returncode == 1
    assert "context_length is 32768, expected 4096" in bad.stderr

    desk.lab.service().unit_file.write_text(desk.unit_text().replace("KillMode=mixed\n", "KillMode=process\n"))
    odd = desk.run("lint", book, "--against", "lab1", "--set", "to=65536")
    assert odd.returncode == 0, odd.stderr
    warning, verdict = odd.stdout.splitlines()
    assert "KillMode=process leaves processes behind" in warning
    assert verdict == f"{book}: would go on lab1/k26"
    assert desk.show("InvocationID") == started
