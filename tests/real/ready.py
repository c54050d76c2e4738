"""Hosts with a serving engine, made ready while another test runs: a test need not wait for its host to boot."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from tests.hosts.engine_unit import install_engine
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host

# Of the first start; what comes after is set by the tests.
QUICK_LOAD_S = 10.0  # of the simulator's time: half a second


class Ready:
    """A few hosts in turn. Who takes one gives it back; it begins again on an empty file tree then."""

    def __init__(self, fleet: Fleet) -> None:
        self.pool = ThreadPoolExecutor(1)
        self.waiting: deque[Future[Host]] = deque()
        for host in fleet.hosts:
            self.give_back(host)

    def take(self) -> Host:
        return self.waiting.popleft().result()

    def give_back(self, host: Host) -> None:
        self.waiting.append(self.pool.submit(made_ready, host))

    def close(self) -> None:
        for waiting in self.waiting:
            waiting.cancel()
        self.pool.shutdown()


def made_ready(host: Host) -> Host:
    if host.used:
        host.renew()
        host.wait_up()
    host.used = True
    install_engine(host, load_s=QUICK_LOAD_S)
    return host
