"""`train_eagle`: trains a head for a target, in stages that can be interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from univer.drafting.eagle.checkpoint import save_head
from univer.drafting.eagle.head import EagleHead
from univer.drafting.eagle.shipped import target_note
from univer.drafting.eagle.target import check_target as check_head
from univer.drafting.eagle.target import token_embeddings
from univer.engine.stopping import eos_tokens
from univer.files import write_text
from univer.models.catalogue import BUILT_IN
from univer.training.card import command_line, model_card
from univer.training.curve import draw_curve
from univer.training.features import FeatureSet, compute_features
from univer.training.folder import RunFolder
from univer.training.initial import head_label, loaded_head, new_config, new_head
from univer.training.interrupt import TrainingInterrupted, stop_request
from univer.training.optimizers import optimizer_name
from univer.training.result import TrainingResult
from univer.training.samples import sample_shards
from univer.training.settings import TrainingSettings
from univer.training.sources import Source, cut, read_prompts, read_texts
from univer.training.target import check_target, weights_label
from univer.training.texts import Texts, frequent_tokens, split, token_ranks
from univer.training.trainer import Trainer

# Names of the stages in progress displays and messages.
SAMPLING, READING, TRAINING = "sampled tokens", "texts read by the target", "training steps"

Progress = Callable[[str, int, int], None]


class TrainingRun:
    """A training run. The constructor checks everything that needs no target.

    Args:
        output: folder of the run and, at the end, of the head; new, empty, or that of the run to resume.
        name: name of the target in the model card and in the command that repeats the training.
        texts: files to train on, see `read_texts`; by default the target's own samples.
        prompts: file of prompts for the samples, see `read_prompts`; by default those of the package.
        init: directory of a head to start from.
        settings: all other settings.

    Attributes:
        finished: the result of a run that is complete already, else None.

    Raises:
        ValueError: a file cannot be read, both texts and prompts are given, the settings yield too few texts, or the
            folder holds a run with other settings.
    """

    def __init__(
        self,
        output: str | Path,
        *,
        name: str,
        texts: Sequence[str | Path] = (),
        prompts: str | Path | None = None,
        init: str | Path | None = None,
        settings: TrainingSettings | None = None,
    ) -> None:
        if texts and prompts is not None:
            raise ValueError("give texts to train on or prompts to sample from, not both")
        self.name, self.init = name, init
        self.settings = settings or TrainingSettings()
        self.folder = RunFolder(output)
        self.source: Source = read_texts(texts) if texts else read_prompts(prompts)
        if not texts:
            _check_count(-(-self.settings.samples // self.settings.length), self.settings)
        self._recorded = {
            "target": name,
            "text": self.source.label if texts else None,
            "prompts": None if texts else self.source.label,
            "init": None if init is None else head_label(init),
            **self.settings.to_dict(),
        }
        self.folder.check(self._recorded)
        result = self.folder.record().get("result")
        self.finished = None if result is None else TrainingResult(directory=str(self.folder.path), **result)
        files = {"text": [Path(text).name for text in texts]}
        single = {
            name: None if path is None else Path(path).name for name, path in (("prompts", prompts), ("init", init))
        }
        self._options = {"target": name, "output": "DIR"} | files | single | self.settings.options()

    def train(
        self, target: Any, tokenizer: Any, progress: Progress | None = None, note: Callable[[str], None] | None = None
    ) -> TrainingResult:
        """Train the head, or resume an interrupted run.

        The first Ctrl-C stops the run as soon as it can be resumed.

        Args:
            target: a causal language model of transformers; it is not changed.
            tokenizer: its tokenizer.
            progress: called with the stage, the number of parts done and of all parts.
            note: called with one-line messages for the user.

        Returns:
            The result.

        Raises:
            ValueError: the target or the texts cannot be used, or the folder holds a run with other settings.
            TrainingInterrupted: the user interrupted the run.
        """
        report, note = progress or (lambda *_: None), note or (lambda _: None)
        kind = {"dtype": str(target.dtype).removeprefix("torch."), "device": target.device.type}
        recorded = self._recorded | kind | {"weights": weights_label(target)}
        self.folder.check(recorded)
        if self.finished is not None:
            return self.finished
        start = None if self.init is None else loaded_head(self.init, target, self.settings)
        config = new_config(target, self.settings) if start is None else start.config
        check_target(target, tokenizer, config.features)
        check_head(config, target)
        given = self._given_texts(target, tokenizer)
        with self.folder.locked(), stop_request() as stopping:
            self.folder.start(recorded)

            def tick(stage: str, done: int, total: int) -> None:
                report(stage, done, total)
                if stopping():
                    raise TrainingInterrupted(stage, done, total)

            texts = self._sampled_texts(target, tokenizer, tick) if given is None else given
            train, valid = split(texts, self.settings.batch, self.settings.seed)
            ends = {tokenizer.eos_token_id, *eos_tokens("config", target.generation_config)} - {None}
            ranks = token_ranks(train, tokenizer, [token for token in ends if token < config.vocab_size])
            tokens, coverage = frequent_tokens(train, config.draft_vocab_size, config.vocab_size, ranks)
            head = new_head(target, config, tokens, self.settings.seed) if start is None else start
            if start is not None and head.t2d is not None:
                coverage = float(head.t2d[train.tokens.long()].float().mean())
            if optimizer_name() == "adamw":
                note(f"torch {torch.__version__} has no Muon, which needs 2.9 or newer: training with AdamW alone")
            measured, best = self._train_head(head.to(target.device), target, train, valid, tick, note)
            result = TrainingResult(
                directory=str(self.folder.path),
                steps=self.settings.steps,
                optimizer=optimizer_name(),
                parameters=sum(parameter.numel() for parameter in head.parameters()),
                train_texts=len(train),
                train_tokens=len(train.tokens),
                valid_texts=len(valid),
                coverage=coverage,
                best_step=best,
                **measured,
            )
            self._save(head.bfloat16(), target, result, kind, note)
        return result

    def _given_texts(self, target: Any, tokenizer: Any) -> Texts | None:
        if not self.source.documents:
            return None
        texts = cut(self.source.documents, tokenizer, self.settings.length)
        if len(texts.tokens) and int(texts.tokens.max()) >= len(token_embeddings(target)):
            raise ValueError("the tokenizer has token ids that the target does not have: use the target's tokenizer")
        texts = texts.without(self.settings.unroll)
        _check_count(len(texts), self.settings, len(texts.tokens))
        return texts

    def _sampled_texts(self, target: Any, tokenizer: Any, tick: Progress) -> Texts:
        settings = self.settings
        texts = sample_shards(
            target,
            tokenizer,
            self.source.prompts,
            samples=settings.samples,
            length=settings.length,
            temperature=settings.temperature,
            seed=settings.seed,
            folder=self.folder.work("samples"),
            tick=lambda done, total: tick(SAMPLING, done, total),
        ).without(settings.unroll)
        _check_count(len(texts), settings, len(texts.tokens))
        return texts

    def _train_head(
        self, head: EagleHead, target: Any, train: Texts, valid: Texts, tick: Progress, note: Callable[[str], None]
    ) -> tuple[dict[str, list[float]], int | None]:
        """Train the head in place and round it to bfloat16, in which it is saved; its validation, and the best step."""
        settings, total = self.settings, len(train) + len(valid)

        def read(name: str, texts: Texts, before: int) -> FeatureSet:
            return compute_features(
                target,
                texts,
                head.config.features,
                self.folder.work("features", name),
                lambda done: tick(READING, before + done, total),
            )

        others = read("valid", valid, 0)
        features = read("train", train, len(valid))
        trainer = Trainer(
            head, target, features, others, settings, checkpoint=self.folder.checkpoint, metrics=self.folder.metrics
        )
        trainer.run(lambda done: tick(TRAINING, done, settings.steps), lambda figures: note(_line(figures)))
        head.bfloat16().float()
        return trainer.validate(), trainer.best_step

    def _save(
        self, head: EagleHead, target: Any, result: TrainingResult, kind: dict[str, str], note: Callable[[str], None]
    ) -> None:
        path = self.folder.path
        if not draw_curve(self.folder.metrics, path / "loss.png"):
            note("no curve is drawn, as matplotlib is missing: pip install 'univer[all]'")
        config = head.config
        shown = {"variant": config.variant, "draft_vocabulary": config.draft_vocab_size, "layers": config.features}
        settings = self.settings.to_dict() | {"validate_every": self.settings.interval} | shown | kind
        if self.source.documents:
            data = f"Texts: {self.source.label}."
            for name in ("samples", "temperature"):
                del settings[name]
        else:
            data = (
                f"Sampled from the target at temperature {self.settings.temperature}: half of the texts from the bare "
                f"opening of a chat, where the target writes the prompt as well, half of them answers to "
                f"{len(self.source.prompts)} prompts, {self.source.label}."
            )
        command = command_line(self._options | {"dtype": kind["dtype"]})
        outcome = {name: value for name, value in result.to_dict().items() if name != "directory"}
        card = model_card(head.config, self.name, command, data, outcome, settings)
        write_text(path / "README.md", card)
        known = [BUILT_IN[self.name].hub_id] if self.name in BUILT_IN else []
        save_head(head, path, target_note(target, self.name, *known))
        self.folder.finish(outcome)


def train_eagle(
    target: Any,
    tokenizer: Any,
    output: str | Path,
    *,
    name: str | None = None,
    texts: Sequence[str | Path] = (),
    prompts: str | Path | None = None,
    init: str | Path | None = None,
    settings: TrainingSettings | None = None,
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
) -> TrainingResult:
    """Train an EAGLE head for a causal language model, and save it.

    The target samples texts, or given texts are used. It computes its next-token distribution at every position of
    them, and the head learns to predict these distributions one token ahead and, from its own output, several tokens
    ahead. A call with the same arguments resumes an interrupted run and yields the same head as an uninterrupted one.

    Args:
        target: a causal language model of transformers; it is not changed.
        tokenizer: its tokenizer.
        output: folder of the run and, at the end, of the head; new, empty, or that of the run to resume.
        name: name of the target in the model card; by default that in its configuration.
        texts: files to train on, see `read_texts`; by default the target's own samples.
        prompts: file of prompts for the samples, see `read_prompts`; by default those of the package.
        init: directory of a head to start from.
        settings: all other settings.
        progress: called with the stage, the number of parts done and of all parts.
        note: called with one-line messages for the user.

    Returns:
        The result.

    Raises:
        ValueError: an argument, a file, the target or the folder cannot be used; before work starts.
        TrainingInterrupted: the user interrupted the run; finished work is kept.
    """
    called = name or Path(target.config.name_or_path or type(target).__name__).name
    run = TrainingRun(output, name=called, texts=texts, prompts=prompts, init=init, settings=settings)
    return run.train(target, tokenizer, progress, note)


def _check_count(texts: int, settings: TrainingSettings, tokens: int | None = None) -> None:
    """Raise an error where there are too few texts for one step and for validation."""
    if texts <= settings.batch:
        different = "" if tokens is None else f" different texts of {tokens} tokens in all"
        raise ValueError(
            f"{texts}{different or ' texts'} are too few: a step takes {settings.batch}, and validation needs others; "
            "train on more text, or lower batch or length"
        )


def _line(figures: dict[str, Any]) -> str:
    acceptance = " ".join(f"{value:.3f}" for value in figures["acceptance"])
    return f"step {figures['step']}: acceptance {acceptance}"
