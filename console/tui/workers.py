"""Work of a screen that may be lost at any time: it only reads, and is cancelled with its screen."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from textual.dom import DOMNode


def work(node: DOMNode, job: Callable[[], Coroutine[Any, Any, None]], group: str, *, exclusive: bool = True) -> None:
    """Do it beside the keys; with `exclusive` an earlier one of its group is cancelled.

    A function or a `partial`, not its coroutine: one that is cancelled before it began would never be awaited.
    """
    node.run_worker(job, group=group, exclusive=exclusive, exit_on_error=False)  # type: ignore[arg-type]
