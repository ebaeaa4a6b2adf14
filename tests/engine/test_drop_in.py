"""`model.generate(..., custom_generate=univer.hf(...))` beside `model.generate(...)`."""

import pytest
import torch
from transformers import (
    DynamicCache,
    EosTokenCriteria,
    LogitsProcessor,
    LogitsProcessorList,
    MaxLengthCriteria,
    StaticCache,
    StoppingCriteriaList,
)

import univer
from engine.families import FAMILIES, near_copy, tiny
from univer.runtime.batch import cache_argument

PROMPT = torch.tensor([[3, 14, 15, 9, 26, 5]])
PADDED = torch.tensor([[0, 0, 0, 3, 14, 15], [7, 8, 9, 10, 11, 12], [0, 0, 0, 0, 0, 21]])
MASK = (PADDED > 0).long()


def with_cache(target, cache):
    """The cache by the name that this transformers gives it."""
    return {cache_argument(target): cache}


def both(family, *args, draft="model", tree="2x3", **options):
    """What transformers gives without and with the drop-in."""
    target = tiny(family)
    draft = near_copy(family, 0.2) if draft == "model" else draft
    options = {"do_sample": False, "max_new_tokens": 15, "eos_token_id": None, "pad_token_id": 0} | options
    plain = target.generate(*args, **options)
    return plain, target.generate(*args, custom_generate=univer.hf(draft, tree=tree), **options)


@pytest.mark.parametrize("draft", ["model", "lookup"])
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_texts_are_the_same(family, draft):
    plain, ours = both(family, PROMPT, draft=draft)
    assert torch.equal(plain, ours)


@pytest.mark.parametrize("family", ["llama", "gpt2", "mistral", "gemma3"])
def test_fault_18_padded_batches_with_texts_that_end_early(family):
    plain, _ = both(family, PADDED, attention_mask=MASK)
    eos = [int(plain[0, 8]), int(plain[1, 12])]
    plain, ours = both(family, PADDED, attention_mask=MASK, eos_token_id=eos)
    assert torch.equal(plain, ours)


@pytest.mark.parametrize(
    "settings",
    [
        {"repetition_penalty": 1.7},
        {"no_repeat_ngram_size": 2},
        {"min_new_tokens": 6, "eos_token_id": [9, 11, 14, 20, 30, 40]},
        {"bad_words_ids": [[7], [9, 14]]},
        {"forced_eos_token_id": 5},
        {"max_length": 11, "max_new_tokens": None},
    ],
    ids=str,
)
def test_fault_26_settings_and_their_processors(settings):
    for family in ("llama", "gpt2"):
        plain, ours = both(family, PROMPT, **settings)
        assert torch.equal(plain, ours)
    plain, ours = both("llama", PADDED, attention_mask=MASK, **settings)
    if "repetition_penalty" in settings or "max_length" in settings or "min_new_tokens" in settings:
        assert torch.equal(plain, ours)


def test_fault_26_processors_and_criteria_of_the_caller():
    class OnlyEven(LogitsProcessor):
        def __call__(self, input_ids, scores):
            banned = torch.arange(scores.shape[-1]) % 2 == input_ids.shape[-1] % 2
            return scores.masked_fill(banned, float("-inf"))

    def long_enough(input_ids, scores, **_):
        return torch.full((len(input_ids),), input_ids.shape[-1] >= 13)

    plain, ours = both(
        "llama",
        PADDED,
        attention_mask=MASK,
        logits_processor=LogitsProcessorList([OnlyEven()]),
        stopping_criteria=StoppingCriteriaList([long_enough]),
    )
    assert plain.shape[1] == 13
    assert torch.equal(plain, ours)


def near_the_last(batch, ids):
    """Tokens near the last one, more of them in later texts; padding counts as it does in transformers."""
    return [token for token in range(1, 61) if abs(token - int(ids[-1])) <= 9 + batch or token == len(ids)]


@pytest.mark.parametrize("draft", ["model", "lookup"])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_fault_26_allowed_tokens_of_a_prefix(family, draft):
    free, _ = both(family, PADDED, attention_mask=MASK)
    options = {"attention_mask": MASK, "prefix_allowed_tokens_fn": near_the_last, "draft": draft}
    plain, ours = both(family, PADDED, **options)
    assert not torch.equal(plain, free)
    assert torch.equal(plain, ours)
    plain, ours = both(family, PADDED, repetition_penalty=1.4, forced_eos_token_id=5, **options)
    assert torch.equal(plain, ours)


