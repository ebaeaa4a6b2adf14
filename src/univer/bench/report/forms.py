"""Figures in writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

MINUS, NARROW = "\u2212", "\u202f"
NOTHING = "\u2013"


def decimal(value: float | None, digits: int = 2) -> str:
    """A number with a real minus sign, which zero does not have.

    Example:
        >>> decimal(4.526), decimal(-0.5, 1), decimal(-0.001)
        ('4.53', '−0.5', '0.00')
    """
    # Adding zero turns a rounded -0.0 into 0.0.
    return NOTHING if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def signed_percent(value: float | None) -> str:
    """A relative difference.

    Example:
        >>> signed_percent(0.0754)
        '+7.5\u202f%'
    """
    return NOTHING if value is None else f"{100 * value:+.1f}{NARROW}%".replace("-", MINUS)


def ends(interval: Mapping[str, float | None] | None, form: Callable[[float], str] = decimal) -> str:
    """The ends of an interval; nothing where there were too few prompts for one.

    Example:
        >>> ends({"value": 1.5, "low": 1.25, "high": 1.75})
        '1.25 to 1.75'
    """
    if interval is None or interval["low"] is None or interval["high"] is None:
        return ""
    return f"{form(interval['low'])} to {form(interval['high'])}"
