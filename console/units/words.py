"""Words as systemd splits and unquotes them, each with the bytes of the file it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.units.text import BLANKS, Joined

_SIMPLE_ESCAPES = {ord(letter): octet for letter, octet in zip("abfnrtv\\\"'s", b"\a\b\f\n\r\t\v\\\"' ", strict=True)}
# After `%`, a letter or digit that is no specifier makes the unit fail to load; anything else stays as it is.
_SPECIFIER = re.compile(rb"%([A-Za-z0-9%])")
_BRACED = re.compile(r"\$\$|\$\{([^}]*)\}")


class UnbalancedQuoteError(ValueError):
    """A quote is never closed: systemd cannot read the line."""


@dataclass(frozen=True)
class Word:
    """One word: what the program gets (`octets`), and the bytes of the file it is written with.

    `$` and `%` are left as they are written; `spans[i]` is the (start, end) in the file of byte i of `octets`.
    """

    octets: bytes
    start: int
    end: int
    spans: tuple[tuple[int, int], ...]
    bare: bool  # written without quotes and escapes
    unknown_escape: bool = False
    expands: bool = True  # False after the `:` prefix: `$` is an ordinary character

    @property
    def text(self) -> str:
        return self.octets.decode("utf-8", "backslashreplace")

    @property
    def specifiers(self) -> tuple[str, ...]:
        """The `%` specifiers in it, without `%%`."""
        return tuple(match[1].decode() for match in _SPECIFIER.finditer(self.octets) if match[1] != b"%")

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables systemd expands in it: `$NAME` only as a whole word, `${NAME}` anywhere, `$$` is a dollar."""
        if not self.expands:
            return ()
        text = self.text
        if re.fullmatch(r"\$[A-Za-z_][A-Za-z0-9_]*", text):
            return (text[1:],)
        return tuple(match[1] for match in _BRACED.finditer(text) if match[1] is not None)

    @property
    def splits(self) -> bool:
        """Whether it is a whole-word `$NAME`, which becomes as many words as the variable holds."""
        return self.expands and bool(re.fullmatch(r"\$[A-Za-z_][A-Za-z0-9_]*", self.text))

    @property
    def literal(self) -> bool:
        """Whether the program gets exactly this text: no `$` that systemd reads, no `%`."""
        return b"%" not in self.octets and not (self.expands and b"$" in self.octets)

    def drop(self, count: int) -> Word:
        """The word without its first `count` bytes; the written span stays."""
        return Word(
            self.octets[count:], self.start, self.end, self.spans[count:], self.bare, self.unknown_escape, self.expands
        )


def first_word(value: Joined, position: int) -> tuple[Word | None, int]:
    """The word at or after `position`, and where the next one starts.

    Unknown escapes stay as written, as systemd does on its second try (extract_first_word_and_warn).
    Raises UnbalancedQuoteError.
    """
    data = value.data
    size = len(data)
    while position < size and data[position] in BLANKS:
        position += 1
    if position == size:
        return None, position
    begin = position
    octets = bytearray()
    spans: list[tuple[int, int]] = []
    quote = 0
    bare = True
    unknown = False

    def put(new: bytes, low: int, high: int) -> None:
        octets.extend(new)
        spans.extend([(value.offsets[low], value.offsets[high - 1] + 1)] * len(new))

    while position < size:
        octet = data[position]
        if octet == 0x5C:
            bare = False
            new, length = _escape(data, position + 1)
            if length == 0:
                unknown = True
                if position + 1 == size:
                    if quote:
                        raise UnbalancedQuoteError
                    put(b"\\", position, position + 1)
                    position += 1
                    continue
                put(b"\\", position, position + 1)
                put(data[position + 1 : position + 2], position + 1, position + 2)
                position += 2
                continue
            put(new, position, position + 1 + length)
            position += 1 + length
            continue
        if quote:
            if octet == quote:
                quote = 0
            else:
                put(data[position : position + 1], position, position + 1)
        elif octet in b"'\"":
            quote = octet
            bare = False
        elif octet in BLANKS:
            break
        else:
            put(data[position : position + 1], position, position + 1)
        position += 1
    if quote:
        raise UnbalancedQuoteError
    word = Word(
        bytes(octets), value.offsets[begin], value.offsets[position - 1] + 1, tuple(spans), bare, unknown_escape=unknown
    )
    while position < size and data[position] in BLANKS:
        position += 1
    return word, position


def _escape(data: bytes, position: int) -> tuple[bytes, int]:
    """What the escape after a backslash means and how many bytes it takes; (b"", 0) where systemd knows none."""
    code = data[position : position + 1]
    if not code:
        return b"", 0
    if code[0] in _SIMPLE_ESCAPES:
        return bytes([_SIMPLE_ESCAPES[code[0]]]), 1
    if code == b"x" and (match := re.compile(rb"[0-9A-Fa-f]{2}").match(data, position + 1)):
        number = int(match[0], 16)
        return (bytes([number]), 3) if number else (b"", 0)
    for letter, digits in ((b"u", 4), (b"U", 8)):
        match = re.compile(rb"[0-9A-Fa-f]{%d}" % digits).match(data, position + 1)
        if code == letter and match:
            number = int(match[0], 16)
            valid = 0 < number < 0x110000 and (digits == 4 or _valid_character(number))
            return (chr(number).encode("utf-8", "surrogatepass"), 1 + digits) if valid else (b"", 0)
    if match := re.compile(rb"[0-7]{3}").match(data, position):
        number = int(match[0], 8)
        return (bytes([number]), 3) if 0 < number < 256 else (b"", 0)
    return b"", 0


def _valid_character(number: int) -> bool:
    return not (0xD800 <= number <= 0xDFFF or 0xFDD0 <= number <= 0xFDEF or number & 0xFFFE == 0xFFFE)
