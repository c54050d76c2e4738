"""What a host says cannot crash, style or steer the screen; what the code of the screens may not do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import console.tui
from console.errors import UnreachableError
from console.secrets import Redactor
from tests.tui import made_up
from tests.tui.conftest import Opens, settle

HOSTILE = (
    "[/oops] x",
    "list[int] and [a-z]+",
    "[@click=app.quit]click[/]",
    "\x1b]52;c;ZXZpbA==\x07clipboard",
    "\x1b[2Jgone",
    "right\u202eleft",
    "wide 漢字 " * 20,
    "x" * 10_000,
)
FOLDER = Path(console.tui.__file__).parent
# Calls that read a str as markup; what they are given must be made by say(), cell(), Content or Text, or be a literal.
MARKUP = {"update", "Static", "Label", "add_row", "add_column", "update_cell", "Option", "add_option", "put"}
# Their text is the last of their arguments.
LAST = {"update_cell", "put"}
SAFE = {"say", "cell", "Content", "Text", "Option", "keys_content"}


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_text_of_a_host_is_shown_and_nothing_else(
    open_app: Opens, looks: made_up.FakeLooks, text: str
) -> None:
    looks.known["node7/chat"] = UnreachableError(text, where="node7")
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        shown = await settle(app, pilot)
    assert "unreachable" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert text[:5].replace("\x1b", "\\x1b")[:4] in shown


async def test_the_same_in_a_units_state_and_argv(open_app: Opens, looks: made_up.FakeLooks) -> None:
    read = made_up.facts(active="[/red]\x1b[31m")
    looks.known["node7/chat"] = read
    app = open_app()
    async with app.run_test(size=(80, 24)) as pilot:
        shown = await settle(app, pilot)
    assert "[/red]" in shown
    assert "\x1b" not in shown


async def test_a_secret_in_an_error_is_masked(open_app: Opens, looks: made_up.FakeLooks) -> None:
    redactor = Redactor()
    redactor.learn("correct-horse-battery")
    looks.known["node7/chat"] = UnreachableError("refused: correct-horse-battery", where="node7")
    app = open_app(redactor=redactor)
    async with app.run_test(size=(80, 24)) as pilot:
        shown = await settle(app, pilot)
    assert "refused" in shown
    assert "correct-horse" not in shown


def sources() -> list[tuple[str, ast.Module]]:
    return [(path.name, ast.parse(path.read_text("utf-8"))) for path in sorted(FOLDER.glob("*.py"))]


def test_no_text_reaches_a_widget_as_markup() -> None:
    wrong = []
    for name, tree in sources():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if called == "notify" and not any(word.arg in ("markup", None) for word in call.keywords):
                wrong.append(f"{name}:{call.lineno}: notify without markup=False")
            if called in MARKUP and call.args and not _is_safe(call.args[-1 if called in LAST else 0]):
                wrong.append(f"{name}:{call.lineno}: {called}({ast.unparse(call.args[0])})")
    assert wrong == []


def _is_safe(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Starred):
        node = node.value
    if isinstance(node, ast.GeneratorExp):
        node = node.elt
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return called in SAFE or called in ("_text",)
    # Both are typed: Text, and Content.
    return isinstance(node, ast.Name) and node.id in ("cell", "content")


def test_the_screens_import_nothing_that_acts() -> None:
    wrong = []
    for name, tree in sources():
        for node in ast.walk(tree):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += [f"{name}: {module}" for module in modules if module.startswith(ACTS)]
    assert wrong == []


ACTS = ("console.runner", "console.changes", "console.cli")
