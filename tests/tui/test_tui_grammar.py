"""`:` takes what the shell takes: reading is done, planning is shown, and what changes a host leads to its question."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import InvalidFileError, UsageError
from console.tui.grammar import completions, meaning
from console.tui.preferences import load_preferences, preferences_path
from console.tui.shell import ssh_words
from console.tui.table import Column, Row, fitting, matches
from tests.tui import made_up


@pytest.mark.parametrize(
    ("typed", "kind", "words"),
    [
        ("", "nothing", ()),
        ("quit", "quit", ()),
        ("handover", "action", ("handover",)),
        ("history list node7/chat", "read", ("history", "list", "node7/chat")),
        ("console facts node7", "read", ("facts", "node7")),
        ("run extend_context.toml node7/chat --set to=65536", "plan", ("extend_context.toml", "node7/chat")),
        ("plan a.toml n1/a n2/a", "plan", ("a.toml", "n1/a", "n2/a")),
        ("rollback 01K2", "again", ("rollback", "01K2")),
        ("resume 01K2", "again", ("resume", "01K2")),
        ("attach 01K2", "follow", ("01K2",)),
        ("measure decode node7/chat", "measure", ("measure", "decode", "node7/chat")),
    ],
)
def test_what_a_command_means(typed: str, kind: str, words: tuple[str, ...]) -> None:
    found = meaning(typed, "fleet")
    assert (found.kind, found.words) == (kind, words)


@pytest.mark.parametrize(
    "typed",
    ["exec node7 -- rm", "run x.toml", "plan a.toml b/c --out F --yes", "lab down", "recover", "hosts add x", "'open",
     "run a.toml b/c --yes"],
)  # fmt: skip
def test_what_has_no_place_here_is_refused_with_a_way_on(typed: str) -> None:
    with pytest.raises(UsageError):
        meaning(typed, "fleet")


def test_completions_are_whole_commands() -> None:
    said = completions("fleet", ["facts", "history", "rollback"], ["node7/chat"], ["01K2"], ["a.toml"])
    for text in ("facts node7/chat", "history blame node7/chat", "history show 01K2", "rollback 01K2", "drift"):
        assert text in said


def test_columns_go_in_their_order_and_the_names_take_what_is_left() -> None:
    columns = (Column("", 2), Column("NAME", 8, grow=True), Column("A", 5, drop=2), Column("B", 5, drop=1))
    assert [column.name for column, _ in fitting(columns, 40)] == ["", "NAME", "A", "B"]
    assert [column.name for column, _ in fitting(columns, 20)] == ["", "NAME", "B"]
    assert [column.name for column, _ in fitting(columns, 10)] == ["", "NAME"]
    assert {column.name: width for column, width in fitting(columns, 40)}["NAME"] == 24


@pytest.mark.parametrize(
    ("query", "found"),
    [("", True), ("node", True), ("NODE ready", True), ("!ready", False), ("state:ready", True), ("state:fail", False),
     ("target:ready", False), ("!fail", True)],
)  # fmt: skip
def test_the_filter(query: str, found: bool) -> None:
    assert matches(Row("k", {"": "ok", "TARGET": "node7/chat", "STATE": "ready"}), query) is found


def test_settings_are_read_and_own_keys_are_checked(tmp_path: Path) -> None:
    path = preferences_path({"XDG_CONFIG_HOME": str(tmp_path)})
    assert load_preferences(path).theme == "dark"
    path.parent.mkdir()
    path.write_text('schema = 1\ntheme = "light"\nrelock = "5m"\n[keys]\nstop = ["X"]\n')
    chosen = load_preferences(path)
    assert (chosen.theme, chosen.relock_s, chosen.keys["stop"]) == ("light", 300.0, ("X",))
    for wrong in ('[keys]\nstop = ["q"]\n', '[keys]\nstopp = ["X"]\n', 'theem = "light"\n', "poll = 0.1\n"):
        path.write_text("schema = 1\n" + wrong)
        with pytest.raises(InvalidFileError, match=r"tui\.toml"):
            load_preferences(path)


def test_the_shell_is_ssh_as_the_inventory_says() -> None:
    target = made_up.inventory().targets()[0]
    assert ssh_words(target) == ["ssh", "--", "192.0.2.7"]
    host = target.host.model_copy(update={"port": 2222, "jump": "bastion", "user": "ops"})
    assert ssh_words(target.model_copy(update={"host": host})) == [
        "ssh", "-p", "2222", "-J", "bastion", "--", "ops@192.0.2.7",
    ]  # fmt: skip
