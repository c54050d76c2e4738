"""The keys of a screen: what Textual is told, the line at the bottom, and how a person's own keys are checked."""

from __future__ import annotations

from collections.abc import Mapping

from textual.binding import Binding, BindingType

from console.tui.actions import ACTIONS, Action, Situation, actions_of
from console.views.cells import cells

KeyMap = Mapping[str, tuple[str, ...]]

SHOWN = {
    "question_mark": "?",
    "escape": "Esc",
    "enter": "Enter",
    "f1": "F1",
    "tab": "Tab",
    "shift+tab": "S-Tab",
    "space": "Space",
    "slash": "/",
    "colon": ":",
    "plus": "+",
    "equals_sign": "=",
    "greater_than_sign": ">",
    "exclamation_mark": "!",
    "ctrl+p": "^p",
}
# What is typed on these screens goes into a field, so only the keys that no field takes are shown.
FIELDS = ("variables", "confirm", "sends", "answer", "palette", "command")
# A terminal sends these as Enter, Tab, Backspace, or keeps them for itself.
UNSAFE = frozenset(f"ctrl+{letter}" for letter in "bcdhijkmqsz") | {"delete", "backspace"}
# Keys that move in tables and texts, on every screen.
MOVES = frozenset({"j", "k", "g", "G", "up", "down", "pageup", "pagedown", "home", "end"})


def bindings(screen: str) -> list[BindingType]:
    """What Textual is told; `action_do` asks the table before it calls `action_ID`."""
    return [
        Binding(",".join(action.keys), f"do('{action.id}')", action.title, show=False, id=action.id)
        for action in actions_of(screen)
    ]


def keys_of(action: Action, keymap: KeyMap) -> tuple[str, ...]:
    return keymap.get(action.id, action.keys)


def shown_key(action: Action, screen: str = "", keymap: KeyMap | None = None) -> str:
    """The key as it is printed on a keyboard; on screens with fields one that is not a letter."""
    keys = [SHOWN.get(key, key) for key in keys_of(action, keymap or {})]
    if screen in FIELDS and len(keys[0]) == 1:
        return keys[-1]
    return keys[0]


def key_line(screen: str, now: Situation | None = None, width: int = 78, keymap: KeyMap | None = None) -> str:
    """`Enter open  (r run…)  …  ? help  q quit`: what is off now stands in brackets.

    What can be done stands first. What does not fit is left out, the last first; help and the way out always stay.
    """
    chosen = actions_of(screen)
    last = [action for action in chosen if action.id in ("help", "quit")]
    shown = [action for action in chosen if action not in last and not action.minor]
    rest = sorted(shown, key=lambda action: now is not None and bool(action.off(now)))

    def text(action: Action) -> str:
        said = f"{shown_key(action, screen, keymap)} {action.title}"
        return f"({said})" if now is not None and action.off(now) else said

    ends = [text(action) for action in last]
    said: list[str] = []
    for action in rest:
        if cells("  ".join([*said, text(action), *ends])) > width:
            break
        said.append(text(action))
    return "  ".join([*said, *ends])


def clashes(keymap: KeyMap) -> list[str]:
    """What is wrong with a person's own keys, in words; nothing where they can be used."""
    known = {action.id: action for action in ACTIONS}
    said = [f"no action is called {name!r}" for name in keymap if name not in known]
    for name, keys in keymap.items():
        said += [f"{name}: {key} does not reach every terminal" for key in keys if key in UNSAFE]
        said += [f"{name}: {key} moves the cursor" for key in keys if key in MOVES]
        said += [f"{name}: no key is given" for _ in range(not keys)]
        if name in known and any(action.mutates for action in ACTIONS if action.id == name):
            said += [f"{name}: what changes a host has no Ctrl key: {key}" for key in keys if key.startswith("ctrl+")]
    for screen in sorted({screen for action in ACTIONS for screen in action.screens}):
        used: dict[str, str] = {}
        for action in actions_of(screen):
            for key in keys_of(action, keymap):
                if used.setdefault(key, action.id) != action.id:
                    said.append(f"{key} would mean {used[key]} and {action.id} on the screen {screen}")
    return list(dict.fromkeys(said))


def markdown() -> str:
    """The table of the documentation: every action once, with its screens and the command that does the same."""
    said = ["| key | action | on | what it does | without the terminal UI |", "| --- | --- | --- | --- | --- |"]
    for action in ACTIONS:
        keys = " ".join(f"`{SHOWN.get(key, key)}`" for key in action.keys)
        on = ", ".join(action.screens) if len(action.screens) < MANY else "every full screen"
        mark = " **changes the host**" if action.mutates else ""
        cli = f"`{action.cli.replace('|', '/')}`" if action.cli else ""
        said.append(f"| {keys} | {action.id} | {on} | {action.help}{mark} | {cli} |")
    return "\n".join(said)


MANY = 8
