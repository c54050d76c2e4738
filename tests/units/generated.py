"""Units made up from pieces that systemd reads in surprising ways, the same for the same seed."""

from __future__ import annotations

import random

_WORDS = (
    "--context-length", "32768", "--a=b", "-c", "x", "'a b'", '"c d"', "'it''s'", '"a\\"b"', "a'b c'd", "\\x41",
    "\\101", "\\u00e9", "\\n", "\\s", "\\q", "\\", '""', "''", "%%", "%n", "%N", "%p", "$A", "${A}", "$$", "${A}b",
    "a$Ab", ";", "\\;", "';'", "#x", "#", "=", "é", "–-flag", "a\\ b", "*", "?", "[x]", "(", "<", "|", "&", "!", "`",
    "~", "{a,b}", "--json={\"a\":1}", "'{\"a\": [1, 2]}'", "\\t", "a\\\\b", "@x", ":x", "+x", "/etc", "0",
)  # fmt: skip
_SEPARATORS = (
    " ", " ", " ", "  ", "\t", " \\\n    ", " \\\n\t", "\\\n", " \\\n# note\n  ", " \\\n;note\n  ", "\\\r\n  ",
)  # fmt: skip
_ODD_SEPARATORS = (" \\ \n  ", " \\\n\n  ", "\n")
_PROGRAMS = (
    "/bin/true", "/bin/true", "/bin/true", "-/bin/true", "@/bin/true name", ":/bin/true", "+/bin/true", "!/bin/true",
)  # fmt: skip
_BEFORE = ("", "", "# note\n", "Type=oneshot\n", "ExecStart=/bin/false 1\nExecStart=\n", "ExecStart=/bin/false 2\n")
_AFTER = (
    "\n", "\n", "\nRestart=no\n", "\r\n", "", "\n[Install]\nWantedBy=multi-user.target\n", "\n\n[Service]\nNice=1\n",
)  # fmt: skip


def unit(rng: random.Random) -> bytes:
    """One unit file. About one in eight holds something that systemd drops or refuses."""
    odd = rng.random() < 0.12
    text = rng.choice(_PROGRAMS)
    for _ in range(rng.randrange(0, 9)):
        text += rng.choice(_ODD_SEPARATORS if odd and rng.random() < 0.2 else _SEPARATORS) + rng.choice(_WORDS)
    key = rng.choice(("ExecStart=", "ExecStart=", "ExecStart =", "ExecStart= "))
    before = rng.choice(_BEFORE)
    if before.startswith("ExecStart=/bin/false 2"):
        before = "Type=oneshot\n" + before
    return f"[Service]\n{before}{key}{text}{rng.choice(_AFTER)}".encode()
