"""Fixtures for tests on real hosts; such a test is marked `real_host`."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator

import pytest

from tests.hosts.fleet import Fleet, why_not
from tests.hosts.host import Host

missing = functools.cache(why_not)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get("CONSOLE_BY_HAND"):  # left out, not skipped: `make hosts` is where they run
        by_hand = [item for item in items if item.get_closest_marker("by_hand")]
        config.hook.pytest_deselected(items=by_hand)
        items[:] = [item for item in items if item not in by_hand]
    # One worker has all of them, and so one fleet. The interrupt matrix has hosts of its own and takes as long.
    for item in items:
        if mark := item.get_closest_marker("real_host"):
            item.add_marker(pytest.mark.xdist_group(mark.kwargs.get("group", "real_hosts")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("real_host") and (reason := missing()):
        if os.environ.get("REAL_HOSTS") == "required":
            pytest.fail(f"REAL_HOSTS=required, but {reason}", pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def fleet() -> Iterator[Fleet]:
    """The hosts of this test session; they are made when first asked for."""
    with Fleet() as hosts:
        yield hosts


@pytest.fixture
def fresh_hosts(fleet: Fleet) -> Callable[[int], list[Host]]:
    """`fresh_hosts(8)`: so many hosts, up, and untouched by any other test."""
    return fleet.fresh


@pytest.fixture
def host(fleet: Fleet) -> Host:
    """One host, up, and untouched by any other test."""
    return fleet.fresh(1)[0]
