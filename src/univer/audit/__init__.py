"""The audit: is a verification rule lossless, and how far from the best possible?

>>> from univer.audit import audit
>>> audit(["block"], cases=2, quick=True).rows[0].faults
[]
"""

from univer.audit.against import audit_against, load_function
from univer.audit.report import Relation, Report, Row, Skipped, TwinRow
from univer.audit.run import audit

__all__ = ["Relation", "Report", "Row", "Skipped", "TwinRow", "audit", "audit_against", "load_function"]
