"""The lab's own reading of unit files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from console.lab.unit_files import UnitError, changed_on_disk, expand, load, read_environment_file, split_words


def unit(folder: Path, text: str, name: str = "a.service") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_continuations_with_a_comment_inside(tmp_path: Path) -> None:
    unit(tmp_path, "[Service]\nExecStart=/bin/x --a 1 \\\n# not an argument\n   --b 2\n")
    assert load(tmp_path, "a.service").commands[0].argv == ("/bin/x", "--a", "1", "--b", "2")


def test_a_drop_in_clears_the_list_and_the_last_one_wins(tmp_path: Path) -> None:
    unit(tmp_path, "[Service]\nExecStart=/bin/x --old\nRestart=no\n")
    unit(tmp_path, "[Service]\nExecStart=\nExecStart=/bin/x --new\n", "a.service.d/10-first.conf")
    unit(tmp_path, "[Service]\nRestart=always\n", "a.service.d/20-second.conf")
    loaded = load(tmp_path, "a.service")
    assert loaded.commands[0].argv == ("/bin/x", "--new")
    assert loaded.get("Restart") == "always"
    assert [path.name for path in loaded.drop_ins] == ["10-first.conf", "20-second.conf"]


def test_two_commands_are_refused(tmp_path: Path) -> None:
    unit(tmp_path, "[Service]\nExecStart=/bin/x\nExecStart=/bin/y\n")
    assert load(tmp_path, "a.service").load_state == "bad-setting"


def test_a_lost_backslash_drops_the_rest_with_a_warning(tmp_path: Path) -> None:
    path = unit(tmp_path, "[Service]\nExecStart=/bin/x --a 1\n   --b 2\n")
    loaded = load(tmp_path, "a.service")
    assert loaded.commands[0].argv == ("/bin/x", "--a", "1")
    assert loaded.warnings == (f"{path}:3: Missing '=', ignoring line.",)


def test_masked_missing_and_templates(tmp_path: Path) -> None:
    (tmp_path / "m.service").symlink_to("/dev/null")
    unit(tmp_path, "", "empty.service")
    unit(tmp_path, "[Service]\nExecStart=/bin/x --name %i --unit %n --pct %%\n", "t@.service")
    assert load(tmp_path, "m.service").load_state == "masked"
    assert load(tmp_path, "empty.service").load_state == "masked"
    assert load(tmp_path, "none.service").load_state == "not-found"
    assert load(tmp_path, "t@one.service").commands[0].argv[1:] == (
        "--name",
        "one",
        "--unit",
        "t@one.service",
        "--pct",
        "%",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ("\"a b\" 'c d'", ["a b", "c d"]),
        ('--x="a b"', ["--x=a b"]),
        (r"a\x20b \s c\\d", ["a b", " ", r"c\d"]),
        ('""', [""]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(UnitError, match="quoting"):
        split_words('a "b')


def test_variables_become_one_word_or_several() -> None:
    environ = {"A": "1 2", "E": ""}
    assert expand(("$A", "${A}", "x${A}", "$E", "${E}", "$$A"), environ) == ["1", "2", "1 2", "x1 2", "", "$A"]


def test_environment_files() -> None:
    assert read_environment_file('# c\nA=1\nB="x y"\nbad line\n\nC= z \n') == {"A": "1", "B": "x y", "C": "z"}


def test_a_changed_or_new_file_needs_a_reload(tmp_path: Path) -> None:
    path = unit(tmp_path, "[Service]\nExecStart=/bin/x\n")
    loaded = load(tmp_path, "a.service")
    assert not changed_on_disk(tmp_path, loaded)
    unit(tmp_path, "[Service]\n", "a.service.d/x.conf")
    assert changed_on_disk(tmp_path, loaded)
    loaded = load(tmp_path, "a.service")
    os.utime(path, ns=(1, 1))
    assert changed_on_disk(tmp_path, loaded)
