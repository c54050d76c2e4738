"""Secrets are masked by type, by name and by value in everything that leaves the program's memory."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from console.secret_names import is_count_of_tokens, is_secret_name, may_name_a_secret

__all__ = ["MASK", "Redactor", "Secret", "is_secret_name"]

MASK = "***"
DIGEST_DIGITS = 6
# The same lines and events pass several sinks: so many texts of at most that many characters are not masked again.
_REMEMBERED, _LONGEST_REMEMBERED = 4096, 4096
# A mask of ours, with or without the digest that tells whether two masked values were the same one.
_MASKED = re.compile(rf"\*\*\*(?:[0-9a-f]{{{DIGEST_DIGITS}}})?")

_URL_CREDENTIALS = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)([^/\s:@\"']{0,256}):([^/\s\"']{1,512})@")
# https://TOKEN@host: a user without a password is a name when short, a token when long
_URL_TOKEN = re.compile(r"(?i)\b(https?://)([^/\s:@\"']{12,512})@")
_URL_SIGNATURE = re.compile(r"(?i)([?&](?:sig|signature|x-amz-signature|key|access_token)=)([^&\s\"'#]+)")
_BEARER = re.compile(r"(?i)\b(bearer\s{1,3})([A-Za-z0-9._~+/=-]{6,})")
_WELL_KNOWN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}|nvapi-[A-Za-z0-9_-]{8,}|AKIA[0-9A-Z]{16}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|AIza[A-Za-z0-9_-]{35}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+)"
)
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_PRIVATE_KEY = re.compile(rf"{_KEY_BEGINS.pattern}.*?(?:{_KEY_ENDS.pattern}|\Z)", re.DOTALL)
# The tail of a key whose first line was cut off; a diff puts a sign before each line.
_TAIL_OF_KEY = re.compile(rf"(?:^[ +-]?[A-Za-z0-9+/=]{{16,120}}[ \t\r]*\n)*[ +-]?{_KEY_ENDS.pattern}", re.MULTILINE)

# A name and what may stand between it and its value: =, :, =>, blanks after a flag, the comma of a printed list.
# Possessive, and started only where a name starts: linear on any text.
_HEAD = re.compile(
    r"(?<![A-Za-z0-9_.\-])(?P<name>[A-Za-z0-9_.\-]{2,120}+)(?P<close>\\{0,7}[\"']|)"
    r"(?P<sep>[ \t]{0,4}(?:=>|[=:])[ \t]{0,4}|[ \t\0]{1,4}|,[ \t\n]{0,8})"
)
_QUOTED = re.compile(r"[bBrRuUfF]{0,2}(?P<open>\\{0,7}[\"'])")
_UNQUOTED = re.compile(r"(?:[^\s\0\\]|\\.)+", re.DOTALL)  # a backslash joins lines in environment files
_BARE_WORD = re.compile(r"[ \t]+[^\s\-=/\"'\\][^\s=/\"'\\]*(?=\s|$)")
_LINE_START = re.compile(r"[ \t+\-]*(?:export[ \t]+)?")
_SHELL_SCRIPT = re.compile(r"\s-[a-z]{0,3}c\s+$")
_VARIABLE = re.compile(r"\$\{?[A-Z_][A-Z0-9_]*\}?")
_NUMBER = re.compile(r"[+-]?\d[\d.,_]*\s*[%kKMG]?")
_HEADER = re.compile(r"(?i)(?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*(?:key|token|secret)")
_FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]*")
_EMPTY = {"", "none", "null", "true", "false", "''", '""'}
_QUOTED_AT_MOST = 65536


class Secret:
    """A value that shows itself as *** everywhere; `.reveal()` is the one way out."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


_NOTHING_TO_MASK = frozenset({int, float, bool, type(None)})


