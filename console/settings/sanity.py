"""Values that may not become a word of ExecStart."""

from __future__ import annotations

import re

from console.engines.base import Engine
from console.errors import RefusedError
from console.secrets import is_secret_name
from console.settings.names import SETTINGS
from console.untrusted import one_line

# Settings whose 0 or less means nothing; of others (chunked_prefill_size) -1 switches something off.
COUNTS = frozenset({"context_length", "max_total_tokens", "max_running_requests", "page_size"})

_REASONS = (
    (re.compile(r"\A\Z"), "is empty"),
    (re.compile(r"\s"), "holds a blank or a line break"),
    (re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"), "holds a control character"),
    (re.compile(r"[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"), "holds a character that is not text"),
    (re.compile(r"[\"'\\]"), "holds a quote or a backslash"),
    (re.compile(r"%"), "holds a %, which systemd reads as a specifier"),
    (re.compile(r"\$"), "holds a $, which systemd reads as a variable"),
    (re.compile(r"\A[#;]"), "begins with # or ;, which systemd reads as a comment or a separator"),
    (re.compile(r"\A--?[A-Za-z]"), "looks like a flag"),
)


def check_value(name: str, value: str) -> None:
    """Raises RefusedError where `value` could be read as something else than one plain word."""
    for pattern, reason in _REASONS:
        if pattern.search(value):
            raise RefusedError(
                f"{name}: the value {one_line(value, 60)!r} {reason}",
                hint="give one plain word; what needs quoting is set by hand in the unit file",
            )


def check_sense(name: str, value: str, engine: Engine) -> None:
    """Raises RefusedError for a number that no engine can mean: no tokens at all, more than the whole memory."""
    setting = SETTINGS.get(name)
    if setting is None:
        return
    try:
        meant = engine.parse_value(name, value)
    except (ValueError, KeyError):
        return  # that it cannot be read is said by whoever compares it
    if name in COUNTS and isinstance(meant, int | float) and meant <= 0:
        raise RefusedError(f"{name}: {value} tokens make no sense", hint="give a number above 0")
    if setting.unit == "share" and isinstance(meant, int | float) and not 0 < meant <= 1:
        raise RefusedError(f"{name}: {value} is no share of the memory", hint="give a number above 0, at most 1")


def check_not_secret(name: str) -> None:
    """Raises RefusedError for a flag whose value is a secret: everybody on the host can read ExecStart."""
    if is_secret_name(name):
        raise RefusedError(
            f"{name} takes a secret, and ExecStart is readable by everybody on the host",
            hint="put it into an EnvironmentFile= that only root can read, or a credential (LoadCredential=)",
        )


_SHELL_READS = re.compile(r"[*?\[\]{}~`!;&|<>()#]")
_YAML_READS = re.compile(r"(?i)\A(~|null|y|yes|n|no|on|off|[-?:=]|<<|[-+]?\.(inf|nan)|[-+.\d][\d_.]*e[-+]?\d+|.*:)\Z")


def check_form(name: str, value: str, form: str) -> None:
    """Raises RefusedError for a value that the shell or YAML would take for something else than its characters."""
    if form in ("wrapper", "shell-string") and (found := _SHELL_READS.search(value)):
        raise RefusedError(f"{name}: the value {one_line(value, 60)!r} holds a {found[0]}, which a shell reads")
    if form in ("options", "compose") and _YAML_READS.match(value):
        raise RefusedError(f"{name}: the value {one_line(value, 60)!r} is no plain word in YAML")
