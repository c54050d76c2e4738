"""No test sees who runs it: home, agent, git and console settings of the operator stay outside."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

# A machine under load is no finding: what takes long is told by bench/, never by a test.
hypothesis.settings.register_profile("console", deadline=None)
hypothesis.settings.load_profile("console")

pytest_plugins = ["tests.hosts.fixtures"]

SCRUBBED = ("SSH_", "XDG_", "GIT_", "CONSOLE_")
KEPT = ("CONSOLE_TEST_",)
GIT_CONFIG = """\
[user]
    name = Test Operator
    email = operator@test.invalid
[init]
    defaultBranch = main
[commit]
    gpgSign = false
"""


# A minute and more each, so begun first: at the end one worker would be at them while the others wait.
LONGEST = (
    "tests/test_pages.py",
    "tests/tui/test_tui_hostile.py",
    "tests/tui/test_tui_main_job.py",
    "tests/cli/test_story.py",
    "tests/runner/test_killed.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", metavar="DIR", help="tests/cases: this folder of units and logs instead of our own")
    parser.addoption("--traces", metavar="DIR", help="tests/analysis/workload: this folder of published traces, too")


@pytest.fixture(autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home with a git identity, a folder for sockets, and nothing else. Gives the home."""
    for name in os.environ:
        if name.startswith(SCRUBBED) and not name.startswith(KEPT):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    config = home / ".gitconfig"
    config.write_text(GIT_CONFIG)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # Of its own and short: a socket's path holds about a hundred bytes, and made-up runs have the same id everywhere.
    with tempfile.TemporaryDirectory(prefix="con-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield home
