"""The result of tuning, as a small file that other commands read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from univer.drafting.eagle.shipped import fingerprint
from univer.drafting.growth import TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.files import write_json
from univer.models.catalogue import model_name
from univer.models.machine import machine
from univer.tuning.costs import Costs
from univer.tuning.curve import Curve
from univer.tuning.forecast import Forecast

# Name and version of the file format.
NAME = "univer tune"
FORMAT = f"{NAME} 2"


@dataclass(frozen=True)
class Profile:
    """The result of tuning for one target, draft, method and machine.

    Attributes:
        settings: target, its fingerprint, draft (as given, and by name), method, order, sampling settings, data type,
            device, seed, machine and versions.
        tree: the chosen tree, as text for the option `--tree`; None if tuning was interrupted before one was chosen.
        forecast: what to expect of the tree; None without one.
        costs: seconds of every part of a round; None if they were not measured.
        details: acceptance probabilities, candidates, plain decoding, and the check of the forecast.
    """

    settings: Mapping[str, Any]
    tree: str | None = None
    forecast: Forecast | None = None
    costs: Costs | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def policy(self) -> TreePolicy:
        """The chosen tree as a policy, e.g. for `generate(tree=...)`.

        Raises:
            ValueError: tuning was interrupted before a tree was chosen.
        """
        if self.tree is None:
            raise ValueError("tuning was interrupted before a tree was chosen: run 'univer tune' again")
        return parse_tree(self.tree)

    def speed(self, prompt_tokens: int, new_tokens: int) -> float | None:
        """Return the expected tokens per second of a text, prefill included; None without a forecast.

        Args:
            prompt_tokens: number of tokens of the prompt.
            new_tokens: number of new tokens, at least 1.
        """
        if self.forecast is None or self.costs is None:
            return None
        return self.forecast.speed(self.costs, new_tokens, [prompt_tokens])

    def check(self, target: Any, draft_name: str, method: str | None = None) -> None:
        """Check that the profile was made for this target, draft and method.

        Args:
            target: the target model.
            draft_name: name of the draft.
            method: name of the method; None if several are compared.

        Raises:
            ValueError: it was not; the message names both.
        """
        settings = self.settings
        advice = "use the same one, or run 'univer tune' for this one"
        if (given := fingerprint(target)) != settings["fingerprint"]:
            raise ValueError(
                f"the profile was made for the target {settings['target']} (fingerprint {settings['fingerprint']}), "
                f"not for {model_name(target)} ({given}): {advice}"
            )
        if draft_name != settings["draft_name"]:
            raise ValueError(f"the profile was made for the draft {settings['draft_name']}, not {draft_name}: {advice}")
        if method is not None and method != settings["method"]:
            raise ValueError(f"the profile was made for the method {settings['method']}, not {method}: {advice}")

    def differences(self, target: Any, sampling: Mapping[str, Any]) -> list[str]:
        """List conditions that differ from those of the profile and may change the speed; the text stays exact.

        Args:
            target: the target model.
            sampling: sampling settings of the request by name.

        Returns:
            A phrase per difference.
        """
        here = machine()
        then = {**self.settings["machine"], **self.settings}
        now = {name: here[name] for name in ("processor", "threads", "accelerator")}
        now |= {"dtype": dtype_name(target), "device": target.device.type, **sampling}
        return [f"{name} {value} instead of {then[name]}" for name, value in now.items() if then.get(name) != value]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, text and lists for JSON."""
        return {"format": FORMAT, **asdict(self)}

    def save(self, path: Path) -> bool:
        """Write the profile to a file, atomically; its folder is made.

        A profile without a tree, of an interrupted run, does not replace one with a tree.

        Returns:
            Whether the file was written.
        """
        if self.tree is None and is_profile(path, with_tree=True):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, self.to_dict())
        return True


def load_profile(path: str | Path) -> Profile:
    """Read a profile.

    Args:
        path: file that `univer tune` wrote.

    Raises:
        ValueError: the file is not a profile, or one of another version.
        OSError: it cannot be read.
    """
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"), object_hook=_with_tuples)
        if (given := table.pop("format")) != FORMAT:
            raise ValueError(f"format {given!r}, this version reads {FORMAT!r}")
        forecast, costs = table.pop("forecast"), table.pop("costs")
        parts: dict[str, Any] = {
            name: Curve(**part) if isinstance(part, dict) else part for name, part in (costs or {}).items()
        }
        return Profile(
            forecast=Forecast(**forecast) if forecast else None, costs=Costs(**parts) if parts else None, **table
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a profile that this 'univer tune' wrote ({error}): run it again") from error


def _with_tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}


def is_profile(path: Path, *, with_tree: bool = False) -> bool:
    """Whether `univer tune`, of any version, wrote a file.

    Args:
        path: the file; it need not exist.
        with_tree: whether only a profile with a chosen tree counts.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    written = isinstance(table, dict) and str(table.get("format", "")).startswith(NAME)
    return written and not (with_tree and table.get("tree") is None)


def dtype_name(target: Any) -> str:
    """Return the name of the data type of a target's weights."""
    return str(target.dtype).removeprefix("torch.")
