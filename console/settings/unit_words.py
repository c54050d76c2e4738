"""The words of a command as systemd hands them over, each byte with where it is written."""

from __future__ import annotations

import re

from console.settings.text import Text, Token, plain, unknown
from console.settings.variables import definition, resolve_specifiers
from console.units.commands import Command
from console.units.effective import EffectiveUnit
from console.units.text import Joined
from console.units.words import UnbalancedQuoteError, Word, first_word

_DOLLAR = re.compile(rb"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def tokens_of(unit: EffectiveUnit, command: Command) -> tuple[Token, ...]:
    """`$NAME` as a whole word is split, `${NAME}` is put in anywhere, `$$` is a dollar sign (systemd.service(5))."""
    found: list[Token] = []
    for index, word in enumerate(command.words):
        where = unit.where(command.path, word.start)
        # The program is no place for variables: systemd 252 takes it as it stands.
        expands = word.expands and (index > 0 or "@" in command.prefixes)
        if expands and word.splits:
            found += [Token(text, command.path, word.start, word.end) for text in _split(unit, word)]
            continue
        text = resolve_specifiers(plain(word.octets, command.path, word.spans), where)
        if expands:
            text = _expanded(unit, text)
        found.append(Token(text, command.path, word.start, word.end))
    return tuple(found)


def _expanded(unit: EffectiveUnit, text: Text) -> Text:
    result, done = Text(), 0
    for match in _DOLLAR.finditer(text.octets):
        result += text[done : match.start()]
        if match[1] is None:
            result += text[match.start() : match.start() + 1]
        else:
            value = definition(unit, match[1].decode()).text
            if len(match[0]) == len(text.octets):
                return value
            result += value
        done = match.end()
    return result + text[done:] if done else text


def _split(unit: EffectiveUnit, word: Word) -> list[Text]:
    """The words of a whole-word `$NAME`; quotes in its value are taken off (systemd, replace_env_argv)."""
    name = word.text[1:]
    found = definition(unit, name)
    value = found.text
    if value.doubt is not None:
        return [value]
    if b"\\" in value.octets:
        return [unknown(f"${name}, set in {found.place}, holds a backslash", found.where)]
    # A quote that is never closed ends with the value there.
    joined = Joined(value.octets, tuple(range(len(value.octets))), 0)
    texts: list[Text] = []
    position = 0
    while True:
        try:
            piece, position = first_word(joined, position)
        except UnbalancedQuoteError:
            return [*texts, unknown(f"${name}, set in {found.place}, holds a quote that is never closed", found.where)]
        if piece is None:
            return texts
        texts.append(Text(piece.octets, tuple(value.origins[start] for start, _ in piece.spans)))