class Redactor:
    """Masks secrets by pattern, and by value once a value was seen.

    One per process; readers of hosts feed it (`learn*`), every sink passes through it (`text`, `tree`). With a `key` a
    mask carries six digits of a keyed digest (HMAC-SHA-256): two that are equal hid the same value, and without the
    key nobody can try values out.
    """

    def __init__(self, key: Callable[[], bytes] | None = None) -> None:
        self._ask_key = key
        self._kept_key: bytes | None = None
        self._origin: dict[str, str] = {}  # a spelling of a value → the value
        self._values: set[str] = set()
        self._by_value: re.Pattern[str] | None = None
        self._done: dict[str, str] = {}  # what `text` made of a text, until another value is learned

    @property
    def _key(self) -> bytes:
        """Asked for when the first secret is masked: most commands never need it."""
        if self._kept_key is None:
            self._kept_key = self._ask_key() if self._ask_key is not None else b""
        return self._kept_key

    @property
    def key_id(self) -> str:
        """Names the key without telling it; empty without one."""
        return hashlib.sha256(b"console mask key" + self._key).hexdigest()[:8] if self._key else ""

    def mask(self, value: str) -> str:
        """What is shown instead of a value; a mask of ours stays as it is."""
        if not self._key:
            return MASK
        if _MASKED.fullmatch(value):
            return value
        digest = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return MASK + digest.hexdigest()[:DIGEST_DIGITS]

    def _known(self, match: re.Match[str]) -> str:
        return self.mask(self._origin.get(match[0], match[0]))

    def _whole(self, match: re.Match[str]) -> str:
        return self.mask(match[0])

    def learn(self, *values: str) -> None:
        """Mask these exact values from now on, also as JSON and URLs spell them.

        Shorter than 4 characters would mask ordinary text; shorter than 8 is masked only as a word of its own.
        """
        fresh: set[str] = set()
        for value in values:
            lines = value.splitlines() if "\n" in value else []
            for part in (value, *(line for line in lines if len(line) >= 16)):
                if len(part) >= 4 and not _says_nothing(part):
                    spelled = {
                        part,
                        quote(part, safe=""),
                        json.dumps(part)[1:-1],
                        json.dumps(part, ensure_ascii=False)[1:-1],
                    }
                    self._origin |= dict.fromkeys(spelled, part)
                    fresh |= spelled
        fresh -= self._values
        if fresh:
            self._values |= fresh
            self._done.clear()
            longest_first = sorted(self._values, key=len, reverse=True)
            self._by_value = re.compile("|".join(map(_value_pattern, longest_first)))

    def learn_words(self, words: Sequence[str]) -> None:
        """Learn from a command line: `--api-key VALUE`, `--api-key=VALUE`, `KEY=VALUE`, `--env=KEY=VALUE`."""
        for index, word in enumerate(words):
            cut = _value_in_word(word)
            if cut is not None:
                self.learn(word[cut:])
            elif _takes_secret(word, words[index + 1 : index + 2]):
                self.learn(words[index + 1])

    def learn_environment(self, environment: Mapping[str, str]) -> None:
        """Learn the values of variables whose names say that they are secret."""
        for name, value in environment.items():
            if is_secret_name(name):
                self.learn(value)

    def text(self, text: str) -> str:
        """`text` with every secret replaced by ***."""
        if len(text) > _LONGEST_REMEMBERED:
            return self._masked(text)
        done = self._done.get(text)
        if done is None:
            if len(self._done) >= _REMEMBERED:
                self._done.clear()
            done = self._done[text] = self._masked(text)
        return done

    def _masked(self, text: str) -> str:
        if self._by_value is not None:
            text = self._by_value.sub(self._known, text)
        if "PRIVATE KEY-----" in text:
            text = _TAIL_OF_KEY.sub(self._whole, _PRIVATE_KEY.sub(self._whole, text))
        if "://" in text:
            text = _URL_CREDENTIALS.sub(lambda found: f"{found[1]}{found[2]}:{self.mask(found[3])}@", text)
            text = _URL_TOKEN.sub(lambda found: f"{found[1]}{self.mask(found[2])}@", text)
            text = _URL_SIGNATURE.sub(lambda found: f"{found[1]}{self.mask(found[2])}", text)
        text = _BEARER.sub(lambda found: f"{found[1]}{self.mask(found[2])}", text)
        text = _WELL_KNOWN.sub(self._whole, text)
        return _mask_pairs(text, self.mask) if may_name_a_secret(text) else text

    def words(self, words: Iterable[str]) -> list[str]:
        """A command line for showing: the words after and within secret flags are masked."""
        given = list(words)
        shown: list[str] = []
        hide = in_key = False
        for index, word in enumerate(given):
            cut = _value_in_word(word)
            if in_key or hide:
                shown.append(self.mask(word))
            elif cut is not None:
                shown.append(self.text(word[: cut - 1]) + "=" + self.mask(word[cut:]))
            else:
                shown.append(self.text(word))
            in_key = (in_key or bool(_KEY_BEGINS.search(word))) and not _KEY_ENDS.search(word)
            hide = _takes_secret(word, given[index + 1 : index + 2])
        return shown

    def tree(self, value: Any) -> Any:
        """JSON-like data with secrets masked, by key name and in every string."""
        kind = type(value)
        if kind in _NOTHING_TO_MASK:  # most leaves of a record; asking an ABC about each takes its time
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Secret):
            return self.mask(value.reveal())
        if kind is dict or isinstance(value, Mapping):
            return {key: self._under(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            if value and all(isinstance(item, str) for item in value):
                return self.words(value)
            return [self.tree(item) for item in value]
        return value

    def _under(self, name: str, value: Any) -> Any:
        """A value that stands under a name: all of it is masked where the name is a secret's."""
        return _mask_all(name, value, self.mask) if is_secret_name(name) else self.tree(value)


def _mask_all(name: str, value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _mask_all(name, item, mask) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mask_all(name, item, mask) for item in value]
    if value is None or isinstance(value, bool) or _says_nothing(str(value)):
        return value
    return value if is_count_of_tokens(name) and _NUMBER.fullmatch(str(value)) else mask(str(value))


def _says_nothing(value: str) -> bool:
    """Whether there is nothing to hide: no value, a word for none, or a mask already."""
    return value.lower() in _EMPTY or _MASKED.fullmatch(value) is not None


def _in_json(value: str, *, ascii_only: bool = True) -> str:
    return json.dumps(value, ensure_ascii=ascii_only)[1:-1]


def _value_pattern(value: str) -> str:
    if len(value) >= 8:
        return re.escape(value)
    # A short key may also be a word of a path or a name, and masking those would break what is written.
    return rf"(?<![\w./-]){re.escape(value)}(?![\w./-])"


def _value_in_word(word: str) -> int | None:
    """Where the value starts in `NAME=value`, `--flag=value` or `--env=NAME=value` of a secret name."""
    start = 0
    for _ in range(2):
        name, equals, value = word[start:].partition("=")
        if not equals:
            return None
        cut = start + len(name) + 1
        if is_secret_name(name):
            counts = is_count_of_tokens(name) and _NUMBER.fullmatch(value)
            return None if _says_nothing(value) or counts else cut
        start = cut
    return None


def _takes_secret(word: str, following: Sequence[str]) -> bool:
    """Whether the word after `word` is its secret value."""
    if not _FLAG.fullmatch(word) or not is_secret_name(word) or not following:
        return False
    value = following[0]
    counts = is_count_of_tokens(word) and _NUMBER.fullmatch(value)
    return not value.startswith("--") and not _says_nothing(value) and not counts


def _mask_pairs(text: str, mask: Callable[[str], str]) -> str:
    """Mask the values of secret names: `name=value`, `name: value`, `"name": "value"`, `--name value` and the like."""
    pieces: list[str] = []
    done = at = 0
    while head := _HEAD.search(text, at):
        at = head.end()
        name, sep = head["name"], head["sep"]
        if not is_secret_name(name):
            at = head.end("name")
            continue
        is_flag = name.startswith("-")
        if sep.startswith(",") and not (head["close"] and (is_flag or name.isupper()) and _QUOTED.match(text, at)):
            continue
        if not sep.strip(" \t\0") and not is_flag:
            continue  # prose ("the api key was refused"), not an assignment
        start, end = _value_span(text, head)
        value = text[start:end]
        bare = value.rstrip(",;)}]\"'")
        if _says_nothing(bare) or _VARIABLE.fullmatch(bare) or (is_flag and sep.isspace() and value[:2] == "--"):
            continue
        if is_count_of_tokens(name) and _NUMBER.fullmatch(value):
            continue
        pieces += [text[done:start], mask(value)]
        done = at = end
    pieces.append(text[done:])
    return "".join(pieces)


def _value_span(text: str, head: re.Match[str]) -> tuple[int, int]:
    """From where to where the value after `head` reaches, without its quotes."""
    start = head.end()
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    if quoted := _QUOTED.match(text, start):
        return quoted.end(), _closing(text, quoted.end(), quoted["open"], line_end)
    before = head.start() - 1
    outer = text[before] if before >= 0 and not head["close"] and text[before] in "\"'" else ""
    if outer and not _SHELL_SCRIPT.search(text, max(0, before - 16), before):
        backslashes = re.search(r"\\*$", text[max(0, before - 7) : before])
        return start, _closing(text, start, (backslashes[0] if backslashes else "") + outer, line_end)
    if ":" in head["sep"] and _HEADER.fullmatch(head["name"]):
        return start, line_end
    unquoted = _UNQUOTED.match(text, start)
    if not unquoted:
        return start, start
    end = unquoted.end()
    in_query = before >= 0 and text[before] in "?&"
    ampersand = text.find("&", start, end) if in_query else -1
    if ampersand >= 0:
        return start, ampersand
    line_start = text.rfind("\n", 0, head.start()) + 1
    if head["sep"] == "=" and _LINE_START.fullmatch(text, line_start, head.start()):
        # An environment file's value reaches to the end of the line; a shell's to the blank, then flags follow.
        while more := _BARE_WORD.match(text, end):
            end = more.end()
        return start, end
    return start, start + len(text[start:end].rstrip(",;)}]\"'"))


def _closing(text: str, start: int, mark: str, line_end: int) -> int:
    """Where the quote `mark` closes, an escaped one apart; the end of the line where it never does."""
    at = text.find(mark, start, start + _QUOTED_AT_MOST)
    while at > start and len(mark) == 1 and text[at - 1] == "\\" and _odd_backslashes(text, start, at):
        at = text.find(mark, at + 1, start + _QUOTED_AT_MOST)
    return at if at >= 0 else max(line_end, start)


def _odd_backslashes(text: str, start: int, at: int) -> bool:
    count = 0
    while at - count > start and text[at - count - 1] == "\\":
        count += 1
    return count % 2 == 1
