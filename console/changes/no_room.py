"""What to do next where a file system takes no more: it is full, a quota is used up, or it is read-only."""

from __future__ import annotations

# What the C library says of ENOSPC, EDQUOT and EROFS, in English, as every script of ours asks for it.
WAYS_OUT = {
    "No space left on device": "free space there (df, df -i), then again",
    "Disk quota exceeded": "clear or raise the quota there (quota, repquota, btrfs qgroup show; df does not show it),"
    " then again",
    "Read-only file system": "look why it is mounted read-only (findmnt, dmesg), then again",
}


def way_out(said: str) -> str:
    """The hint for what a tool said; empty when it said something else."""
    return next((hint for words, hint in WAYS_OUT.items() if words in said), "")
