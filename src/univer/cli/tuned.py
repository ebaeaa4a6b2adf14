"""What `--tuned FILE` adds to a command: settings that were not given, and notes on what differs."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from univer.tuning import Profile

__all__ = ["Tuned", "note_differences", "with_tuned"]

Tuned = Annotated[
    Path | None,
    typer.Option(
        help="File of 'univer tune': draft, method, tree and sampling settings, where they are not given here."
    ),
]


def with_tuned(path: Path | None, tree: Any, **given: Any) -> tuple["Profile | None", dict[str, Any]]:
    """Complete options by those of a profile.

    Args:
        path: The file, or None.
        tree: Trees that were given; a profile brings its own.
        given: Other options by name; None where not given.

    Returns:
        The profile, and the options.

    Raises:
        ValueError: It is no profile, has no tree, or a tree was given as well.
        OSError: It cannot be read.
    """
    if path is None:
        return None, given
    from univer.tuning.profile import load_profile

    profile = load_profile(path)
    if tree:
        raise ValueError("--tuned brings a tree of its own: give --tree or --tuned, not both")
    # Refused here if tuning ended before a tree was chosen.
    _ = profile.policy
    return profile, {name: value if value is not None else profile.settings.get(name) for name, value in given.items()}


def note_differences(profile: "Profile", path: Path, target: Any, sampling: Mapping[str, Any]) -> None:
    """Say on stderr what differs from the conditions of the profile; the text is exact all the same.

    Args:
        profile: The profile.
        path: Its file.
        target: The target model.
        sampling: Settings of the request by name.
    """
    if differences := profile.differences(target, sampling):
        print(
            f"univer: note: {path} was tuned under other conditions ({'; '.join(differences)}): the speed may differ, "
            "the text stays exact",
            file=sys.stderr,
        )
