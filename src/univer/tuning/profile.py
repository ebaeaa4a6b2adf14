"""The result of tuning as a small file that other commands accept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from univer.drafting.eagle.shipped import fingerprint
from univer.drafting.growth import TreePolicy
from univer.drafting.growth.parse import parse_tree
from univer.files import write_json
from univer.models.catalogue import model_name
from univer.models.machine import machine
from univer.tuning.costs import Costs
from univer.tuning.forecast import Forecast

FORMAT = "univer tune 1"


@dataclass(frozen=True)
class Profile:
    """What was found for one target with one draft and one method on one machine.

    Attributes:
        settings: target, its fingerprint, draft (as given, and by name), method, order, sampling settings, data type,
            device, seed, machine and versions.
        tree: the chosen tree, as `--tree` takes it; None if tuning ended before one was chosen.
        forecast: what to expect of it; None likewise.
        costs: seconds of every part of a round; None if they were not measured.
        details: tables for people: chances of acceptance, candidates, plain decoding, the check.
    """

    settings: Mapping[str, Any]
    tree: str | None = None
    forecast: Forecast | None = None
    costs: Costs | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def policy(self) -> TreePolicy:
        """How trees grow; what `generate(tree=...)` takes.

        Raises:
            ValueError: tuning ended before a tree was chosen.
        """
        if self.tree is None:
            raise ValueError("tuning was interrupted before a tree was chosen: run 'univer tune' again")
        return parse_tree(self.tree)

    def speed(self, prompt_tokens: int, new_tokens: int) -> float | None:
        """Expected tokens per second of a text, its prompt included; None without a forecast.

        Args:
            prompt_tokens: tokens of the prompt.
            new_tokens: tokens of the text, at least 1.
        """
        if self.forecast is None or self.costs is None:
            return None
        return self.forecast.speed(self.costs, new_tokens, [prompt_tokens])

    def check(self, target: Any, draft_name: str, method: str | None = None) -> None:
        """Refuse what the profile was not made for.

        Args:
            target: the target model.
            draft_name: name of the draft.
            method: name of the method; None where several are compared.

        Raises:
            ValueError: with what the profile is for and what was given.
        """
        settings = self.settings
        advice = "name the same, or run 'univer tune' for this one"
        if (own := fingerprint(target)) != settings["fingerprint"]:
            raise ValueError(
                f"the profile was made for the target {settings['target']} (fingerprint {settings['fingerprint']}), "
                f"not for {model_name(target)} ({own}): {advice}"
            )
        if draft_name != settings["draft_name"]:
            raise ValueError(f"the profile was made for the draft {settings['draft_name']}, not {draft_name}: {advice}")
        if method is not None and method != settings["method"]:
            raise ValueError(f"the profile was made for the method {settings['method']}, not {method}: {advice}")

    def differences(self, target: Any, sampling: Mapping[str, Any]) -> list[str]:
        """What differs from the conditions of the profile without making it wrong: the text stays exact.

        Args:
            target: the target model.
            sampling: settings of the request by name.

        Returns:
            A phrase for each difference.
        """
        here = machine()
        then = {**self.settings["machine"], **self.settings}
        now = {name: here[name] for name in ("processor", "threads", "accelerator")}
        now |= {"dtype": dtype_name(target), "device": target.device.type, **sampling}
        return [f"{name} {value} instead of {then[name]}" for name, value in now.items() if then.get(name) != value]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, text and lists for JSON."""
        return {
            "format": FORMAT,
            "settings": dict(self.settings),
            "tree": self.tree,
            "forecast": self.forecast.to_dict() if self.forecast else None,
            "costs": self.costs.to_dict() if self.costs else None,
            "details": dict(self.details),
        }

    def save(self, path: Path) -> None:
        """Write the profile to a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, self.to_dict())


def load_profile(path: str | Path) -> Profile:
    """Read a profile.

    Args:
        path: file that `univer tune` wrote.

    Raises:
        ValueError: the file is no profile.
        OSError: it cannot be read.
    """
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"))
        if table["format"] != FORMAT:
            raise ValueError(f"format {table['format']!r}, this version reads {FORMAT!r}")
        forecast, costs = table["forecast"], table["costs"]
        return Profile(
            table["settings"],
            table["tree"],
            Forecast.from_dict(forecast) if forecast else None,
            Costs.from_dict(costs) if costs else None,
            table["details"],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no profile of 'univer tune' ({error}): run it again") from error


def dtype_name(target: Any) -> str:
    """Data type of a target's weights."""
    return str(target.dtype).removeprefix("torch.")
