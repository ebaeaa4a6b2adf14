"""Bounds on what merging rare tokens can do to the acceptance length, by interval arithmetic; see docs/traces.md."""

from univer.bench.bounds.couplings import tau_range
from univer.bench.bounds.enclosure import BUCKET
from univer.bench.bounds.known import enclosure_of

__all__ = ["BUCKET", "enclosure_of", "tau_range"]
