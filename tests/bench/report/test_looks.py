"""Colours and marks of methods."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from univer import methods
from univer.bench.report import looks
from univer.bench.report.looks import Colour, look

METHODS = list(dict.fromkeys([*(look(name).colour for name in methods()), looks.OTHER]))

# How linear RGB looks without a kind of cone: Machado, Oliveira and Fernandes, IEEE TVCG 15, 1291 (2009), severity 1.
EYES = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> NDArray[np.float64]:
    """Linear RGB of `#rrggbb`."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIELAB of linear RGB."""
    xyz = TO_XYZ @ rgb.clip(0, 1) / TO_XYZ.sum(axis=1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def luminance(colour: str) -> float:
    """Relative luminance after WCAG 2."""
    return float(TO_XYZ[1] @ linear(colour))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


# Labels are written in the colours of their lines.
@pytest.mark.parametrize("colour", [looks.INK, looks.MUTED, *METHODS], ids=looks.variable)
def test_text_can_be_read_on_both_surfaces(colour: Colour) -> None:
    assert contrast(colour.light, looks.SURFACE.light) >= 4.5
    assert contrast(colour.dark, looks.SURFACE.dark) >= 4.5


@pytest.mark.parametrize("eyes", EYES)
def test_hues_differ_for_all_eyes(eyes: str) -> None:
    for one, other in combinations(METHODS, 2):
        for a, b in ((one.light, other.light), (one.dark, other.dark)):
            apart = np.linalg.norm(lab(EYES[eyes] @ linear(a)) - lab(EYES[eyes] @ linear(b)))
            assert apart > 13, (one, other)


def test_a_colour_of_a_drawing_names_one_variable() -> None:
    drawn = [colour.light for colour in looks.colours()]
    assert len(set(drawn)) == len(drawn)
    assert all(colour == colour.lower() for colour in drawn)


def test_neighbouring_phases_differ_in_lightness() -> None:
    for one, other in zip(looks.PHASES, looks.PHASES[1:], strict=False):
        assert contrast(one.light, other.light) > 1.5
        assert contrast(one.dark, other.dark) > 1.5


def test_no_two_methods_look_alike() -> None:
    labels = [label for name in methods() for label in (name, f"{name} (gain)")]
    for one, other in combinations(labels, 2):
        a, b = look(one), look(other)
        assert (a.colour, a.lifted, a.ordered) != (b.colour, b.lifted, b.ordered), (one, other)
    assert look("mine").colour is looks.OTHER
    assert looks.OTHER not in {look(label).colour for label in labels}
