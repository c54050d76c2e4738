"""The table of what was read, right and wrong, at the end of a run over a folder of cases."""

from __future__ import annotations

import pytest

from tests.cases.reading import table_lines
from tests.cases.test_logs import JUDGED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash.get(JUDGED, [])
    if found and config.getoption("--cases", default=None):
        terminalreporter.section("logs")
        for line in table_lines(found):
            terminalreporter.write_line(line)
