"""The audit: is a verification method lossless, and how far is it from the best possible?

>>> from univer.audit import audit
>>> audit(["block"], cases=2, quick=True).rows[0].faults
[]
"""

from univer.audit.external import audit_function, load_function
from univer.audit.report import Relation, Report, Row, Skipped, TwinRow
from univer.audit.run import audit

__all__ = ["Relation", "Report", "Row", "Skipped", "TwinRow", "audit", "audit_function", "load_function"]
