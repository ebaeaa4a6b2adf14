"""The rules whose answers can be bounded."""

from __future__ import annotations

from univer.bench.bounds.enclosure import Enclosure
from univer.bench.bounds.kseq import KSeqEnclosure
from univer.bench.bounds.membership import MembershipEnclosure
from univer.bench.bounds.recursion import RecursionEnclosure
from univer.couplings import Lifted, Stepwise
from univer.methods import Method
from univer.rules import (
    GreedyTransport,
    KSeq,
    MaximalCoupling,
    Membership,
    MixedRejection,
    RecursiveRejection,
    RecursiveRejectionWithoutReplacement,
)

ENCLOSURES: dict[type, Enclosure] = {
    MaximalCoupling: RecursionEnclosure(),
    RecursiveRejection: RecursionEnclosure(replacement=True),
    RecursiveRejectionWithoutReplacement: RecursionEnclosure(),
    GreedyTransport: RecursionEnclosure(),
    MixedRejection: RecursionEnclosure(),
    KSeq: KSeqEnclosure(),
    Membership: MembershipEnclosure(),
}


def enclosure_of(method: Method) -> Enclosure:
    """The enclosure of a method's rule.

    Raises:
        ValueError: none is known for the rule or the coupling. The rule may not even mean the same when tokens are
            merged, as the linear programme over all sets of children does not.
    """
    enclosure = ENCLOSURES.get(type(method.rule))
    if enclosure is None or type(method.coupling) not in (Lifted, Stepwise):
        raise ValueError(
            f"no error bound is known for the method {method.name!r} on rows that lack rare tokens: it needs exact "
            "rows, which a trace has under --top-k or with --tail 0"
        )
    return enclosure
