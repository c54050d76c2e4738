"""The words systemd would really run: variables, specifiers, environment files."""

from __future__ import annotations

import pytest

from console.schema.facts import UnitFile
from console.settings.resolve import argv_on_disk, drop_ins, environment_on_disk, unit_of
from console.settings.specifiers import specifiers
from tests.fakes import DROPIN, FRAGMENT, UNIT, effective, facts, unit_file

FILE = "/etc/default/chat"


def argv(exec_start: str, *more: str, files: dict[str, str] | None = None, name: str = "chat.service") -> object:
    unit = effective("\n".join(["[Service]", *more, f"ExecStart={exec_start}", ""]), files=files, name=name)
    return argv_on_disk(unit, environment_on_disk(unit))


@pytest.mark.parametrize(
    ("word", "value", "words"),
    [
        ("$OPTS", "--a 1  --b", ["--a", "1", "--b"]),
        ("$OPTS", "", []),
        ("${OPTS}", "--a 1", ["--a 1"]),
        ("${OPTS}", "", [""]),
        ("x${OPTS}y", "-", ["x-y"]),
        ("$$OPTS", "no", ["$OPTS"]),
        ("$${OPTS}", "no", ["${OPTS}"]),
        ("a$$b${OPTS}", "c", ["a$bc"]),
        ("a$OPTS", "no", ["a$OPTS"]),
        ("$NOT_SET", "no", []),
        ("${NOT_SET}", "no", [""]),
        ("--cost=5$", "no", ["--cost=5$"]),
    ],
)
def test_variables(word: str, value: str, words: list[str]) -> None:
    assert argv(f"/opt/x {word}", f'Environment="OPTS={value}"') == ["/opt/x", *words]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('--a "b c" --d', ["--a", "b c", "--d"]),
        ('--a "b c', ["--a", "b c"]),
        ('""', [""]),
    ],
)
def test_quotes_in_a_variable_hold_a_word_together(value: str, words: list[str]) -> None:
    """systemd takes them off when it splits `$NAME`, so the running process shows one word."""
    files = {FILE: f"OPTS='{value}'\n"}
    assert argv("/opt/x $OPTS", f"EnvironmentFile={FILE}", files=files) == ["/opt/x", *words]


def test_a_value_with_a_dollar_is_not_expanded_again() -> None:
    assert argv("/opt/x ${A}", "Environment=A=$$B B=no") == ["/opt/x", "$$B"]


def test_after_a_colon_dollars_are_dollars() -> None:
    assert argv(":/opt/x $OPTS ${OPTS} $$", "Environment=OPTS=no") == ["/opt/x", "$OPTS", "${OPTS}", "$$"]


@pytest.mark.parametrize(
    ("word", "name", "text"),
    [
        ("%n", "chat.service", "chat.service"),
        ("%N", "chat.service", "chat"),
        ("%p-%i", "chat@gpu-0.service", "chat-gpu-0"),
        ("%I", "chat@gpu-0.service", "gpu/0"),
        ("%i", "chat.service", ""),
        ("100%%", "chat.service", "100%"),
        ("%%n", "chat.service", "%n"),
        ("plain", "chat.service", "plain"),
        ("%h/x", "chat.service", None),
        ("%n%h", "chat.service", None),
    ],
)
def test_specifiers(word: str, name: str, text: str | None) -> None:
    assert specifiers(word, name) == text
    assert argv(f"/opt/x {word}", name=name) == (None if text is None else ["/opt/x", text])


def test_a_later_line_wins_and_files_go_before_lines() -> None:
    unit = effective(
        f"[Service]\nEnvironmentFile={FILE}\nEnvironment=A=line B=line\nEnvironment=B=later C=line\nExecStart=/opt/x\n",
        files={FILE: "A=file\n# C=comment\n"},
    )
    assert environment_on_disk(unit) == {"A": "file", "B": "later", "C": "line"}


def test_of_two_files_the_later_one_wins() -> None:
    unit = effective(
        "[Service]\nEnvironmentFile=/etc/a\nEnvironmentFile=-/etc/b\nExecStart=/opt/x\n",
        files={"/etc/a": "A=1\nB=1\n", "/etc/b": "B=2\n"},
    )
    assert environment_on_disk(unit) == {"A": "1", "B": "2"}


def test_an_environment_file_that_is_not_there_sets_nothing() -> None:
    unit = effective("[Service]\nEnvironmentFile=-/etc/none\nEnvironment=A=1\nExecStart=/opt/x\n")
    assert environment_on_disk(unit) == {"A": "1"}


@pytest.mark.parametrize("lines", ["", "ExecStart=/opt/a\nExecStart=/opt/b\n", "ExecStart=/opt/a\nExecStart=\n"])
def test_no_command_or_several(lines: str) -> None:
    assert argv_on_disk(effective(f"[Service]\nType=oneshot\n{lines}"), {}) is None


def test_the_unit_of_facts_has_its_files_in_systemds_order() -> None:
    more, first = "/etc/systemd/system/chat.service.d/20-more.conf", DROPIN
    seen = facts(dropins={first: "[Service]\n", more: "[Service]\n"}, environment_files={FILE: "A=1\n"})
    shuffled = seen.model_copy(update={"files": tuple(reversed(seen.files))})
    unit = unit_of(shuffled)
    assert [source.path for source in unit.sources] == [FRAGMENT, first, more]
    assert unit.files == {FILE: b"A=1\n"}


def test_missing_files_are_no_part_of_it() -> None:
    seen = facts()
    gone = unit_file(FILE, "", missing=True)
    unit = unit_of(seen.model_copy(update={"files": (*seen.files, gone)}))
    assert [source.path for source in unit.sources] == [FRAGMENT]
    assert unit.sources[0].content == UNIT.encode()
    assert unit.files == {}


def test_a_drop_in_that_systemd_has_not_read_counts_as_on_disk() -> None:
    """By name, wherever it lies; of one name the folder that wins; one that was taken away no longer counts."""

    def path(place: str, name: str) -> str:
        return f"{place}/systemd/system/chat.service.d/{name}"

    def drop_in(at: str, word: str, **more: bool) -> UnitFile:
        return unit_file(at, f"[Service]\nExecStart=\nExecStart=/bin/x {word}\n", **more)

    listed, gone = path("/etc", "10-a.conf"), path("/etc", "30-gone.conf")
    fresh, loses = path("/run", "20-b.conf"), path("/usr/lib", "20-b.conf")
    seen = facts(unit={"dropin_paths": (listed, gone)})
    files = (
        *seen.files,
        drop_in(listed, "listed"),
        drop_in(gone, "gone", missing=True),
        drop_in(fresh, "fresh"),
        drop_in(loses, "loses"),
    )
    seen = seen.model_copy(update={"files": files})
    assert drop_ins(seen) == [listed, fresh]
    assert argv_on_disk(unit_of(seen), {}) == ["/bin/x", "fresh"]
