"""The table of what was read, right and wrong, at the end of a run over a folder of cases."""

from __future__ import annotations

import pytest

from tests.cases.reading import table_lines
from tests.cases.test_logs import JUDGED
from tests.cases.test_units import JUDGED_UNITS
from tests.cases.unit_cases import table


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    units = config.stash.get(JUDGED_UNITS, [])
    if units and config.getoption("--cases", default=None):
        terminalreporter.section("units")
        terminalreporter.write_line(table(units))
    found = config.stash.get(JUDGED, [])
    if found and config.getoption("--cases", default=None):
        terminalreporter.section("logs")
        for line in table_lines(found):
            terminalreporter.write_line(line)
