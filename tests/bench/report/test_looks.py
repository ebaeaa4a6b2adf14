"""Colours and marks of methods."""

from itertools import combinations

import pytest

from univer import methods
from univer.bench.report import palette
from univer.bench.report.palette import Colour
from univer.bench.report.series import series


def luminance(colour: str) -> float:
    """Relative luminance after WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


# Labels are written in the colours of their lines.
@pytest.mark.parametrize("colour", [palette.INK, palette.MUTED, *palette.SERIES], ids=lambda colour: colour.name)
def test_text_can_be_read_on_both_surfaces(colour: Colour) -> None:
    assert contrast(colour.light, palette.SURFACE.light) >= 4.5
    assert contrast(colour.dark, palette.SURFACE.dark) >= 4.5


def test_a_colour_of_a_drawing_names_one_variable() -> None:
    drawn = [colour.light for colour in palette.ALL]
    assert len(set(drawn)) == len(drawn)
    assert all(colour == colour.lower() for colour in drawn)


def test_neighbouring_parts_differ_in_lightness() -> None:
    for one, other in zip(palette.PARTS, palette.PARTS[1:], strict=False):
        assert contrast(one.light, other.light) > 1.5
        assert contrast(one.dark, other.dark) > 1.5


def test_no_two_methods_look_alike() -> None:
    labels = [label for name in methods() for label in (name, f"{name} (gain)")]
    for one, other in combinations(labels, 2):
        a, b = series(one), series(other)
        assert (a.colour, a.lifted, a.ordered) != (b.colour, b.lifted, b.ordered), (one, other)
    assert {series(label).colour for label in labels} == set(palette.SERIES) - {palette.OTHER}
    assert series("mine").colour is palette.OTHER
