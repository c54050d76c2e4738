"""Every command the README and the pages show is run as it stands there, in order, against a simulated gpu1."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.lab.lab import Lab

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/change-a-setting.md",
    "docs/measure.md",
    "docs/diagnose.md",
    "docs/capacity.md",
    "docs/audit.md",
    "docs/terminal-ui.md",
    "docs/tune.md",
    "docs/hosts.md",
)
# Run by CI itself, around this test.
BY_CI = ("make demo", "make story", "make test", "pip install")

# A step that hardly grows with the context: a sweep up to the whole window takes no longer than a short one.
QUICK = {"step_ms_per_token": 0.0002}


def commands(page: str) -> list[str]:
    """The lines of the page's `sh` blocks, without their remarks."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    lines = [re.sub(r"\s+#.*$", "", line).strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith(BY_CI)]


@pytest.fixture
def gpu1(tmp_path: Path) -> Iterator[Lab]:
    lab = asyncio.run(Lab.start(tmp_path / "gpu1", name="gpu1", load_s=10.0, speed=50.0, options=QUICK))
    yield lab
    lab.stop_now()


@pytest.mark.parametrize("page", PAGES)
def test_commands_of(page: str, gpu1: Lab, tmp_path: Path) -> None:
    shown = commands(page)
    assert shown
    state = tmp_path / "state"
    environment = dict(os.environ) | {
        "CONSOLE_HOSTS": str(gpu1.hosts_toml),
        "XDG_STATE_HOME": str(state),
        "PYTHONPATH": str(ROOT),
    }
    for line in shown:
        words = [as_here(word, gpu1.folder / "results") for word in shlex.split(line)]
        assert words[0] in ("console", "git"), f"{page}: {line}"
        command = [sys.executable, "-m", "console"] if words[0] == "console" else ["git"]
        done = subprocess.run(
            [*command, *words[1:]],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{page}: {line}\n{done.stdout}\n{done.stderr}"
        # A question to git that finds nothing would end well, too.
        assert words[0] == "console" or done.stdout.strip(), f"{page}: {line} answers nothing"


def as_here(word: str, results: Path) -> str:
    """A word of a page with what differs from reader to reader: the repository, and the ids of runs in it."""
    if "RUN" not in word and "OLDER" not in word:
        return word.replace("../findings", str(results))
    log = ["git", "-C", str(results), "log", "--format=%(trailers:key=Run-Id,valueonly,separator=)"]
    runs = subprocess.run(log, capture_output=True, text=True, check=True).stdout.split()
    return word.replace("OLDER", runs[-1]).replace("RUN", runs[0])


def test_every_exit_code_of_the_page_is_the_programs() -> None:
    from console.schema.outcome import EXIT_CODES

    page = (ROOT / "docs/change-a-setting.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \|", page, re.MULTILINE)
    told = {name: int(code) for code, names in rows for name in re.findall(r"`([a-z-]+)`", names)}
    for outcome, code in EXIT_CODES.items():
        if code is not None and outcome.value not in ("measured", "failed-unchanged"):
            assert told[outcome.value] == code


def test_links_lead_somewhere() -> None:
    for page in (*PAGES, "docs/steps.md", "docs/architecture.md", "CHANGELOG.md"):
        for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / page).read_text()):
            assert (ROOT / page).parent.joinpath(link).exists(), f"{page}: {link}"
