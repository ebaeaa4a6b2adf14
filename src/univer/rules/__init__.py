"""One-step rules: lossless couplings between the drawn children of one node and one outcome."""

from univer.rules.base import BoundedRule, Coupling, ForesightRule, Rule, Siblings
from univer.rules.greedy import GreedyTransport
from univer.rules.kseq import KSeq
from univer.rules.maximal import MaximalCoupling
from univer.rules.membership import Membership
from univer.rules.mixed import MixedRejection
from univer.rules.optimal import OptimalTransport
from univer.rules.rrs import RecursiveRejection
from univer.rules.rrsw import RecursiveRejectionWithoutReplacement

__all__ = [
    "BoundedRule",
    "Coupling",
    "ForesightRule",
    "GreedyTransport",
    "KSeq",
    "MaximalCoupling",
    "Membership",
    "MixedRejection",
    "OptimalTransport",
    "RecursiveRejection",
    "RecursiveRejectionWithoutReplacement",
    "Rule",
    "Siblings",
]
