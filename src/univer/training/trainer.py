"""The trainer: unrolled steps over the texts, with everything on disk that a later run needs to go on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from univer.drafting.eagle.head import EagleHead
from univer.training.features import FeatureSet
from univer.training.unroll import UnrolledStep, unroll

CHECKPOINT = "checkpoint.pt"
METRICS = "metrics.jsonl"


@dataclass(frozen=True)
class TrainingPlan:
    """Settings of a run.

    Attributes:
        steps: optimiser steps.
        batch: texts per step.
        unroll: drafting steps that each position is trained for.
        decay: weight of each further drafting step, relative to the one before.
        learning_rate: at its peak.
        warmup: steps over which it rises; afterwards it falls along a cosine to a twentieth.
        weight_decay: of the matrices.
        clip: largest norm of the gradient.
        validate_every: steps between validations, each of which also saves a checkpoint.
        seed: of the order of the texts.
    """

    steps: int = 2000
    batch: int = 8
    unroll: int = 4
    decay: float = 0.9
    learning_rate: float = 2e-3
    warmup: int = 50
    weight_decay: float = 0.01
    clip: float = 1.0
    validate_every: int = 100
    seed: int = 0


class Trainer:
    """Trains a head on the features of a target.

    Args:
        head: the head, in float32; it is trained in place.
        target: the target, for its embeddings and its output layer.
        train: texts to train on.
        valid: texts to measure acceptance on, disjoint from those.
        plan: settings.
        folder: where checkpoint and metrics go; a checkpoint that is there already is resumed.
    """

    def __init__(
        self, head: EagleHead, target: Any, train: FeatureSet, valid: FeatureSet, plan: TrainingPlan, folder: Path
    ) -> None:
        self.head, self.plan, self.folder = head, plan, folder
        self.train_set, self.valid_set = train, valid
        self.device = next(head.parameters()).device
        self.table = target.get_input_embeddings().weight.detach().to(self.device)
        output = target.get_output_embeddings()
        ids = head.token_ids
        weight = output.weight.detach() if ids is None else output.weight.detach()[ids.to(output.weight.device)]
        bias = getattr(output, "bias", None)
        self._output_weight = weight.to(self.device, torch.bfloat16)
        self._output_bias = None if bias is None else (bias if ids is None else bias[ids]).detach().to(self.device)
        self.optimizers = _optimizers(head, plan)
        self.step = 0
        if (path := folder / CHECKPOINT).exists():
            self._resume(torch.load(path, weights_only=True, map_location=self.device))

    def run(self, report: Callable[[dict[str, Any]], None]) -> None:
        """Train to the last step of the plan.

        Args:
            report: called with the figures of every step, and of every validation.
        """
        plan = self.plan
        if self.step == 0:
            self._note(report, {"step": 0} | self.validate())
        for rows in self._batches():
            rate = self._rate()
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = rate * group["scale"]
                optimizer.zero_grad(set_to_none=True)
            results = self._losses(self.train_set, rows)
            weights = [plan.decay**step for step in range(len(results))]
            loss = torch.stack([result.loss * w for result, w in zip(results, weights, strict=True)]).sum() / sum(
                weights
            )
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.head.parameters(), plan.clip)
            for optimizer in self.optimizers:
                optimizer.step()
            self.step += 1
            figures = {"step": self.step, "rate": rate, "loss": float(loss.detach()), "train": _overlaps(results)}
            if self.step % plan.validate_every == 0 or self.step == plan.steps:
                figures |= self.validate()
                self.save()
            self._note(report, figures)

    def validate(self) -> dict[str, Any]:
        """Acceptance on the validation texts: the mean overlap and top-1 agreement of each drafting step."""
        sums: list[list[float]] = []
        size = self.plan.batch
        starts = range(0, len(self.valid_set), size)
        with torch.no_grad():
            for start in starts:
                rows = torch.arange(start, min(start + size, len(self.valid_set)))
                results = self._losses(self.valid_set, rows)
                sums.append([float(v) for r in results for v in (r.overlap, r.agreement)])
        means = torch.tensor(sums).mean(0).tolist()
        return {"acceptance": means[0::2], "agreement": means[1::2]}

    def save(self) -> None:
        """Write the checkpoint, replacing the last one only when it is complete."""
        state = {
            "step": self.step,
            "plan": asdict(self.plan),
            "head": self.head.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
        }
        partial = self.folder / f"{CHECKPOINT}.partial"
        torch.save(state, partial)
        partial.replace(self.folder / CHECKPOINT)

    def _resume(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        self.head.load_state_dict(state["head"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)

    def _batches(self) -> Iterator[Tensor]:
        """Texts of the steps still to do: a new permutation for every pass over the texts, the same after a resume."""
        per_pass = len(self.train_set) // self.plan.batch
        for step in range(self.step, self.plan.steps):
            round_, place = divmod(step, per_pass)
            generator = torch.Generator().manual_seed(self.plan.seed * 1_000_003 + round_)
            order = torch.randperm(len(self.train_set), generator=generator)
            yield order[place * self.plan.batch : (place + 1) * self.plan.batch]

    def _rate(self) -> float:
        plan = self.plan
        rise = min(1.0, (self.step + 1) / plan.warmup)
        fall = 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * self.step / plan.steps))
        return plan.learning_rate * rise * fall

    def _losses(self, data: FeatureSet, rows: Tensor) -> list[UnrolledStep]:
        tokens, lengths = data.tokens[rows].long().to(self.device), data.lengths[rows].to(self.device)
        width = int(lengths.max())
        features, last = (part[rows, :width].to(self.device) for part in (data.features, data.last))
        with torch.autocast(self.device.type, torch.bfloat16):
            with torch.no_grad():
                logits = nn.functional.linear(last, self._output_weight, self._output_bias).float()
                target = (logits - data.log_total[rows, :width, None].to(self.device)).exp_()
            output = self._output_weight if self.head.config.variant == 1 else None
            return unroll(self.head, self.table, tokens[:, :width], lengths, features, target, self.plan.unroll, output)

    def _note(self, report: Callable[[dict[str, Any]], None], figures: dict[str, Any]) -> None:
        with (self.folder / METRICS).open("a") as file:
            file.write(json.dumps(figures) + "\n")
        report(figures)


def _overlaps(results: list[UnrolledStep]) -> list[float]:
    return [float(result.overlap) for result in results]


def _optimizers(head: EagleHead, plan: TrainingPlan) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layer, AdamW for norms, embeddings and the output layer."""
    matrices = [
        parameter
        for name, parameter in head.named_parameters()
        if parameter.ndim == 2 and not name.startswith(("lm_head", "embed_tokens"))
    ]
    chosen = set(map(id, matrices))
    others = [parameter for parameter in head.parameters() if id(parameter) not in chosen]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.Muon(
            matrices, lr=plan.learning_rate, weight_decay=plan.weight_decay, adjust_lr_fn="match_rms_adamw"
        )
    ]
    if others:
        optimizers.append(torch.optim.AdamW(others, lr=plan.learning_rate, betas=(0.9, 0.95), weight_decay=0.0))
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["scale"] = 1.0
    optimizers[-1].param_groups[0]["scale"] = 0.5 if others else 1.0
    return optimizers
