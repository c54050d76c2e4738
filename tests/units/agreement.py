"""Where our reading of made-up units differs from systemd's own."""

from __future__ import annotations

import random
from pathlib import Path

from console.settings.specifiers import specifiers
from console.units.effective import EffectiveUnit, UnitSource
from console.units.notices import notices
from tests.units.generated import unit
from tests.units.systemd_oracle import ask_systemd, shown


def differences(folder: Path, seed: int, count: int) -> list[str]:
    """One line a unit that is read otherwise: whether it loads, and the words of its commands."""
    rng = random.Random(seed)
    contents = {f"u{number}.service": unit(rng) for number in range(count)}
    answers = ask_systemd(folder, contents)
    found = []
    for name, content in contents.items():
        state, commands = answers.get(name, ("missing", []))
        read = EffectiveUnit(name, (UnitSource(name, content),))
        loads = not any(notice.is_fatal for notice in notices(read))
        ours = [shown([specifiers(word, name) or word for word in command.argv]) for command in read.commands()]
        if loads != (state == "loaded") or (loads and ours != commands):
            found.append(f"seed {seed} {name}: {content!r}\n  systemd {state} {commands}\n  ours {loads} {ours}")
    return found
