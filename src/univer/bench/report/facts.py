"""What a run was made with, as pairs of a term and what it says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from univer.bench.folder import MANIFEST
from univer.bench.report.runs import Run

Facts = list[tuple[str, str]]
LONGEST = 300


def facts(run: Run) -> list[tuple[str, Facts]]:
    """The manifest in parts: the run, its settings, the machine, versions.

    Args:
        run: the run. Its manifest may lack any part.
    """
    manifest = run.manifest
    machine = dict(manifest.get("machine") or {})
    versions = machine.pop("versions", None) or {}
    settings = dict(manifest.get("settings") or {})
    about = {
        "kind": manifest.get("kind"),
        "started": _time(manifest.get("started")),
        "commit": _commit(manifest.get("commit")),
        "workers": _places(manifest.get("workers")),
        "continued": _continued(manifest.get("continued")),
        "seed": settings.pop("seed", "not known"),
        "cases" if run.audit else "prompts": run.prompts,
        "records": len(run.records),
        "state": "finished" if run.finished else f"under way or stopped: {run.so_far}",
    }
    errors = [row["error"] for row in run.overall if row.get("error") is not None]
    if errors and max(errors) > 0:
        about["error of τ"] = f"at most {max(errors):.1e}, from what traces leave out"
    if isinstance(versions, dict):
        versions = {"python": machine.pop("python", None), **versions}
    for name in [name for name, value in settings.items() if isinstance(value, dict)]:
        settings |= {f"{name}: {inner}": value for inner, value in settings.pop(name).items()}
    parts = [("Run", about), ("Settings", settings), ("Machine", machine), ("Versions", versions)]
    return [(name, _pairs(part)) for name, part in parts if part]


def _pairs(part: dict[str, Any]) -> Facts:
    return [(name.replace("_", " "), _said(value)) for name, value in part.items() if value is not None]


def _time(started: Any) -> Any:
    """A moment to the minute, in universal time; what is none as it is."""
    try:
        return f"{datetime.fromisoformat(started).astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except (TypeError, ValueError):
        return started


def _commit(named: Any) -> str:
    """A commit in short; a plus sign at its end stands for changed files."""
    if not isinstance(named, str):
        return "not known"
    return named.rstrip("+")[:12] + (", with changes" if named.endswith("+") else "")


def _continued(times: Any) -> str | None:
    """Where a run went on: on another machine, or with another version."""
    if not isinstance(times, list) or not all(isinstance(entry, dict) for entry in times):
        return None
    said = []
    for entry in times:
        place = ", ".join(filter(None, (_commit(entry.get("commit")), _places([entry.get("machine")]))))
        said.append(f"after {entry.get('records')} records with {place}, {_time(entry.get('started'))}")
    return "; ".join(said) or None


def _places(machines: Any) -> str | None:
    """Machines by what computes on them."""
    if not isinstance(machines, list) or not all(isinstance(own, dict) for own in machines):
        return None
    return "; ".join(str(own.get("accelerator") or own.get("processor")) for own in machines) or None


def _said(value: Any) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and all(isinstance(entry, str | int | float) for entry in value):
        text = ", ".join(map(str, value))
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… (whole in {MANIFEST})"
