"""The specifiers of systemd that a unit's name decides."""

from __future__ import annotations

import re


def specifiers(word: str, unit_name: str) -> str | None:
    """`word` with the specifiers that a unit's name decides; None where it has another one."""
    if "%" not in word:
        return word
    stem = unit_name.removesuffix(".service")
    prefix, _, instance = stem.partition("@")
    known = {"%%": "%", "%n": unit_name, "%N": stem, "%p": prefix, "%i": instance, "%I": instance.replace("-", "/")}
    result = re.sub(r"%.", lambda match: known.get(match[0], "\0"), word)
    return None if "\0" in result else result
