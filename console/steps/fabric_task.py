"""`fabric.task`: a task of an existing fabfile, on our host with our key and our host keys."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from console.errors import RefusedError
from console.schema.change import FabricChange
from console.schema.hosts import Target
from console.schema.plan import OnAbort
from console.schema.runbook import Value
from console.steps.base import Look, Proposal, Step

DEFAULT_TIMEOUT_S = 600.0


class FabricTask(Step):
    """Call `task` of `file` with `args`; needs `pip install 'console[fabric]'`.

    What it does is its author's business: it can neither be looked for nor undone, unless `undo` names another task. A
    stop closes its connection; what it started on the host may go on.
    """

    uses: ClassVar[str] = "fabric.task"
    changes: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "call a task of a fabfile"

    file: str = Field(min_length=1)  # from where console is started
    task: str = Field(min_length=1)
    args: Mapping[str, Value] = Field(default_factory=dict)
    undo: str = ""

    def title(self, target: Target) -> str:
        return f"task {self.task} of {Path(self.file).name}"

    def plan(self, look: Look) -> Iterator[Proposal]:
        if not installed():
            raise RefusedError("Fabric is not installed here", hint="pip install 'console[fabric]'")
        path = Path(self.file).expanduser().absolute()
        try:
            text = path.read_bytes()
            functions = {each.name for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)}
        except (OSError, SyntaxError, ValueError) as error:
            raise RefusedError(f"the fabfile cannot be read: {error}", where=str(path)) from None
        for task in filter(None, (self.task, self.undo)):
            if task.replace("-", "_") not in functions:
                raise RefusedError(f"no task {task!r}", where=str(path), hint=f"there: {', '.join(sorted(functions))}")
        yield FabricChange(
            id=look.change_id,
            step=look.step_id,
            command=" ".join([f"fab {self.task}", *(f"--{name}={value}" for name, value in self.args.items())]),
            undo=self.undo,
            timeout_s=look.timeout_s or DEFAULT_TIMEOUT_S,
            summary=f"task {self.task} of {path.name}",
            file=str(path),
            sha256=hashlib.sha256(text).hexdigest(),
            task=self.task,
            args=self.args,
        )


def installed() -> bool:
    """Whether Fabric, an extra, is there; asked without loading it."""
    return importlib.util.find_spec("fabric") is not None
