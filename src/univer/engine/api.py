"""The public calls of the engine."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from univer.engine.loop import Generation, GenerationResult
from univer.engine.options import split_settings, with_request_signature


@with_request_signature
def generate(target: Any, draft: Any, input_ids: Tensor, **options: Any) -> GenerationResult:
    """Generate text with a draft and a lossless verification method.

    The text has the distribution of sampling from the target alone with the same settings. At temperature 0 it is the
    target's greedy text, token for token in float32; in lower precision a pass over several tokens rounds differently
    from a pass over a single token, so near ties may resolve differently. The same seed does not give the text of plain
    sampling.

    Temperature, top-k, top-p and min-p come from the arguments; those of the target's `generation_config` are not read.
    Every other setting of that configuration is applied as in transformers if it is listed under `settings`; one that
    would change the text and is not listed, such as `num_beams`, raises an error that names it. Pass a neutral value
    (`repetition_penalty=1.0`) to switch a configured setting off.

    Args:
        target: a causal language model of transformers with attention layers only.
        draft: another causal language model with the same token ids (its size, device and dtype are free); a draft
            object; `"eagle=DIRECTORY"` for an EAGLE head; `"first=8"` for the target's first 8 layers; `"skip=16-18"`
            for the target without these layers; `"lookup"` or `"automaton"` for guesses from the text itself, alone or
            beside one of the others as in `"skip=16-18+lookup"`; None for plain decoding.
        input_ids: the prompts `[b, L]`, int64, or a list of lists of ids.
        options: the fields of `univer.engine.options.Options`, each of which is explained below.

    Keyword Args:
        method (str | Method): a name of `univer.methods()` or a `Method`.
        tree (str | Sequence | Shape | TreePolicy): `"2x5"`, `"3x3"`, `"chain-5"`, `"eagle"`, a parent list, a list of
            choices, or a `Shape`; or a policy that grows trees: `"grow"`, `"eagle2"`, `"opt"`, with parameters as in
            `"grow:nodes=48,depth=6"`, or an object. The default is `"chain-5"` for chain methods; for others it is the
            tree that an EAGLE head suggests, or else `"2x5"`.
        order (str): in which siblings are tested; the method has a default.
        temperature (float): 0 for greedy decoding.
        top_k (int): keep the `top_k` most likely tokens; None keeps all.
        top_p (float): keep the most likely tokens up to this mass; None keeps all.
        min_p (float): keep tokens of at least this fraction of the largest probability; None keeps all.
        max_new_tokens (int): exact limit of new tokens; without it and `max_length`, that of the configuration, or else
            128.
        max_length (int): exact limit of all tokens, prompt included.
        eos_token_id (int | Sequence[int]): one or several ids that end the text; by default those of
            `generation_config`, None for none.
        attention_mask (Tensor): `[b, L]`, a tensor or lists; padding on the left or right is stripped, gaps inside a
            prompt raise an error.
        seed (int | Sequence[int]): makes the run reproducible, whatever torch's global state; at least 0 and below
            2**64. One for each prompt, or a single one: the first prompt uses it as it is, and the seeds of the others
            are derived from it.
        generator (torch.Generator): a CPU generator in place of a seed, for one prompt; one number is drawn from it,
            and the random streams of the draft and of verification are derived from that number. A pair of `Streams` is
            used as it is.
        streamer (object): a streamer of transformers; gets the prompt and then every committed token once, in order.
        draft_temperature (float): temperature of the draft distributions; by default that of the target. In greedy
            decoding the draft only ranks tokens, by its untempered distribution unless this is given.
        draft_sampling (Sampling): all settings of the draft distributions, in place of `draft_temperature`.
        tokenizer (object): the target's tokenizer, needed for stop strings. If `draft_tokenizer` is given too, the two
            must map the same tokens to the same ids.
        draft_tokenizer (object): the draft's tokenizer.
        generation_config (GenerationConfig): in place of the target's.
        logits_processor (Sequence[Callable]): processors of the caller, `(input_ids [n, L], scores [n, V]) -> scores`,
            applied after those named in `settings` and before temperature and filters. They are called with many nodes
            of a tree at once, in any order, so each row of the result must depend on its own ids and scores alone; a
            processor that is found to keep a state raises an error. For a processor that follows a grammar see
            `univer.engine.grammar.Grammar`.
        stopping_criteria (Sequence[Callable]): criteria of the caller, `(input_ids [1, L], scores) -> bool`, called
            once after every new token in order; `scores` is None without `output_scores`.
        logprobs (bool | int): keep the log-probability of every new token; a number also keeps that of this many most
            likely tokens (at most the whole vocabulary).
        output_scores (bool): keep the row `[V]` of every new token after processors, temperature and filters.
        output_logits (bool): keep the row `[V]` of every new token before all of them.
        settings (Any): further settings by name, those of transformers' `GenerationConfig`: `repetition_penalty`,
            `no_repeat_ngram_size`, `bad_words_ids`, `sequence_bias` (a bias on logits), `min_length`, `min_new_tokens`,
            `forced_bos_token_id`, `forced_eos_token_id`, `suppress_tokens`, `begin_suppress_tokens`,
            `exponential_decay_length_penalty`, `remove_invalid_values`, `stop_strings`, `max_time` (in seconds, checked
            after every round). Also `prefix_allowed_tokens_fn`, as in transformers' `generate`: called with the number
            of the prompt and ids `[L]`, it returns the tokens that may follow; it is called on branches of the tree
            too, so it must not keep a state either. And `frequency_penalty` and `presence_penalty`, which count new
            tokens.

    Returns:
        The sequences, prompts included, the statistics of the run, and the requested outputs of the new tokens.

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
    """Generate one token per target pass: the baseline, in the same engine with the same distributions and statistics.

    Args:
        target: as for `generate`.
        input_ids: as for `generate`.
        options: as for `generate`; draft options have no effect.

    Returns:
        As `generate`.

    Raises:
        ValueError: as `generate`.
    """
    return generate_rounds(target, None, input_ids, **options).run()
