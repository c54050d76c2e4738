"""What an experiment has measured, one line a run, so that it goes on after any interruption."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from console.analysis.tuning.experiment import Result
from console.errors import StateError
from console.runs.directory import base_folder, write_durably


class ExperimentLog:
    """`$XDG_STATE_HOME/console/experiments/<id>/`: what it is, and its results. A torn last line is ignored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, experiment: str, environment: Mapping[str, str]) -> ExperimentLog:
        return cls(base_folder(environment).parent / "experiments" / experiment)

    def begin(self, document: Mapping[str, Any]) -> None:
        """Raises StateError."""
        try:
            self.folder.mkdir(parents=True, mode=0o700)
            write_durably(self.folder / "experiment.json", (json.dumps(document, indent=2) + "\n").encode())
        except OSError as error:
            raise StateError(f"cannot keep the experiment: {error.strerror or error}", where=str(self.folder)) from None

    def document(self) -> dict[str, Any]:
        """Raises StateError where there is no such experiment."""
        try:
            found: dict[str, Any] = json.loads((self.folder / "experiment.json").read_bytes())
        except (OSError, ValueError):
            raise StateError(
                "no such experiment",
                where=str(self.folder),
                hint=f"ls {self.folder.parent} shows those of this machine",
            ) from None
        return found

    def results(self) -> list[Result]:
        try:
            lines = (self.folder / "results.jsonl").read_bytes().split(b"\n")
        except OSError:
            return []
        # What follows the last line's end was cut off in the middle.
        return [Result(**json.loads(line)) for line in lines[:-1] if line]

    def add(self, result: Result) -> None:
        """Append and fsync, so that a measured run is never made twice. Raises StateError."""
        path = self.folder / "results.jsonl"
        try:
            with path.open("ab+") as file:
                whole = file.seek(0, os.SEEK_END)
                if whole:
                    file.seek(whole - 1)
                    if file.read(1) != b"\n":
                        self._cut(file.fileno(), path)
                file.write((json.dumps(asdict(result)) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StateError(f"cannot keep a result: {error.strerror or error}", where=str(path)) from None

    def _cut(self, descriptor: int, path: Path) -> None:
        os.ftruncate(descriptor, path.read_bytes().rfind(b"\n") + 1)
