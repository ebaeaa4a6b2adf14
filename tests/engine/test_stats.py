"""What the figures count."""

import json
import time

import pytest
import torch

from engine.fakes import OracleDraft, ScriptedDraft
from engine.families import greedy_reference, near_copy, tiny
from univer.engine import GenerationStats, RoundStats, generate
from univer.engine.stats import PHASES, PhaseClock

PROMPT = [3, 14, 15, 9, 26, 5]


def entry(accepted, cut=False):
    return RoundStats(5, 5, accepted, accepted + 1, None, cut)


def run(draft, **options):
    options = {"temperature": 0, "tree": "chain-4", "eos_token_id": None} | options
    return generate(tiny("llama"), draft, torch.tensor([PROMPT]), **options).stats


def test_fault_33_tau_counts_tokens_that_a_round_commits():
    stats = GenerationStats("univer", "scripted", "chain-4", 4, new_tokens=9, target_passes=4)
    stats.rounds = [entry(3), entry(0), entry(2)]
    assert stats.tau == pytest.approx(8 / 3)
    assert stats.tokens_per_pass == 9 / 4
    stats.rounds.append(entry(1, cut=True))
    assert stats.tau == pytest.approx(8 / 3)


def test_fault_33_tau_of_a_scripted_run():
    text = greedy_reference(tiny("llama"), PROMPT, 30)
    stats = run(OracleDraft(text, [3, 0, 2]), max_new_tokens=15)
    assert [(e.accepted, e.cut) for e in stats.rounds[:3]] == [(3, False), (0, False), (2, False)]
    whole = [e.accepted + 1 for e in stats.rounds if not e.cut]
    assert stats.tau == sum(whole) / len(whole)
    assert stats.rounds[-1].cut


def test_fault_31_only_the_kept_path_counts_as_accepted():
    text = greedy_reference(tiny("llama"), PROMPT, 6)
    a, _, c, d = text[len(PROMPT) + 1 : len(PROMPT) + 5]
    wrong = next(token for token in range(20) if token != text[len(PROMPT) + 2])
    # Right, wrong, right, right: nothing below the wrong token counts, nor does a second branch.
    draft = ScriptedDraft([[(0, a), (1, wrong), (2, c), (3, d), (0, wrong)]])
    stats = run(draft, max_new_tokens=6, tree="2x4")
    assert stats.rounds[0] == RoundStats(5, 3, 1, 2, None, False)


def test_fault_34_rounds_without_a_draft_are_rounds():
    stats = run(ScriptedDraft([[], [(0, 1)], []]), max_new_tokens=8)
    assert [e.drafted for e in stats.rounds[:3]] == [0, 1, 0]
    assert all(e.emitted == 1 for e in stats.rounds if e.drafted == 0)
    assert stats.target_passes == len(stats.rounds) + 1


def test_fault_32_a_tree_smaller_than_the_plan_counts_as_it_is():
    stats = run(ScriptedDraft([[(0, 1), (0, 4), (1, 5)]]), max_new_tokens=8, tree="2x3")
    assert stats.rounds[0].drafted == 3


def test_every_token_is_accounted_for():
    stats = run(near_copy("llama"), max_new_tokens=30, temperature=1, seed=2, tree="2x3")
    assert sum(e.emitted for e in stats.rounds) + 1 == stats.new_tokens == 30
    assert sum(e.accepted for e in stats.rounds) == stats.accepted
    assert all(e.accepted <= e.tested <= e.drafted for e in stats.rounds)
    assert stats.target_passes == len(stats.rounds) + 1
    assert stats.draft_passes >= len(stats.rounds) - 1
    assert all(stats.seconds[phase] > 0 for phase in PHASES)
    assert stats.tokens_per_second == pytest.approx(30 / sum(stats.seconds.values()))


def test_figures_go_to_json():
    figures = json.loads(json.dumps(run("lookup", max_new_tokens=6).to_dict()))
    assert figures["draft"] == "lookup"
    assert figures["tree"] == "chain-4"
    assert figures["stopped_by"] == "length"
    assert figures["rounds"][0].keys() == {"drafted", "tested", "accepted", "emitted", "stopped_by", "cut"}
    assert figures["seconds"].keys() == set(PHASES)
    assert figures["tokens_per_pass"] >= 1


def test_a_clock_charges_only_what_passed_inside():
    seconds = dict.fromkeys(PHASES, 0.0)
    clock = PhaseClock(seconds, torch.device("cpu"))
    time.sleep(0.02)
    clock.start()
    clock.charge("draft")
    time.sleep(0.01)
    clock.charge("target")
    assert seconds["draft"] < 0.01 <= seconds["target"]


def test_a_text_without_room_for_a_token_has_ended_by_its_length():
    assert generate(tiny("llama"), "lookup", torch.tensor([[5, 7]]), max_new_tokens=0).stats.stopped_by == "length"
