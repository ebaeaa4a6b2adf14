"""Texts that come and go: one target pass per round serves all of them."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from univer.drafting.base import Draft
from univer.drafting.proposals import PassInput, RunningProposal
from univer.engine.drafts import as_draft
from univer.engine.options import Options, prompt_tokens, split_settings
from univer.engine.row import Row, Step
from univer.engine.settings import applied_settings, check_tokens
from univer.engine.streams import Streams
from univer.runtime.batch import TreeBatch
from univer.runtime.cache import Entries
from univer.runtime.checks import check_model, check_shared_seed, readable_tokens
from univer.runtime.evaluation import evaluating
from univer.runtime.probe import check_tree_attention
from univer.tree import DraftTree

P = ParamSpec("P")
T = TypeVar("T")


class Engine:
    """Generates several texts with one target: rows join and leave between rounds.

    Every row has its own length, settings, tree, draft state and random numbers. By default its tree depends on the row
    alone, so that in float32 its tokens do not depend on its neighbours; `nodes` gives that up for throughput.

    Args:
        target: a causal language model of transformers with attention layers only; nothing in it is changed.
        draft: what `generate` takes; None for plain decoding.
        nodes: most nodes, roots included, of one target pass, or one for each row where there are more rows. Where the
            rows' own trees could exceed it together, none may exceed an equal share: the law of the texts is unchanged,
            but the tokens of a seed depend on the load.

    Attributes:
        rows: the rows at work, in the order of the target's cache.
        passes: target passes so far.

    Raises:
        ValueError: the target or the draft is not supported; the message names the reason.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> config = LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        ...                      num_attention_heads=2)
        >>> engine = Engine(LlamaForCausalLM(config).eval(), "first=1")
        >>> short = engine.add([5, 7], tree="2x2", max_new_tokens=4, seed=0, eos_token_id=None)
        >>> long = engine.add([6], max_new_tokens=9, seed=1, eos_token_id=None)
        >>> while engine.busy:
        ...     finished = [row for row, step in engine.step() if row.ended]
        >>> len(short.committed), len(long.committed)
        (6, 10)
    """

    def __init__(self, target: Any, draft: Any = None, *, nodes: int | None = None) -> None:
        check_model(target, "target")
        if nodes is not None and (not isinstance(nodes, int) or isinstance(nodes, bool) or nodes < 1):
            raise ValueError(f"nodes must be a whole number of at least 1, not {nodes!r}")
        self.target = target
        self.draft: Draft | None = as_draft(draft, target)
        self.nodes = nodes
        self.batch = TreeBatch(target, self.draft.features if self.draft else ())
        self.rows: list[Row] = []
        self._waiting: list[Row] = []
        self._shared: dict[Any, Any] = {}
        self._stepping = False
        self._undelivered: list[tuple[Row, Step]] = []
        self._models = [target, *(self.draft.models if self.draft else ())]

    @property
    def busy(self) -> bool:
        """Whether a row is at work or waits to begin."""
        return bool(self.rows or self._waiting)

    @property
    def passes(self) -> int:
        """Target passes so far."""
        return self.batch.passes

    def add(self, input_ids: Any, **options: Any) -> Row:
        """Add a text; it begins with the next step.

        Args:
            input_ids: token ids of one prompt, `[1, L]`, `[L]` or a list.
            options: as for `generate`.

        Returns:
            Its row.

        Raises:
            ValueError: something in the request is not supported; nothing was added.
        """
        request, settings = split_settings(options)
        vocabulary = readable_tokens(self.target)
        prompt = prompt_tokens(input_ids, request.attention_mask, vocabulary)
        config = request.generation_config or getattr(self.target, "generation_config", None)
        check_tokens(applied_settings(config, settings) | {"eos_token_id": request.eos}, vocabulary)
        return self.enter(prompt, request, settings, request.random_streams(1)[0])

    def enter(
        self,
        prompt: Sequence[int],
        request: Options,
        settings: dict[str, Any],
        streams: Streams,
        past: Entries | None = None,
        *,
        keep_entries: bool = False,
        text: int = 0,
    ) -> Row:
        """As `add`, from checked parts.

        Args:
            prompt: token ids.
            request: the request.
            settings: further generation settings by name.
            streams: random numbers of the row.
            past: keys and values of the first tokens of the prompt, not of all, if they were read before.
            keep_entries: leave the keys and values of all committed tokens but the last in the row when it ends.
            text: number of the text among those of its call, which `prefix_allowed_tokens_fn` is told.

        Raises:
            ValueError: as `add`, or a draft that needs the target's hidden states is to begin with a `past`.
        """
        if past is not None and self.draft is not None and self.draft.features:
            raise ValueError(
                f"the draft {self.draft.name} needs the target's hidden states at every token of the prompt, so it "
                "cannot begin with a cache: pass the prompt without one"
            )
        seeded = request.seed is not None or request.generator is not None or request.sampling.greedy
        check_shared_seed(self.target, seeded=seeded)
        row = Row(self.target, self.draft, prompt, request, settings, streams, self.batch.device, text)
        row.past, row.keep_entries, row.shared = past, keep_entries, self._shared
        row.plan.check_attention(self.batch.pattern)
        # Beside other rows a text without a draft is read with a mask as well.
        if (row.plan.drafts or self.busy) and self.batch.pattern.honours_masks:
            with evaluating(self._models):
                check_tree_attention(self.target, "target")
        if row.ended:
            row.stream(row.committed)
        else:
            self._waiting.append(row)
        return row

    def cancel(self, row: Row) -> None:
        """End a row where it is; what it has committed stays in it, and its streamer is told that the text has ended.

        A row that has ended already is left alone.

        It may be called by anything that runs inside a step, such as a streamer: the row then leaves with that step.

        Raises:
            ValueError: the row is of another engine.
        """
        if row.ended:
            return
        if row not in self._waiting and row not in self.rows:
            raise ValueError("the row is not one of this engine")
        self._own(row, row.cancel, end_stream=True)
        if not self._stepping:
            self._remove_ended()

    def step(self) -> list[tuple[Row, Step]]:
        """Play one round with every row at work, and let the waiting ones begin.

        An exception in a row's own code (its draft, its streamer, its logits) ends that row, which keeps it as `error`;
        the others go on; one in a pass of the draft model ends the rows of that pass so. An exception in the target's
        pass, or an interruption, ends all rows that took part; waiting rows begin with a pass each.

        Returns:
            Each row with what it committed, rows that failed left out; rows that ended are no longer at work. After a
            step that raised, what it had committed before comes first.

        Raises:
            RuntimeError: it is called from within a step.
        """
        if self._stepping:
            raise RuntimeError("step() was called from within a step, as by a streamer; only add and cancel may be")
        done, self._undelivered = self._undelivered, []
        playing = list(self.rows)
        self._stepping = True
        try:
            with evaluating(self._models):
                if playing:
                    done += self._round(playing)
                for row in list(self._waiting):
                    playing = [row]
                    # A row that began before it may have cancelled it.
                    done += [] if row.ended else self._begin(row)
        except BaseException:
            # The caches hold a half-finished round: these texts cannot be continued.
            for row in playing:
                row.cancel()
            self._undelivered = done
            raise
        finally:
            self._stepping = False
            self._remove_ended()
        return done

    def _begin(self, row: Row) -> list[tuple[Row, Step]]:
        self._waiting.remove(row)
        self.rows.append(row)
        number = self.batch.add()
        self._own(row, row.stream, row.committed)
        if row.ended:
            return []
        row.clock.start()
        if row.past is not None:
            self.batch.load(number, row.past)
            row.past = None
        logits = self.batch.extend(number, row.committed[self.batch.texts[number].length :])
        row.clock.charge("prefill")
        features = self.batch.features
        step = self._own(row, row.begin, logits, features[0] if features else None)
        return [] if step is None else [(row, step)]

    def _round(self, rows: Sequence[Row]) -> list[tuple[Row, Step]]:
        crowded = self.nodes is not None and sum(1 + row.plan.policy.max_nodes for row in rows) > self.nodes
        share = max(1, (self.nodes or 0) // len(rows)) - 1 if crowded else None
        trees = self._draft(rows, share)
        # Of a row that failed or was cancelled the pass reads the root alone.
        tokens = [
            [row.committed[-1]] if tree is None else tree.tokens.tolist() for row, tree in zip(rows, trees, strict=True)
        ]
        started = time.perf_counter()
        logits = self.batch.read_nodes(tokens, [[-1] if tree is None else tree.parents for tree in trees])
        self._charge("target", rows, started)
        features: Sequence[Tensor | None] = self.batch.features or [None] * len(rows)
        kept: list[list[int]] = []
        done: list[tuple[Row, Step]] = []
        for row, tree, scores, states in zip(rows, trees, logits, features, strict=True):
            outcome = None if tree is None else self._own(row, row.verify, tree, scores, states)
            kept.append([] if outcome is None else outcome[0])
            if outcome is not None:
                done.append((row, outcome[1]))
        started = time.perf_counter()
        self.batch.keep(kept)
        self._charge("cache", rows, started)
        for number, (row, tree, scores) in enumerate(zip(rows, trees, logits, strict=True)):
            if row.error is not None and tree is not None and bool(scores.isnan().any()):
                row.error = self._broken_node(number, tree, row.error)
        return done

    def _broken_node(self, number: int, tree: DraftTree, error: Exception) -> Exception:
        """The error of a row whose logits hold NaN, with the node that they come from.

        A NaN in the keys or values of one node spoils the rows of all others, masked or not. So the tree is read
        again, cut off behind one node after another.
        """
        tokens, parents = tree.tokens.tolist(), tree.parents

        def broken(node: int) -> bool:
            [rows] = self.batch.read_nodes([tokens[: node + 1]], [parents[: node + 1]], number)
            self.batch.keep([[]], number)
            return bool(rows.isnan().any())

        node = bisect_left(range(len(tokens)), True, key=broken)
        if node == len(tokens):
            return error
        path = [tokens[place] for place in tree.topology.path(node)]
        where = f"node {node}, the tokens {path} below the text" if node else "the root, the last token of the text"
        return ValueError(f"{error} (the target's logits hold NaN from {where})")

    def _draft(self, rows: Sequence[Row], share: int | None) -> list[DraftTree | None]:
        """Draft a tree for every row, level by level: one pass of the draft model serves all of them.

        An exception in a pass ends the rows of that pass.
        """
        started = time.perf_counter()
        proposals = [RunningProposal(row.proposal(share)) for row in rows]
        pairs = list(zip(rows, proposals, strict=True))
        for row, proposal in pairs:
            self._own(row, proposal.advance)
        while waiting := [
            (*pair, pair[1].waiting) for pair in pairs if pair[1].waiting is not None and not pair[0].ended
        ]:
            passes: dict[int, list[tuple[Row, RunningProposal[DraftTree], PassInput]]] = {}
            for row, proposal, own in waiting:
                passes.setdefault(id(own.batch_key), []).append((row, proposal, own))
            for part in passes.values():
                self._run_pass(part)
        self._charge("draft", rows, started)
        return [None if row.ended else proposal.result for row, proposal in pairs]

    def _run_pass(self, part: Sequence[tuple[Row, RunningProposal[DraftTree], PassInput]]) -> None:
        """One pass of a draft model, after which the proposals of its rows continue."""
        first, *others = [own for _, _, own in part]
        try:
            outputs = first.run_with(others)
            if len(outputs) != len(part):
                raise ValueError(f"a pass for {len(part)} sequences gave {len(outputs)} outputs")
        except Exception as error:
            for row, _, _ in part:
                row.error, row.ended = error, True
            return
        for (row, proposal, _), output in zip(part, outputs, strict=True):
            self._own(row, proposal.advance, output)

    def _own(self, row: Row, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T | None:
        """Run code of one row, unless it has ended; an exception ends it and is kept in it."""
        if row.ended:
            return None
        try:
            return work(*args, **named)
        except Exception as error:
            row.error, row.ended = error, True
            return None

    def _charge(self, phase: str, rows: Sequence[Row], started: float) -> None:
        """Share the time since `started` out among rows."""
        if self.batch.device.type == "cuda":
            torch.cuda.synchronize(self.batch.device)
        seconds = (time.perf_counter() - started) / len(rows)
        for row in rows:
            row.stats.seconds[phase] += seconds

    def _remove_ended(self) -> None:
        """Take out the rows that have ended."""
        self._waiting = [row for row in self._waiting if not row.ended]
        for row in [row for row in self.rows if row.ended]:
            self._leave(row)

    def _leave(self, row: Row) -> None:
        number = self.rows.index(row)
        if row.keep_entries:
            row.entries = self.batch.entries(number, min(self.batch.texts[number].length, len(row.committed) - 1))
        self.batch.remove(number)
        last = self.rows.pop()
        if number < len(self.rows):
            self.rows[number] = last
        try:
            if row.session is not None:
                row.session.close()
        except Exception as error:
            row.error = row.error or error
