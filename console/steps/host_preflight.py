"""`host.preflight`: would this host start the service again?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from console.schema.hosts import Target
from console.steps.base import Look, Proposal, Step
from console.steps.coming_back import reasons, warnings


class HostPreflight(Step):
    """Stop what would not come back: a missing binary, model or image, a full disk, a driver that does not match.

    What is only suspicious, or cannot be seen, is a warning in plan and record.
    """

    uses: ClassVar[str] = "host.preflight"
    summary: ClassVar[str] = "would this host start it again?"

    def title(self, target: Target) -> str:
        return f"would {target.host_name} start it again?"

    def plan(self, look: Look) -> Iterator[Proposal]:
        for text in reasons(look.facts):
            look.on_blocker(text)
        for text in warnings(look.facts, look.unit):
            look.on_warning(text)
        return iter(())