def test_fault_26_allowed_tokens_of_several_texts_below_one_prompt():
    told = set()

    def allowed(batch, ids):
        told.add(batch)
        return [int(ids[-1]) % 60 + 1, len(ids)]

    allowed.depends_on_ids_alone = True
    options = {"do_sample": True, "num_return_sequences": 2, "max_new_tokens": 8, "eos_token_id": None}
    options["prefix_allowed_tokens_fn"] = allowed
    target, prompts = tiny("llama"), torch.tensor([[3, 14], [15, 9]])
    target.generate(prompts, **options)
    by_transformers, told = told, set()
    texts = target.generate(prompts, custom_generate=univer.hf(near_copy("llama", 0.2), seed=0), **options)
    assert told == by_transformers
    for text in texts.tolist():
        assert all(text[place] in (text[place - 1] % 60 + 1, place) for place in range(2, len(text)))


@pytest.mark.parametrize("settings", [{}, {"temperature": 0.6, "top_k": 9}, {"top_p": 0.8}], ids=str)
def test_sampling_is_reproducible_by_its_own_seed_and_stays_inside_the_filters(settings):
    target, draft = tiny("llama"), near_copy("llama", 0.2)
    call = {"do_sample": True, "max_new_tokens": 15, "eos_token_id": None, "num_return_sequences": 3} | settings
    first, again, other = (
        target.generate(PROMPT, custom_generate=univer.hf(draft, tree="2x3", seed=seed), **call) for seed in (4, 4, 5)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(row) for row in first.tolist()}) == 3
    if "top_k" in settings:
        with torch.no_grad():
            logits = target(first[:, :-1]).logits[:, PROMPT.shape[1] - 1 :]
        ranks = (logits > logits.gather(-1, first[:, PROMPT.shape[1] :, None])).sum(-1)
        assert int(ranks.max()) < 9


