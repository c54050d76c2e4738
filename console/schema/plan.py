"""A plan: what a run would do to one target, resolved to bytes and words. Read-only, serialisable, free of secrets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from console.schema.capacity import Judgement
from console.schema.change import Change
from console.schema.hosts import Target
from console.schema.names import Frozen
from console.schema.runbook import OnFailure, Value
from console.schema.splice import Splice

OnAbort = Literal["stops now", "finishes this action"]


class SettingChange(Frozen):
    """One setting of the engine as this run edits it. Values are the file's words; None: absent."""

    setting: str
    flag: str
    before: str | None
    after: str | None
    path: str
    line: int
    lossy: bool = False

    @property
    def sentence(self) -> str:
        before, after = ("absent" if value is None else value for value in (self.before, self.after))
        return f"{self.setting} {before} -> {after}"


class FileEdit(Frozen):
    """One file as this run edits it: the splices of every step that writes it, joined. `diff` is redacted."""

    path: str
    real_path: str
    splices: tuple[Splice, ...]
    sha256_before: str
    sha256_after: str
    diff: str
    steps: tuple[str, ...]
    change: str
    node: str = ""  # the host, where that is another one than the target's

    @property
    def place(self) -> str:
        return f"{self.node}:{self.path}" if self.node else self.path


class PlannedStep(Frozen):
    """A step as it will be executed. `fields` are its own keys, rendered; `skipped` says why it will not run."""

    id: str
    index: int
    uses: str
    title: str
    fields: Mapping[str, Any] = Field(default_factory=dict)
    timeout_s: float | None = None
    on_failure: OnFailure
    skipped: str = ""
    note: str = ""
    on_abort: OnAbort = "finishes this action"
    changes: tuple[str, ...] = ()


class Activation(Frozen):
    """What the restart makes live besides our edit: running → planned."""

    words_added: tuple[str, ...] = ()
    words_removed: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    reason: str = ""  # why it could not be seen

    @property
    def needs_accept(self) -> bool:
        """Argv words that are not ours need a person's word; environment differences are only listed."""
        return bool(self.words_added or self.words_removed)


class Answers(Frozen):
    """The four questions a plan answers, and what goes with them; each a list of lines for people."""

    fits: tuple[str, ...] = ()
    comes_back: tuple[str, ...] = ()
    also_live: tuple[str, ...] = ()
    also_hit: tuple[str, ...] = ()
    outage: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()  # what the proof asks of the engine
    undo: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()


class Plan(Frozen):
    """Runbook + target + facts, resolved."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    target: Target
    runbook: str
    runbook_path: str = ""
    title: str
    runbook_sha256: str
    runbook_text: str
    variables: Mapping[str, Value]
    made_at: str
    steps: tuple[PlannedStep, ...]
    changes: tuple[Change, ...] = ()
    edits: tuple[FileEdit, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    unchanged: tuple[SettingChange, ...] = ()  # asked for and already so
    # real path → sha256 of every file that decides the unit; on another host of the same engine: HOST:PATH
    deciding: Mapping[str, str] = Field(default_factory=dict)
    boot_id: str = ""
    invocation_id: str = ""
    argv_before: tuple[str, ...] = ()
    argv_after: tuple[str, ...] = ()
    activation: Activation = Field(default_factory=Activation)
    answers: Answers = Field(default_factory=Answers)
    capacity: Judgement | None = None  # of the command line this plan leads to; None where it restarts nothing
    warnings: tuple[str, ...] = ()
    wont_come_back: tuple[str, ...] = ()  # why the host would not start the service again
    old_limit_tokens: int | None = None  # the context served before this run
    load_estimate_s: float | None = None
    nothing_to_do: bool = False
    confirm: str = ""
    guard_s: float | None = None  # silence after which the host itself puts the change back
    guard_if: Literal["not-serving", "unconfirmed"] = "not-serving"
    on_failure: OnFailure = "stop"

    def change(self, change_id: str) -> Change:
        for change in self.changes:
            if change.id == change_id:
                return change
        raise KeyError(change_id)

    @property
    def load_allowed_s(self) -> float:
        """How long a start may take: what the plan's own wait allows."""
        waits = [step for step in self.steps if step.uses == "service.wait_ready"]
        allowed = [max(step.timeout_s or 1800.0, float(step.fields.get("hard_timeout") or 0)) for step in waits]
        return max(allowed, default=1800.0)

    def mutates(self) -> bool:
        return bool(self.changes)

    def digest(self) -> str:
        """sha256 of the plan's canonical JSON: what a saved plan is known by."""
        text = json.dumps(self.model_dump(mode="json", by_alias=True), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def keep_exact(shown: dict[str, Any], plan: Mapping[str, Any]) -> None:
    """Put back into the masked JSON of a plan what must stay exact: digests, and the bytes its file changes replace.

    They hold no secret, but masking goes by names and values: the digest of a file called `secrets`, or a number that
    is also somebody's key.
    """
    shown["deciding"] = plan["deciding"]
    for part in ("changes", "edits"):
        for masked, exact in zip(shown[part], plan[part], strict=True):
            masked |= {key: exact[key] for key in ("splices", "sha256_before", "sha256_after") if key in exact}


class PlanFile(Frozen):
    """plan.json of a run directory and the file of `plan --out`: one plan a target, written once."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    console_version: str
    runbook: str
    runbook_path: str = ""
    inventory: str = ""
    results_path: str = ""
    push: str = "auto"
    waves: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    plans: tuple[Plan, ...] = ()
    plan_id: str = ""
