"""What a run was made with, as terms and their values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from univer.bench.folder import MANIFEST
from univer.bench.report.runs import Run

Facts = list[tuple[str, str]]
LONGEST = 300


def facts(run: Run) -> list[tuple[str, Facts]]:
    """The manifest of a run in parts: the run, its settings, the machine and the versions.

    Args:
        run: the run; its manifest may lack any part.
    """
    manifest = run.manifest
    machine = dict(manifest.get("machine") or {})
    versions = machine.pop("versions", None) or {}
    settings = dict(manifest.get("settings") or {})
    about = {
        "kind": manifest.get("kind"),
        "started": _time(manifest.get("started")),
        "commit": _commit(manifest.get("commit")),
        "workers": _processors(manifest.get("workers")),
        "continued": _continued(manifest.get("continued")),
        "seed": settings.pop("seed", "not known"),
        "cases" if run.audit else "prompts": run.prompts,
        "records": len(run.records),
        "state": "finished" if run.finished else f"in progress or interrupted: {run.progress}",
    }
    errors = [row["error"] for row in run.overall if row.get("error") is not None]
    if errors and max(errors) > 0:
        about["error of τ"] = f"at most {max(errors):.1e}, from probabilities that the traces do not store"
    if isinstance(versions, dict):
        versions = {"python": machine.pop("python", None), **versions}
    for name in [name for name, value in settings.items() if isinstance(value, dict)]:
        settings |= {f"{name}: {inner}": value for inner, value in settings.pop(name).items()}
    parts = [("Run", about), ("Settings", settings), ("Machine", machine), ("Versions", versions)]
    return [(name, _pairs(part)) for name, part in parts if part]


def _pairs(part: dict[str, Any]) -> Facts:
    return [(name.replace("_", " "), _text(value)) for name, value in part.items() if value is not None]


def _time(started: Any) -> Any:
    """A time to the minute in UTC; anything else as it is."""
    try:
        return f"{datetime.fromisoformat(started).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except (TypeError, ValueError):
        return started


def _commit(commit: Any) -> str:
    """A short commit; the plus sign that a manifest puts behind it means changed files."""
    if not isinstance(commit, str):
        return "not known"
    return commit.rstrip("+")[:12] + (", with changes" if commit.endswith("+") else "")


def _continued(entries: Any) -> str | None:
    """Where a run was resumed on another machine or with another version."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None
    texts = []
    for entry in entries:
        place = ", ".join(filter(None, (_commit(entry.get("commit")), _processors([entry.get("machine")]))))
        texts.append(f"after {entry.get('records')} records with {place}, {_time(entry.get('started'))}")
    return "; ".join(texts) or None


def _processors(machines: Any) -> str | None:
    """The accelerators or processors of machines."""
    if not isinstance(machines, list) or not all(isinstance(machine, dict) for machine in machines):
        return None
    return "; ".join(str(machine.get("accelerator") or machine.get("processor")) for machine in machines) or None


def _text(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
        text = ", ".join(map(str, value))
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… (whole in {MANIFEST})"
