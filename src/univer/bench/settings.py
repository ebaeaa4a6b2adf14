"""Whether a folder that is there already belongs to the run that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of two checksums a message would say little to a person.
CHECKSUMS = {
    "prompts_checksum": "prompts of other texts",
    "ids_checksum": "prompts of other token ids: by another tokenizer or chat template",
    "weights_checksum": "models of other weights, though of the same names",
}


def check_same(held: Mapping[str, Any], wanted: Mapping[str, Any], run: str) -> None:
    """Refuse to go on with a run of other settings.

    Args:
        held: settings of the run that is there.
        wanted: settings of the one that is asked for, as JSON has them.
        run: how the message begins, such as `"runs/first holds a run"`.

    Raises:
        ValueError: they differ; the message names the first setting that does.

    Example:
        >>> check_same({"sizes": {"places": 4}}, {"sizes": {"places": 8}}, "there is a run")
        Traceback (most recent call last):
        ValueError: there is a run with sizes.places = 4, not 8: choose another folder, or the same settings to go ...
    """
    one, other = _flat(held), _flat(wanted)
    for name in {**one, **other}:
        if one.get(name) != other.get(name):
            if name in CHECKSUMS and one.get(name) is None:
                raise ValueError(f"{run} of an earlier version, which kept no {name}: choose another folder")
            texts = _differing(one.get(name), other.get(name))
            differs = CHECKSUMS.get(name, "{} = {}, not {}".format(name, *texts))
            raise ValueError(f"{run} with {differs}: choose another folder, or the same settings to go on with it")


def _flat(settings: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """Settings without nesting, by names such as `experiment.places`."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{within}{name}.") if value and isinstance(value, dict) else {within + name: value}
    return found


def _differing(one: object, other: object) -> tuple[str, str]:
    """Two values in short, so that it can be seen where they differ."""
    texts = repr(one), repr(other)
    if max(map(len, texts)) <= 60:
        return texts
    if isinstance(one, list) and isinstance(other, list) and len(one) != len(other):
        return f"{len(one)} entries", f"{len(other)} entries"
    same = next((place for place, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, same - 20)
    first, second = (("..." if start else "") + text[start : start + 50] + "..." for text in texts)
    return first, second
