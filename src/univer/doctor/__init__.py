"""Checks a target and a draft before they are used together, and tells floating-point ties from logic errors.

from univer.doctor import examine

print(examine(target, draft, tokenizer=tokenizer))
"""

from univer.doctor.examine import examine
from univer.doctor.identity import Difference, Identity
from univer.doctor.report import Finding, Report

__all__ = ["Difference", "Finding", "Identity", "Report", "examine"]
