"""The findings of the doctor."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from univer.doctor.identity import Identity

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        name: what was checked.
        level: `"ok"`, `"warning"` (works, but worth knowing) or `"error"` (does not work).
        message: what was found.
        advice: what to do; empty if there is nothing to do.
    """

    name: str
    level: Level
    message: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.level:<7}  {self.name}: {self.message}" + (f"; {self.advice}" if self.advice else "")


@dataclass(frozen=True)
class Report:
    """All findings about a target and a draft.

    Attributes:
        findings: in the order of the checks.
        identities: the comparisons of texts, in the order in which they were run.

    Example:
        >>> report = Report([Finding("cache", "error", "it is static", "use a dynamic one")])
        >>> report.sound
        False
        >>> print(report)
        error    cache: it is static; use a dynamic one
    """

    findings: list[Finding]
    identities: list[Identity] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether there is no error."""
        return all(finding.level != "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain numbers, text and lists."""
        return {
            "sound": self.sound,
            "findings": [asdict(finding) for finding in self.findings],
            "identities": [identity.to_dict() for identity in self.identities],
        }

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))
