"""`train_eagle`: from a target to a head, in stages that can be interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from univer.drafting.eagle.checkpoint import save_head
from univer.drafting.eagle.head import EagleHead
from univer.drafting.eagle.shipped import target_note
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
from univer.training.texts import Texts, frequent_tokens, split
from univer.training.trainer import Trainer

# The stages, as progress displays and interruptions name them.
SAMPLING, READING, TRAINING = "sampled tokens", "texts read by the target", "training steps"

Progress = Callable[[str, int, int], None]


class TrainingRun:
    """A run that has been checked as far as that is possible without the target.

    Args:
        output: folder of the run and, at the end, of the head; new, empty, or of the same run.
        name: what the target is called in the card and in the command to rebuild the head.
        texts: files to train on, see `read_texts`; by default the target's own samples.
        prompts: file of prompts for the samples, see `read_prompts`; by default those of the package.
        init: directory of a head to start from.
        settings: everything else.

    Attributes:
        finished: the result, if the run was finished before.

    Raises:
        ValueError: a file cannot be read, texts and prompts are given both, there can only be too few texts, or the
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
            _enough(-(-self.settings.samples // self.settings.length), self.settings)
        self._begun_with = {
            "target": name,
            "text": self.source.label if texts else None,
            "prompts": None if texts else self.source.label,
            "init": None if init is None else head_label(init),
            **self.settings.to_dict(),
        }
        self.folder.check(self._begun_with)
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
        """Train to the end, going on where an earlier run was interrupted.

        The first Ctrl-C ends the run at the next place from which it can go on.

        Args:
            target: a causal language model of transformers; it is not changed.
            tokenizer: its tokenizer.
            progress: called with the stage, the parts done and all parts.
            note: called with a line of text where there is something to say.

        Returns:
            What came out.

        Raises:
            ValueError: the target or the texts do not serve, or the folder holds a run with other settings.
            TrainingInterrupted: the user ended it.
        """
        tell, say = progress or (lambda *_: None), note or (lambda _: None)
        kind = {"dtype": str(target.dtype).removeprefix("torch."), "device": target.device.type}
        begun_with = self._begun_with | kind | {"weights": weights_label(target)}
        self.folder.check(begun_with)
        if self.finished is not None:
            return self.finished
        start = None if self.init is None else loaded_head(self.init, target, self.settings)
        config = new_config(target, self.settings) if start is None else start.config
        check_target(target, tokenizer, config.features)
        given = self._given_texts(target, tokenizer)
        with self.folder.locked(), stop_request() as stopping:
            self.folder.claim(begun_with)

            def tick(stage: str, done: int, total: int) -> None:
                tell(stage, done, total)
                if stopping():
                    raise TrainingInterrupted(stage, done, total)

            texts = self._sampled_texts(target, tokenizer, tick) if given is None else given
            train, valid = split(texts, self.settings.batch, self.settings.seed)
            tokens, coverage = frequent_tokens(train, config.draft_vocab_size, config.vocab_size)
            head = new_head(target, config, tokens, self.settings.seed) if start is None else start
            if start is not None and head.t2d is not None:
                coverage = float(head.t2d[train.tokens.long()].float().mean())
            if optimizer_name() == "adamw":
                say(f"torch {torch.__version__} has no Muon (2.9 and newer have): training with AdamW alone")
            found = self._trained(head.to(target.device), target, train, valid, tick, say)
            result = TrainingResult(
                directory=str(self.folder.path),
                steps=self.settings.steps,
                optimizer=optimizer_name(),
                parameters=sum(parameter.numel() for parameter in head.parameters()),
                train_texts=len(train),
                train_tokens=len(train.tokens),
                valid_texts=len(valid),
                coverage=coverage,
                **found,
            )
            self._save(head.bfloat16(), target, result, kind, say)
        return result

    def _given_texts(self, target: Any, tokenizer: Any) -> Texts | None:
        if not self.source.documents:
            return None
        texts = cut(self.source.documents, tokenizer, self.settings.length)
        if len(texts.tokens) and int(texts.tokens.max()) >= len(target.get_input_embeddings().weight):
            raise ValueError("the tokenizer writes token ids that the target does not have: they do not fit")
        texts = texts.without(self.settings.unroll)
        _enough(len(texts), self.settings, len(texts.tokens))
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
        _enough(len(texts), settings, len(texts.tokens))
        return texts

    def _trained(
        self, head: EagleHead, target: Any, train: Texts, valid: Texts, tick: Progress, say: Callable[[str], None]
    ) -> dict[str, list[float]]:
        """Train the head in place, round it to bfloat16 as it will be saved, and measure what is left."""
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
        trainer.run(lambda done: tick(TRAINING, done, settings.steps), lambda figures: say(_line(figures)))
        head.bfloat16().float()
        return trainer.validate()

    def _save(
        self, head: EagleHead, target: Any, result: TrainingResult, kind: dict[str, str], say: Callable[[str], None]
    ) -> None:
        path = self.folder.path
        if not draw_curve(self.folder.metrics, path / "loss.png"):
            say("no curve is drawn: pip install 'univer[train]' installs what it needs")
        config = head.config
        shown = {"variant": config.variant, "draft_vocabulary": config.draft_vocab_size, "layers": config.features}
        settings = self.settings.to_dict() | {"validate_every": self.settings.interval} | shown | kind
        if self.source.documents:
            data = f"Texts: {self.source.label}."
            for name in ("samples", "temperature"):
                del settings[name]
        else:
            data = (
                f"Sampled from the target at temperature {self.settings.temperature}: in turn from bare openings of a "
                f"chat, which it continues with prompts of its own, and from {len(self.source.prompts)} prompts, "
                f"{self.source.label}."
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

    The target writes texts of its own (or given ones are read), says what it thinks of every place in them, and the
    head learns to say the same one token ahead, and then from its own output several tokens ahead. A call with the same
    arguments goes on where an earlier one was interrupted, and comes to the same head.

    Args:
        target: a causal language model of transformers; it is not changed.
        tokenizer: its tokenizer.
        output: folder of the run and, at the end, of the head; new, empty, or of the same run.
        name: what the target is called in the card; by default what its configuration says.
        texts: files to train on, see `read_texts`; by default the target's own samples.
        prompts: file of prompts for the samples, see `read_prompts`; by default those of the package.
        init: directory of a head to start from.
        settings: everything else.
        progress: called with the stage, the parts done and all parts.
        note: called with a line of text where there is something to say.

    Returns:
        What came out.

    Raises:
        ValueError: with what is wrong, before work starts.
        TrainingInterrupted: the user ended it; what is done is kept.
    """
    called = name or Path(target.config.name_or_path or type(target).__name__).name
    run = TrainingRun(output, name=called, texts=texts, prompts=prompts, init=init, settings=settings)
    return run.train(target, tokenizer, progress, note)


def _enough(texts: int, settings: TrainingSettings, tokens: int | None = None) -> None:
    if texts <= settings.batch:
        held = "" if tokens is None else f" of {tokens} tokens, none of them repeated,"
        raise ValueError(
            f"{texts} texts{held} are too few: a step takes {settings.batch} and some are measured on; train on more "
            "text, or lower batch or length"
        )


def _line(figures: dict[str, Any]) -> str:
    acceptance = " ".join(f"{value:.3f}" for value in figures["acceptance"])
    return f"step {figures['step']}: acceptance {acceptance}"
