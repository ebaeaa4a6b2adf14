"""What a draft proposes is checked against the text before the target reads it."""

from collections.abc import Sequence

import pytest
import torch

from engine.fakes import ScriptedDraft
from engine.families import tiny
from univer import DraftTree
from univer.drafting.growth import Growth
from univer.engine import generate

PROMPT = torch.tensor([[3, 14, 15]])


class _Proposing(ScriptedDraft):
    """Proposes one token below the text whatever it is, or an object that is no tree."""

    def __init__(self, proposal: object) -> None:
        super().__init__([])
        self.proposal = proposal

    def start(self, request: object) -> "_Proposing":
        return self

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree:
        if not isinstance(self.proposal, int):
            return self.proposal  # type: ignore[return-value]
        return DraftTree([committed[-1], self.proposal], [-1, 0], ["root", "fixed"], None, "fixed")


class _Elsewhere(ScriptedDraft):
    """Proposes a tree below another token than the text's last."""

    def propose(self, committed: Sequence[int], growth: Growth) -> DraftTree:
        return DraftTree([committed[-1] + 1, 5], [-1, 0], ["root", "fixed"], None, "fixed")


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (_Proposing("abc"), "'scripted' proposed a str, not a DraftTree"),
        (_Proposing(10**6), "'scripted' proposed token 1000000, outside the target's vocabulary"),
        (_Elsewhere([]), "'scripted' proposed a tree below token .* the text ends with"),
    ],
)
def test_a_proposal_that_does_not_fit_the_text_is_refused(draft: ScriptedDraft, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate(tiny("llama"), draft, PROMPT, tree="chain-2", max_new_tokens=6, temperature=0)