def test_output_objects():
    wanted = {"return_dict_in_generate": True, "output_scores": True, "output_logits": True}
    plain, ours = both("llama", PROMPT, repetition_penalty=1.3, **wanted)
    assert torch.equal(plain.sequences, ours.sequences)
    assert len(plain.scores) == len(ours.scores) == 15
    for name in ("scores", "logits"):
        for expected, row in zip(getattr(plain, name), getattr(ours, name), strict=True):
            torch.testing.assert_close(row, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", ["llama", "gpt2", "mistral", "gemma3"])
def test_fault_19_a_cache_goes_in_and_out(family):
    target, draft = tiny(family), near_copy(family, 0.2)
    options = {"do_sample": False, "pad_token_id": 0, "max_new_tokens": 7}
    drop_in = univer.hf(draft, tree="2x3")
    eos = int(target.generate(PROMPT, eos_token_id=None, **options)[0, -2])
    cache = DynamicCache()
    first = target.generate(PROMPT, **with_cache(target, cache), custom_generate=drop_in, eos_token_id=eos, **options)
    assert int(first[0, -1]) == eos
    assert cache.get_seq_length() == first.shape[1] - 1
    turn = torch.cat([first, torch.tensor([[17, 18, 19]])], -1)
    # transformers takes the padding token for padding wherever it stands, unless there is a mask.
    options |= {"eos_token_id": None, "attention_mask": torch.ones_like(turn)}
    second = target.generate(turn, **with_cache(target, cache), custom_generate=drop_in, **options)
    assert torch.equal(second, target.generate(turn, **options))
    assert cache.get_seq_length() == second.shape[1] - 1
    fresh = DynamicCache()
    target.generate(turn, **with_cache(target, fresh), **options)
    for ours, expected in zip(cache.layers, fresh.layers, strict=True):
        torch.testing.assert_close(ours.keys, expected.keys, atol=1e-5, rtol=0)
        torch.testing.assert_close(ours.values, expected.values, atol=1e-5, rtol=0)


def test_fault_36_a_streamer_gets_the_prompt_and_every_token_once():
    class Collecting:
        def __init__(self):
            self.values, self.ends = [], 0

        def put(self, value):
            self.values += value.flatten().tolist()

        def end(self):
            self.ends += 1

    streams = [Collecting(), Collecting()]
    target = tiny("llama")
    options = {"do_sample": False, "max_new_tokens": 9, "eos_token_id": None}
    target.generate(PROMPT, streamer=streams[0], **options)
    target.generate(PROMPT, streamer=streams[1], custom_generate=univer.hf("lookup"), **options)
    assert streams[0].values == streams[1].values
    assert streams[0].ends == streams[1].ends == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_beams": 2}, "num_beams=2"),
        ({"output_attentions": True, "return_dict_in_generate": True}, "output_attentions"),
        ({"guidance_scale": 1.5}, "UnbatchedClassifierFreeGuidance"),
        ({"bad_words_ids": [[3], [4, 61]]}, "bad_words_ids holds 61, which is outside the target's vocabulary"),
        ({"sequence_bias": [[[3, 9999], 2.0]]}, "sequence_bias holds 9999"),
        ({"cache_implementation": "static"}, "cache_implementation='static'"),
        ({"position_ids": torch.tensor([[4, 5, 6, 7, 8, 9]])}, "position_ids"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_would_be_dropped_is_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        tiny("llama").generate(PROMPT, custom_generate=univer.hf("lookup"), max_new_tokens=4, **settings)


def test_fault_15_caches_of_other_kinds_are_refused():
    target = tiny("llama")
    static = StaticCache(config=target.config, max_cache_len=32)
    with pytest.raises(ValueError, match="StaticLayer is not supported"):
        target.generate(PROMPT, **with_cache(target, static), custom_generate=univer.hf("lookup"), max_new_tokens=4)


def test_options_of_transformers_are_sent_there():
    with pytest.raises(TypeError, match="no option 'temperature': pass it to model"):
        univer.hf("lookup", temperature=0.5)
    with pytest.raises(TypeError, match="no option 'trees': use method"):
        univer.hf("lookup", trees="2x3")


def test_fault_38_nothing_of_the_model_changes():
    target = tiny("llama")
    before = target.generation_config.to_dict(), target.config.to_dict()
    both("llama", PROMPT, repetition_penalty=1.2)
    assert (target.generation_config.to_dict(), target.config.to_dict()) == before


@pytest.mark.parametrize(("gap", "more"), [(1, 3), (2, 3), (4, 10), (4, 2)])
def test_fault_19_a_cache_of_a_padded_prompt_goes_on(gap, more):
    target, drop_in = tiny("llama"), univer.hf("lookup", tree="2x3")
    options = {"do_sample": False, "eos_token_id": None, "max_new_tokens": 6}
    texts = []
    for decoding in ({}, {"custom_generate": drop_in}):
        cache = DynamicCache()
        ids, mask = torch.tensor([[0] * gap + [7, 8]]), torch.tensor([[0] * gap + [1, 1]])
        for turn in range(2):
            call = options | with_cache(target, cache) | decoding
            ids = target.generate(input_ids=ids, attention_mask=mask, **call)
            if not turn:
                ids = torch.cat([ids, torch.arange(9, 9 + more)[None]], -1)
            mask = torch.cat([torch.zeros(1, gap), torch.ones(1, ids.shape[1] - gap)], -1).long()
        texts.append(ids)
    assert torch.equal(*texts)


def test_fault_19_a_cache_that_holds_the_whole_prompt():
    target, cache = tiny("llama"), DynamicCache()
    with torch.no_grad():
        target(PROMPT, **with_cache(target, cache))
    options = {"do_sample": False, "eos_token_id": None, "max_new_tokens": 6}
    ours = target.generate(PROMPT, custom_generate=univer.hf("lookup"), **with_cache(target, cache), **options)
    assert torch.equal(ours, target.generate(PROMPT, **options))
    assert cache.get_seq_length() == ours.shape[1] - 1


def test_without_a_padding_token_shorter_texts_are_filled_with_the_end_of_text():
    plain, _ = both("llama", PADDED, attention_mask=MASK)
    eos = int(plain[0, 8])
    plain, ours = both("llama", PADDED, attention_mask=MASK, eos_token_id=eos, pad_token_id=None)
    assert torch.equal(plain, ours)


def test_options_are_checked_when_it_is_made():
    for options in ({"method": "nope"}, {"tree": "zz"}, {"order": "x"}, {"seed": 1, "generator": torch.Generator()}):
        with pytest.raises(ValueError, match=r"."):
            univer.hf("lookup", **options)


@pytest.mark.parametrize("ids", [[[5, 999]], [[5, -3]]])
def test_ids_outside_the_vocabulary(ids):
    with pytest.raises(ValueError, match="outside the target's vocabulary"):
        tiny("llama").generate(torch.tensor(ids), custom_generate=univer.hf("lookup"), max_new_tokens=3)


def test_an_assistant_is_refused():
    with pytest.raises(ValueError, match="assistant_model"):
        tiny("llama").generate(
            PROMPT, assistant_model=near_copy("llama"), custom_generate=univer.hf("lookup"), max_new_tokens=3
        )


@pytest.mark.parametrize("draft", ["model", "lookup"])
def test_fault_16_length_and_end_criteria_of_the_caller_take_the_place_of_the_defaults(draft):
    free, _ = both("llama", PADDED, attention_mask=MASK)
    eos, other = int(free[0, 8]), int(free[1, 9])

    class Earlier(MaxLengthCriteria):
        def __call__(self, input_ids, scores, **named):
            return super().__call__(input_ids[:, 2:], scores, **named)

    for criteria in (
        [MaxLengthCriteria(9)],
        [MaxLengthCriteria(30)],
        [MaxLengthCriteria(12), MaxLengthCriteria(10)],
        [MaxLengthCriteria(3)],
        [EosTokenCriteria(eos)],
        [EosTokenCriteria([eos]), EosTokenCriteria(other)],
        [EosTokenCriteria(torch.tensor(eos))],
        [Earlier(12)],
    ):
        options = {"attention_mask": MASK, "eos_token_id": other, "draft": draft}
        plain, ours = both("llama", PADDED, stopping_criteria=StoppingCriteriaList(criteria), **options)
        assert torch.equal(plain, ours)


def test_as_many_seeds_as_texts():
    target, options = tiny("llama"), {"do_sample": True, "max_new_tokens": 9, "eos_token_id": None}
    drop_in = univer.hf(near_copy("llama", 0.2), tree="2x3", seed=[1, 2])
    texts = target.generate(PROMPT.repeat(2, 1), custom_generate=drop_in, **options)
    for text, seed in zip(texts, (1, 2), strict=True):
        alone = univer.hf(near_copy("llama", 0.2), tree="2x3", seed=seed)
        assert torch.equal(text, target.generate(PROMPT, custom_generate=alone, **options)[0])
    with pytest.raises(ValueError, match="2 seeds for 1 texts"):
        target.generate(PROMPT, custom_generate=drop_in, **options)


class Noisy(LogitsProcessor):
    def __call__(self, input_ids, scores):
        return scores + torch.rand(())


class Undecided:
    def __call__(self, input_ids, scores, **named):
        return "perhaps"


def undecided(input_ids, scores, **named):
    return "perhaps"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"logits_processor": LogitsProcessorList([Noisy()])}, "the processor Noisy gives another row"),
        ({"stopping_criteria": StoppingCriteriaList([Undecided()])}, "the stopping criterion Undecided answered"),
        ({"stopping_criteria": StoppingCriteriaList([undecided])}, "the stopping criterion undecided answered"),
        ({"prefix_allowed_tokens_fn": lambda batch, ids: [99]}, "prefix_allowed_tokens_fn lists token 99"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_messages_name_what_the_caller_passed_also_beside_padding(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        tiny("llama").generate(
            PADDED, attention_mask=MASK, custom_generate=univer.hf("lookup"), max_new_tokens=4, **options
        )


def ends_at(lengths, width):
    """A criterion that answers for every text by what it begins with."""

    def criterion(input_ids, scores, **_):
        limits = [lengths[int(row[width - 1])] for row in input_ids]
        return torch.tensor([row.shape[0] >= width + limit for row, limit in zip(input_ids, limits, strict=True)])

    return criterion


@pytest.mark.parametrize("lengths", [(2, 9, 4), (9, 3, 1), (3, 3, 3), (30, 2, 5)])
@pytest.mark.parametrize("ends", ["none", "some"])
def test_found_05_finished_texts_without_an_end_of_text_go_on_until_all_are_finished(ends, lengths):
    criterion = ends_at(dict(zip((15, 12, 21), lengths, strict=True)), PADDED.shape[1])
    options = {"attention_mask": MASK, "stopping_criteria": StoppingCriteriaList([criterion]), "pad_token_id": 0}
    options |= {"return_dict_in_generate": True, "output_scores": True, "output_logits": True}
    # An end of the text, even one that never comes, makes transformers fill up what is finished.
    options |= {"eos_token_id": None if ends == "none" else [60]}
    for family in ("llama", "gpt2"):
        target, caches = tiny(family), [DynamicCache(), DynamicCache()]
        plain, ours = both(family, PADDED, **options)
        assert torch.equal(plain.sequences, ours.sequences)
        assert len(plain.scores) == len(ours.scores)
        calls = [{}, {"custom_generate": univer.hf(near_copy(family, 0.2), tree="2x3")}]
        for cache, call in zip(caches, calls, strict=True):
            given = options | call | with_cache(target, cache) | {"do_sample": False, "max_new_tokens": 15}
            target.generate(PADDED, **given)
        assert caches[0].get_seq_length() == caches[1].get_seq_length()
