"""The public calls of the engine."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from univer.engine.loop import Generation, GenerationResult
from univer.engine.options import split_settings, with_request_signature


@with_request_signature
def generate(target: Any, draft: Any, input_ids: Tensor, **options: Any) -> GenerationResult:
    """Generate text with a draft and a lossless verification method.

    The text has the law of sampling from the target alone with the same settings. At temperature 0 it is the target's
    greedy text, token for token in float32; in lower precision a pass over several tokens rounds differently from one
    over a single token, so that near ties may fall differently. A seed does not give the text of plain sampling.

    The sampling settings are those of the arguments: temperature, top-k, top-p and min-p of the target's
    `generation_config` are not read. Every other setting of that configuration holds as in transformers where it is
    one of those listed under `settings`; others that would change the text, such as `num_beams`, are refused by name.
    Pass a neutral value (`repetition_penalty=1.0`) to go without.

    Args:
        target: a causal language model of transformers with attention layers only.
        draft: another causal language model with the same token ids (its size, device and dtype are free); a draft
            object; `"eagle=DIRECTORY"` for an EAGLE head; `"first=8"` for the target's first 8 layers; `"skip=16-18"`
            for the target without these layers; `"lookup"` or `"automaton"` for guesses from the text itself, alone or
            beside one of the others as in `"skip=16-18+lookup"`; None for plain decoding.
        input_ids: the prompts `[b, L]`, int64, or a list of lists of ids.
        options: the fields of `univer.engine.options.Options`, each of which is explained below.

    Keyword Args:
        method: a name of `univer.methods()` or a `Method`.
        tree: `"2x5"`, `"3x3"`, `"chain-5"`, `"eagle"`, a parent list, a list of choices, or a `Shape`; or a policy of
            growing trees: `"grow"`, `"eagle2"`, `"opt"`, with parameters as in `"grow:nodes=48,depth=6"`, or an object;
            by default `"chain-5"` for chain methods, for others what an EAGLE head suggests, else `"2x5"`.
        order: in which siblings are tested; the method's own by default.
        temperature: 0 for greedy decoding.
        top_k: keep the `top_k` most likely tokens; None keeps all.
        top_p: keep the most likely tokens up to this mass; None keeps all.
        min_p: keep tokens of at least this fraction of the largest probability; None keeps all.
        max_new_tokens: exact limit of new tokens; without it and `max_length` that of the configuration, else 128.
        max_length: exact limit of all tokens, prompt included.
        eos_token_id: one or several ids that end the text; by default those of `generation_config`, None for none.
        attention_mask: `[b, L]`, a tensor or lists; padding on the left or right is stripped, gaps inside a prompt are
            refused.
        seed: makes the run reproducible, whatever torch's global state; at least 0 and below 2**64. One for each
            prompt, or a single one, which is that of the first prompt and that the others are made from.
        generator: a CPU generator in place of a seed, for one prompt; it gives one number, which the streams of the
            draft and of verification are derived from. A pair of `Streams` is used as it is.
        streamer: a streamer of transformers; gets the prompt and then every committed token once, in order.
        draft_temperature: temperature of the draft's laws; the target's by default. At temperature 0 it only ranks.
        draft_sampling: all settings of the draft's laws, in place of `draft_temperature`.
        tokenizer: the target's tokenizer, which stop strings need; with both given they are compared, and different
            ones refused.
        draft_tokenizer: the draft's tokenizer.
        generation_config: in place of the target's.
        logits_processor: processors of the caller, `(input_ids [n, L], scores [n, V]) -> scores`, applied after those
            that settings name and before temperature and filters. They are asked about many nodes of a tree at once, in
            any order, so each row of the answer must depend on its own ids and scores alone; one that is found to keep
            a state is refused. See `univer.engine.grammar.Grammar` for one that follows a grammar.
        stopping_criteria: criteria of the caller, `(input_ids [1, L], scores) -> bool`, asked once after every new
            token in order; `scores` is None without `output_scores`.
        logprobs: keep the log-probabilities of every new token; a number keeps as many of the likeliest beside it,
            all where the vocabulary has fewer.
        output_scores: keep the row `[V]` of every new token after processors, temperature and filters.
        output_logits: keep the row `[V]` of every new token before all of them.
        settings: further settings by name, those of transformers' `GenerationConfig`: `repetition_penalty`,
            `no_repeat_ngram_size`, `bad_words_ids`, `sequence_bias` (a bias on logits), `min_length`, `min_new_tokens`,
            `forced_bos_token_id`, `forced_eos_token_id`, `suppress_tokens`, `begin_suppress_tokens`,
            `exponential_decay_length_penalty`, `remove_invalid_values`, `stop_strings`, `max_time` (in seconds, looked
            at after every round); `prefix_allowed_tokens_fn` of its `generate`, called with the number of the prompt
            and ids `[L]` for the tokens that may follow them, on branches too, so that what a processor must keep to
            holds for it as well; and `frequency_penalty` and `presence_penalty`, which count new tokens.

    Returns:
        The sequences, prompts included, the figures of the run, and what was kept of the new tokens.

    Raises:
        ValueError: something is not supported or out of range; the message names it.
        TypeError: an unknown setting or an unsuitable object.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> config = LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        ...                      num_attention_heads=2)
        >>> target = LlamaForCausalLM(config).eval()
        >>> result = generate(target, "first=1", [[5, 7]], tree="2x2", max_new_tokens=8, seed=0,
        ...                   eos_token_id=None)
        >>> result.sequences.shape, result.stats.new_tokens
        (torch.Size([1, 10]), 8)

    References:
        Weng, Hu, Yairi, "UniVer", arXiv 2605.04543.
    """
    return generate_rounds(target, draft, input_ids, **options).run()


def generate_rounds(target: Any, draft: Any, input_ids: Tensor, **options: Any) -> Generation:
    """Generate step by step: an iterator over what each target pass commits.

    Args:
        target: as for `generate`.
        draft: as for `generate`.
        input_ids: as for `generate`.
        options: as for `generate`.

    Returns:
        An iterator of `Step` (new tokens, and which of them were drafted); its `result` and `stats` can be read at any
        time.

    Raises:
        ValueError: as `generate`, before the first step.
    """
    return Generation(target, draft, input_ids, *split_settings(options))


def plain(target: Any, input_ids: Tensor, **options: Any) -> GenerationResult:
    """Generate one token per target pass: the baseline, in the same engine with the same laws and figures.

    Args:
        target: as for `generate`.
        input_ids: as for `generate`.
        options: as for `generate`; those of the draft have no effect.

    Returns:
        As `generate`.

    Raises:
        ValueError: as `generate`.
    """
    return generate_rounds(target, None, input_ids, **options).run()
