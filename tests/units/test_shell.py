"""Scripts as their shells read them, as far as that needs no running."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.units.shell import ShellError, read_commands


def words(text: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in read_commands(text.encode()) if command.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b 'c d' \"e f\"", [["a", "b", "c d", "e f"]]),
        ("a \\\n  b # c\nd", [["a", "b"], ["d"]]),
        ("a; b && c || d | e &", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("if [ -f x ]; then a; else b; fi", [["[", "-f", "x", "]"], ["a"], ["b"]]),
        ("for i in 1 2; do a $i; done", [["a", ""]]),
        ("case $x in one|two) a;; *) b;; esac\nc", [["a"], ["b"], ["c"]]),
        ("f() { a; }\nf", [["a"], ["f"]]),
        ("cat <<EOF\nnot a command\nEOF\na", [["cat"], ["a"]]),
        ("a 2>&1 > log b", [["a", "b"]]),
        ("(( x > 1 )) && a", [["a"]]),
        ("[[ $a == b && c < d ]] && e", [["e"]]),
        ("a\\ b c\\d", [["a b", "cd"]]),
    ],
)
def test_commands_are_told_apart(text: str, expected: list[list[str]]) -> None:
    assert words(text) == expected


def test_depth_counts_what_may_not_run() -> None:
    commands = read_commands(b"a\nif b; then c; fi\n(d)\n")
    assert [(command.name, command.depth) for command in commands] == [("a", 0), ("b", 1), ("c", 1), ("d", 1)]


def test_assignments_and_arrays() -> None:
    commands = read_commands(b'A=1 B="x y" run\nC=(one "two" # three\n four)\nC+=(five)\nexport D=2\n')
    found = {each.name: each for command in commands for each in command.assignments}
    assert found["A"].value is not None
    assert found["A"].value.text == "1"
    assert [word.text for command in commands[1:2] for word in command.assignments[0].items] == ["one", "two", "four"]
    assert found["C"].appends
    assert commands[-1].name == "export"


def test_expansions_stay_parts_with_their_defaults() -> None:
    (command,) = read_commands(b'run "$A" ${B:-8192} $(c) "$@" "${D[@]}" `e`')
    kinds = [[part.kind for part in word.parts] for word in command.words[1:]]
    assert kinds == [["variable"], ["variable"], ["opaque"], ["arguments"], ["array"], ["opaque"]]
    default = command.words[2].parts[0].default
    assert default is not None
    assert default[0] == b"8192"


def test_every_byte_of_a_word_knows_its_place() -> None:
    text = b"run --window '32768' x"
    (command,) = read_commands(text)
    spans = command.words[2].parts[0].spans
    assert text[spans[0][0] : spans[-1][1]] == b"32768"


@pytest.mark.parametrize("text", ["a 'b", 'a "b', "if a; then b", "a $'b'", "a (b)", "cat <<EOF\nx", "}"])
def test_what_cannot_be_read_for_sure_is_refused(text: str) -> None:
    with pytest.raises(ShellError):
        read_commands(text.encode())


@given(st.text(alphabet="ab \"'\\\n;&|(){}$`#<>=x", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_commands(text.encode())
    except ShellError:
        return
