"""A run is a process of its own: how it is started, how its id is learned, what is left behind."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.errors import StateError
from console.planning.preview import Preview
from console.planning.saved import load_plan
from console.secrets import Redactor
from console.tui.start import Started, Wish, command_line, start_run
from tests.tui import made_up
from tests.views import story

PYTHON = sys.executable


@pytest.fixture
async def preview(looks: made_up.FakeLooks) -> Preview:
    runbook = made_up.extend_context()
    values = {name: variable.default for name, variable in runbook.vars.items()}
    return await looks.preview(runbook, made_up.inventory().targets()[0], values)  # type: ignore[arg-type]


def wish(preview: Preview, **more: object) -> Wish:
    assert preview.plan is not None
    given: dict[str, object] = {"reason": "", "accept_pending": False} | more
    return Wish(
        made_up.extend_context(),
        made_up.inventory(),
        (preview.plan,),
        str(given["reason"]),
        bool(given["accept_pending"]),
    )


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """Instead of Python: a script that tells its words and its surroundings, then goes on with `body`."""
    script = folder / "python"
    told = folder / "told.json"
    script.write_text(
        f"#!{PYTHON}\n"
        "import json, os, sys\n"
        "plan = sys.argv[sys.argv.index('--plan') + 1]\n"
        "told = {'words': sys.argv[1:], 'session': os.getsid(0), 'pid': os.getpid(), 'plan': open(plan).read(),\n"
        "        'stdin': os.readlink('/proc/self/fd/0'), 'mode': os.stat(plan).st_mode}\n"
        f"open({str(told) + '.new'!r}, 'w').write(json.dumps(told))\n"
        f"os.rename({str(told) + '.new'!r}, {str(told)!r})\n" + body
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    return told


def until_its_end(started: Started) -> None:
    for _ in range(400):
        started.look()
        if started.exit_code is not None:
            return
        time.sleep(0.025)
    raise AssertionError("it does not end")


def test_the_confirmed_plan_goes_to_a_session_of_its_own_without_our_terminal(
    preview: Preview, state_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = json.dumps(story.verified()[0].line())
    told = stand_in(tmp_path, monkeypatch, f"print({first!r}, flush=True)\nsys.exit(4)\n")
    started = start_run(wish(preview, reason="INC-7", accept_pending=True), dict(os.environ), Redactor())
    until_its_end(started)
    said = json.loads(told.read_text())
    assert said["words"][:3] == ["-m", "console", "run"]
    assert said["words"][5:] == ["--yes", "--json", "--reason", "INC-7", "--accept-pending"]
    assert said["session"] == said["pid"]
    assert said["stdin"] == "/dev/null"
    assert stat.S_IMODE(said["mode"]) == 0o600
    assert json.loads(said["plan"])["plans"][0]["settings"][0]["after"] == "200000"
    assert (started.run_id, started.exit_code) == (story.RUN, 4)
    assert list((state_home.parent / "plans").iterdir()) == []
    started.close()


def test_the_plan_is_one_that_run_takes(preview: Preview, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = stand_in(tmp_path, monkeypatch, "")
    started = start_run(wish(preview), dict(os.environ) | {"XDG_STATE_HOME": str(tmp_path)}, Redactor())
    until_its_end(started)
    started.close()
    kept = tmp_path / "kept.json"
    kept.write_text(json.loads(told.read_text())["plan"])
    saved = load_plan(kept)
    assert saved.file.plans == (preview.plan,)
    assert len(saved.file.plan_id) == 26


def test_why_it_did_not_begin(
    preview: Preview, state_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, "print('console: the plan is stale', file=sys.stderr)\nsys.exit(8)\n")
    started = start_run(wish(preview), dict(os.environ), Redactor())
    until_its_end(started)
    assert (started.run_id, started.exit_code) == ("", 8)
    assert started.complaint() == "console: the plan is stale\n"
    started.close()


def test_a_state_folder_that_cannot_be_written_is_an_error_of_ours(preview: Preview, tmp_path: Path) -> None:
    (tmp_path / "console").write_text("a file where a folder must be")
    with pytest.raises(StateError, match="cannot write"):
        start_run(wish(preview), {"XDG_STATE_HOME": str(tmp_path)}, Redactor())


def test_the_command_of_the_same_effect_can_be_pasted() -> None:
    text = command_line(made_up.extend_context(), "node7/chat", {"note": "two words"}, accept_pending=True)
    words = subprocess.run(["sh", "-c", f"printf '%s\\n' {text}"], capture_output=True, text=True, check=True).stdout
    assert words.splitlines()[:2] == ["console", "run"]
    assert words.splitlines()[3:] == ["node7/chat", "--set", "note=two words", "--accept-pending"]
