"""The values of settings as text: whole numbers, numbers with suffixes, shares, switches."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from console.engines.base import ValueKind

_SI = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_IEC = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def human_integer(text: str) -> int:
    """`200k` = 200000, `200Ki` = 204800, `25.6k` = 25600; suffixes are case-sensitive.

    Source: `human_readable_int`, from 0.5.10 on; earlier releases take whole numbers only.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(Ki|Mi|Gi|Ti|k|M|G|T)", text.strip())
    if match is None:
        try:
            return int(text)
        except ValueError:
            raise ValueError(
                f"{text!r} is not a whole number such as 200000, 200k (200000) or 200Ki (204800)"
            ) from None
    digits, suffix = match.groups()
    if suffix in _SI:
        return int(Decimal(digits) * _SI[suffix])
    if "." in digits:
        raise ValueError(f"{text!r}: no decimals before {suffix}")
    return int(digits) * _IEC[suffix]


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def switch(text: str) -> int:
    if text.lower() in ("", "true", "1", "yes", "on"):
        return 1
    if text.lower() in ("false", "0", "no", "off"):
        return 0
    raise ValueError(f"{text!r} is neither true nor false")


PARSERS: Mapping[ValueKind, Callable[[str], int | float | str]] = {
    "int": integer,
    "human_int": human_integer,
    "float": number,
    "str": str,
    "flag": switch,
}


def same_value(parse: Callable[[str, str], int | float | str], setting: str, one: str, other: str) -> bool:
    """Whether two texts mean the same value; those that cannot be read are compared as they stand."""
    try:
        return parse(setting, one) == parse(setting, other)
    except (ValueError, KeyError):
        return one == other
