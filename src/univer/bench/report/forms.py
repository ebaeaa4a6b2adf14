"""Numbers as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

MINUS, NARROW = "\u2212", "\u202f"
NOTHING = "\u2013"


def decimal(value: float | None, digits: int = 2) -> str:
    """Format a number, with a real minus sign and no negative zero.

    Example:
        >>> decimal(4.526), decimal(-0.5, 1), decimal(-0.001)
        ('4.53', '−0.5', '0.00')
    """
    # Adding zero turns a rounded -0.0 into 0.0.
    return NOTHING if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


tenths = partial(decimal, digits=1)
thousandths = partial(decimal, digits=3)


def signed_percent(value: float | None) -> str:
    """Format a relative difference.

    Example:
        >>> signed_percent(0.0754)
        '+7.5\u202f%'
    """
    return NOTHING if value is None else f"{round(100 * value, 1) + 0.0:+.1f}{NARROW}%".replace("-", MINUS)


def ends(figure: Mapping[str, Any], form: Callable[[float], str] = decimal) -> str:
    """Format the ends of an interval; empty where there were too few prompts for one.

    Example:
        >>> ends({"value": 1.5, "low": 1.25, "high": 1.75})
        '1.25 to 1.75'
    """
    return "" if figure["low"] is None else f"{form(figure['low'])} to {form(figure['high'])}"


def plural(count: int, noun: str) -> str:
    """Format a count with its noun.

    Example:
        >>> plural(1, "prompt"), plural(2, "prompt")
        ('1 prompt', '2 prompts')
    """
    return f"{count} {noun}" + "s" * (count != 1)
