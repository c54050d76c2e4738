"""Every step kind there is, by the name a runbook uses; each is loaded when it is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from console.steps.base import Step

# In the order of the page and of the schema. `service.wait_ready` is the class ServiceWaitReady of its own file.
_NAMES = (
    "host.preflight",
    "capacity.check",
    "unit.backup",
    "unit.set",
    "systemd.daemon_reload",
    "lb.out",
    "service.drain",
    "service.restart",
    "service.wait_ready",
    "service.verify",
    "host.command",
    "fabric.task",
    "measure.decode",
    "diagnose.decode",
    "diagnose.bottleneck",
    "measure.sweep",
    "measure.load",
    "lb.in",
    "service.observe",
    "measure.replay",
    "gate.performance",
    "gate.quality",
)


LOADED: dict[str, type[Step]] = {}


class _Kinds(Mapping[str, type[Step]]):
    """A run loads the kinds its runbook names: the others would cost every command their statistics and tables."""

    def __getitem__(self, uses: str) -> type[Step]:
        if uses not in _NAMES:
            raise KeyError(uses)
        if uses not in LOADED:
            words = uses.replace(".", "_")
            module = importlib.import_module(f"console.steps.{words}")
            kind: type[Step] = getattr(module, words.title().replace("_", ""))
            LOADED[uses] = kind
        return LOADED[uses]

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


STEP_KINDS: Mapping[str, type[Step]] = _Kinds()
