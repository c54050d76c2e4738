"""`host.command`: run a command of the runbook's author on the host."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field, field_validator

from console.schema.change import CommandChange
from console.schema.events import StepProgress
from console.schema.hosts import Target
from console.schema.plan import OnAbort
from console.steps.base import Look, Proposal, Step, StepIO, StepResult
from console.untrusted import clean, decode, one_line

DEFAULT_TIMEOUT_S = 60.0
# A command that only looks is sent again when its connection died.
LOST_PATIENCE_S = 60.0
# What is shown of its output; the record holds its first words.
LONGEST_OUTPUT = 65536
MOST_LINES = 400


class HostCommand(Step):
    """Run `command` with `sh -c`; an exit status other than 0 fails the step.

    `mutates = false` promises that it only looks: then it is no change, and needs no lock or undo.
    """

    uses: ClassVar[str] = "host.command"
    changes: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "run a command"

    command: str = Field(min_length=1)
    sudo: bool = False
    mutates: bool = True
    undo: str = ""

    @field_validator("command", "undo")
    @classmethod
    def _printable(cls, value: str) -> str:
        if any(ord(character) < 32 and character not in "\n\t" for character in value):
            raise ValueError("a command has no control characters")
        return value

    def title(self, target: Target) -> str:
        return one_line(("sudo " if self.sudo else "") + self.command, 60)

    def plan(self, look: Look) -> Iterator[Proposal]:
        if self.mutates:
            yield CommandChange(
                id=look.change_id,
                step=look.step_id,
                command=self.command,
                sudo=self.sudo,
                undo=self.undo,
                timeout_s=look.timeout_s or DEFAULT_TIMEOUT_S,
                summary=one_line(self.command, 60),
            )

    async def run(self, io: StepIO) -> StepResult:
        encoded = base64.b64encode(self.command.encode()).decode()
        timeout_s = io.step.timeout_s or DEFAULT_TIMEOUT_S
        output = await io.reader.look(
            "look_command.sh",
            encoded,
            "sudo" if self.sudo else "",
            timeout_s=timeout_s,
            patience_s=LOST_PATIENCE_S,
            long=True,
        )
        text = clean(io.reader.redactor.text(decode(output.sections.get("stdout", b""))[:LONGEST_OUTPUT]))
        for line in text.rstrip("\n").split("\n")[:MOST_LINES] if text.strip() else ():
            io.emit(StepProgress(target=io.plan.target.name, step=io.step.id, phase="output", message=line))
        said = one_line(decode(output.sections.get("stdout", b"") or output.sections.get("stderr", b"")), 200)
        status = int(output.text("status") or output.exit_status)
        if status != 0:
            return StepResult("failed", f"exit status {status}: {said}")
        return StepResult("ok", said or "exit status 0")
