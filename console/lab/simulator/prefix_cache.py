"""The prefix cache: what of a prompt is still in the pool from earlier requests."""

from __future__ import annotations

from array import array


def common_prefix(one: array[int], other: array[int]) -> int:
    """Length of the common beginning, by halving: comparing slices is one memcmp."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class PrefixCache:
    """Sequences by last use. A shared beginning is counted once, as in a tree of prefixes."""

    def __init__(self) -> None:
        self.entries: dict[int, tuple[array[int], int]] = {}  # number → tokens, how many of them are its own
        self.tokens = 0
        self.count = 0

    def match(self, prompt: array[int]) -> int:
        """Tokens of `prompt` that need no prefill; the last one always does, it yields the first output."""
        best, number = self.longest(prompt)
        if number is not None:
            self.entries[number] = self.entries.pop(number)
        return min(best, len(prompt) - 1)

    def longest(self, tokens: array[int]) -> tuple[int, int | None]:
        best, number = 0, None
        for key, (known, _) in self.entries.items():
            length = common_prefix(tokens, known)
            if length > best:
                best, number = length, key
        return best, number

    def insert(self, tokens: array[int], room: int) -> None:
        """Remember a finished sequence, dropping the least recently used ones until all fits in `room` tokens."""
        best, number = self.longest(tokens)
        if best == len(tokens):
            return
        own = len(tokens) - best
        if number is not None and best == len(self.entries[number][0]):
            own += self.entries[number][1]
            self.tokens -= self.entries.pop(number)[1]
        self.count += 1
        self.entries[self.count] = (tokens, own)
        self.tokens += own
        self.shrink(room)

    def shrink(self, room: int) -> None:
        while self.tokens > room and self.entries:
            self.tokens -= self.entries.pop(next(iter(self.entries)))[1]

    def clear(self) -> None:
        self.entries.clear()
        self.tokens = 0
