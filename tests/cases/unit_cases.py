"""Cases of units in the form of `tests/cases/units`: one row of `expected.jsonl`, files beside it, one judgement.

A row names its `file`, the `edit_file` that the setting stands in, its `kind`, the `engine`, and the text that becomes
another: `find`, once, → `replace`. A null `find` is a refusal. `companions` are files that lie elsewhere on a host;
where they lie is told by the unit itself, or by `files` (path → file) of the row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from console.engines.base import Engine
from console.engines.registry import engine_named
from console.errors import ConsoleError, RefusedError
from console.schema.splice import apply
from console.settings.command_line import absolute
from console.settings.edit import Edit, plan_edit
from console.settings.launch import read_launch
from console.units.effective import EffectiveUnit, UnitSource
from console.units.environment import environment_files

Verdict = Literal["right", "rightly refused", "refused, an edit was expected", "wrong"]

_ENGINES = {"llama": "llamacpp"}


@dataclass(frozen=True)
class Judged:
    """What became of one row."""

    row: Mapping[str, Any]
    asked: bool
    verdict: Verdict
    said: str

    @property
    def name(self) -> str:
        return f"{self.row['kind']} {self.row['file']}{' asked' if self.asked else ''}"


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    for line in (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def engine_of(row: Mapping[str, Any]) -> Engine:
    return engine_named(_ENGINES.get(row["engine"], row["engine"]))


def value_of(row: Mapping[str, Any]) -> str:
    """The value the row asks for: the number that `replace` has and `find` has not."""
    if "to" in row:
        return str(row["to"])
    before = set(re.findall(r"\d+", row.get("find") or ""))
    new = [number for number in re.findall(r"\d+", row.get("replace") or "") if number not in before]
    return new[-1] if new else "200000"


def unit_of(folder: Path, row: Mapping[str, Any]) -> EffectiveUnit:
    """The unit with its files at the places where the unit names them."""
    name = str(row["file"])
    content = (folder / name).read_bytes()
    companions = [folder / each.strip() for each in (row.get("companions") or "").split(",") if each.strip()]
    companions = [each for each in companions if each.is_file()]
    if row.get("edit_file") and row["edit_file"] != name and not (row.get("files") or row.get("dropins")):
        extra = folder / row["edit_file"]
        if extra.is_file() and extra not in companions:
            companions.append(extra)
    unit_name = row.get("unit") or re.sub(r"\.(container|template)\Z", "", name)
    unit_name = unit_name if unit_name.endswith(".service") else f"{unit_name}.service"
    unit_name = unit_name.replace("@.service", "@one.service")
    path = row.get("path") or f"/etc/systemd/system/{name}"
    if name.endswith(".sh"):
        script = f"/srv/{name}"
        starts_it = UnitSource(f"/etc/systemd/system/{unit_name}", f"[Service]\nExecStart={script}\n".encode())
        return EffectiveUnit(unit_name, (starts_it,), files={script: content})
    sources = [UnitSource(path, content)]
    if name.endswith(".conf"):
        base = next((each for each in companions if each.suffix == ".service"), None)
        fragment = base.read_bytes() if base else b"[Service]\nExecStart=/usr/local/bin/ollama serve\n"
        sources = [UnitSource("/etc/systemd/system/base.service", fragment), UnitSource(path, content)]
        companions = [each for each in companions if each != base]
    drop_ins = list(row.get("dropins") or ())
    drop_ins += [
        each.name for each in companions if each.suffix == ".conf" and _is_unit(each) and each.name not in drop_ins
    ]
    sources += [UnitSource(f"{path}.d/{each}", (folder / each).read_bytes()) for each in drop_ins]
    unit = EffectiveUnit(unit_name, tuple(sources), row.get("source_path", ""))
    files = {where: (folder / each).read_bytes() for where, each in (row.get("files") or {}).items()}
    for each in companions:
        where = _place(unit, each)
        if where is not None and where not in files and each.name not in drop_ins:
            files[where] = each.read_bytes()
    return EffectiveUnit(unit_name, tuple(sources), row.get("source_path", ""), files)


def _is_unit(path: Path) -> bool:
    return bool(re.search(rb"(?m)^\[(Service|Unit)\]", path.read_bytes()))


def _place(unit: EffectiveUnit, companion: Path) -> str | None:
    """Where the unit says that a file of this kind lies; None where it says nothing of it."""
    commands = unit.commands()
    texts = commands[0].argv if len(commands) == 1 else []
    if companion.suffix == ".sh":
        launch = read_launch(texts) if texts else None
        return absolute(unit, texts[launch.place]) if launch is not None and launch.kind == "script" else None
    if companion.suffix in (".yml", ".yaml", ".ini"):
        for index, text in enumerate(texts[:-1]):
            if text in ("-f", "--file", "--models-preset", "--config"):
                return absolute(unit, texts[index + 1])
        return None
    if companion.suffix in (".env", ".conf"):
        names = environment_files(unit)
        return names[0].name if len(names) == 1 else None
    return None


def edit_of(folder: Path, row: Mapping[str, Any], *, asked: bool, unit: EffectiveUnit | None = None) -> Edit:
    """The edit of a row. Raises what `plan_edit` raises."""
    return plan_edit(
        unit if unit is not None else unit_of(folder, row),
        engine_of(row),
        setting=row.get("setting") or (None if row.get("flag") else "context_length"),
        flag=row.get("flag"),
        to=value_of(row),
        expect=row.get("expect"),
        when_absent="add" if asked else "error",
        edit_source=asked,
    )


def lacks_script(folder: Path, row: Mapping[str, Any]) -> bool:
    """Whether the row names a wrapper that its folder does not have."""
    names = [each.strip() for each in (row.get("companions") or "").split(",")]
    return any(name.endswith(".sh") and not (folder / name).is_file() for name in names)


def judge(folder: Path, row: Mapping[str, Any], *, asked: bool) -> Judged:
    """Run one row. `asked`: the runbook asks for what the kind needs asking for (ADD, GENERATED)."""

    def judged(verdict: Verdict, said: str = "") -> Judged:
        return Judged(row, asked, verdict, said)

    wants_edit = row["kind"] == "ALREADY" or (
        row.get("find") is not None and (asked or row["kind"] not in ("ADD", "GENERATED"))
    )
    try:
        unit = unit_of(folder, row)
        edit = edit_of(folder, row, asked=asked)
    except RefusedError as error:
        said = f"{error.message} [{error.where}]"
        if not error.where:
            return judged("wrong", f"a refusal without a place: {said}")
        if wants_edit and lacks_script(folder, row) and "which was not read" in said:
            return judged("rightly refused", said)  # what the variable is used for stands in a file that is not here
        return judged("refused, an edit was expected" if wants_edit else "rightly refused", said)
    except ConsoleError as error:
        return judged("wrong", f"{type(error).__name__}: {error}")
    if row["kind"] == "ALREADY":
        return judged("wrong" if edit.splices else "right", f"{edit.path}:{edit.line}")
    content = unit.content(edit.path)
    after = apply(content, edit.splices)
    if not wants_edit:
        return judged("wrong", f"edited {edit.path}:{edit.line}, a refusal was expected")
    original = (folder / row["edit_file"]).read_bytes()
    if content != original:
        return judged("wrong", f"edited {edit.path}, not {row['edit_file']}")
    find, replace = row["find"].encode(), row["replace"].encode()
    if original.count(find) == 1 and after == original.replace(find, replace):
        return judged("right", f"{edit.path}:{edit.line}")
    if row["kind"] == "ADD" and _only_added(edit):
        return judged("right", f"{edit.path}:{edit.line}")
    return judged("wrong", f"other bytes at {edit.path}:{edit.line}: {edit.splices}")


def _only_added(edit: Edit) -> bool:
    """Whether the edit only puts the flag or the variable in, and the words differ in just that."""
    if any(splice.old for splice in edit.splices) or edit.before is not None:
        return False
    added = list(edit.argv_after)
    for word in edit.argv_before:
        if word in added:
            added.remove(word)
    return added[-1:] == [edit.after] or not added or added[0].endswith(f"={edit.after}")


def table(judgements: list[Judged]) -> str:
    """Kinds against verdicts, one line each."""
    verdicts: tuple[Verdict, ...] = ("right", "rightly refused", "refused, an edit was expected", "wrong")
    lines = [f"{'kind':<12}" + "".join(f"{verdict:>32}" for verdict in verdicts)]
    for kind in dict.fromkeys(each.row["kind"] for each in judgements):
        counts = [
            sum(each.row["kind"] == kind and each.verdict == verdict for each in judgements) for verdict in verdicts
        ]
        lines.append(f"{kind:<12}" + "".join(f"{count:>32}" for count in counts))
    return "\n".join(lines)
