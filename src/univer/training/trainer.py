"""The trainer: unrolled steps over the texts, with all state on disk that resuming needs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from operator import mul
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from univer.drafting.eagle.head import EagleHead
from univer.drafting.eagle.target import output_weight, token_embeddings
from univer.files import replacing, write_text
from univer.training.features import FeatureSet
from univer.training.optimizers import make_optimizers, optimizer_name
from univer.training.settings import TrainingSettings
from univer.training.unroll import UnrolledStep, send, unroll

# Number of steps whose figures are fetched from the device at once.
REPORT_EVERY = 10
# Number of batches whose texts are sorted by length together.
SORTED_TOGETHER = 16


def accepted_tokens(acceptance: Sequence[float]) -> float:
    """Expected number of accepted tokens of a drafted chain, `a_1 + a_1 a_2 + ...`, by which states are compared.

    Args:
        acceptance: probability that the token of each drafting step is accepted if those before it were.

    Example:
        >>> accepted_tokens([0.5, 0.5])
        0.75
    """
    return float(sum(accumulate(acceptance, mul)))


class Trainer:
    """Trains a head on the features of a target and keeps the state that was best on the validation texts.

    Args:
        head: the head, in float32 on the device to train on; it is trained in place.
        target: the target, of which the embeddings and the output layer are read; if it is in bfloat16, matrices are
            multiplied in bfloat16.
        train: training texts, at least `settings.batch`.
        valid: validation texts.
        settings: settings of the run.
        checkpoint: file of the state; if it exists, training resumes from it.
        metrics: file of the figures of every step, one JSON object a line.

    Attributes:
        step: number of steps done.
        best_step: step whose state was best so far, None before the first validation.

    Raises:
        ValueError: the checkpoint is of another optimiser, as an older torch has no Muon.
    """

    def __init__(
        self,
        head: EagleHead,
        target: Any,
        train: FeatureSet,
        valid: FeatureSet,
        settings: TrainingSettings,
        checkpoint: Path,
        metrics: Path,
    ) -> None:
        self.head, self.settings = head, settings
        self.train_set, self.valid_set = train, valid
        self.checkpoint, self.metrics = checkpoint, metrics
        self.device = next(head.parameters()).device
        self.dtype = torch.bfloat16 if target.dtype == torch.bfloat16 else torch.float32
        self._table = token_embeddings(target).detach().to(self.device)
        self.optimizers = make_optimizers(head, settings.learning_rate, settings.weight_decay)
        self.step = 0
        self._best: dict[str, Any] = {"step": None, "tokens": -1.0, "head": None}
        if checkpoint.exists():
            # To the CPU, where the optimisers keep their step counts: on a CUDA device each read would synchronise.
            self._resume(torch.load(checkpoint, weights_only=True, map_location="cpu"))
        # After resuming, as the checkpoint holds the draft vocabulary as well.
        output, ids = target.get_output_embeddings(), head.token_ids

        def rows(values: Tensor) -> Tensor:
            chosen = values if ids is None else values[ids.to(values.device)]
            return chosen.detach().to(self.device, self.dtype)

        self._weight = rows(output_weight(target))
        self._bias = None if getattr(output, "bias", None) is None else rows(output.bias)
        self._pending: list[tuple[int, float, Tensor]] = []
        self._drop_later_figures()

    @property
    def best_step(self) -> int | None:
        """Step whose state was best on the validation texts so far."""
        return self._best["step"]  # type: ignore[no-any-return]

    def run(self, tick: Callable[[int], None], note: Callable[[dict[str, Any]], None]) -> None:
        """Train to the last step, then put the head into the best validated state.

        Args:
            tick: called with the number of steps done, before the first one and after each; if it raises
                `KeyboardInterrupt`, a checkpoint is written before the exception is passed on.
            note: called with the figures of every validation.

        Raises:
            ValueError: the loss is no longer finite.
        """
        settings = self.settings
        tick(self.step)
        if self.step == 0:
            self._validated(note)
        for rows in self._batches():
            rate = self._rate()
            for optimizer in self.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = rate * group["scale"]
                optimizer.zero_grad(set_to_none=True)
            results = self._unrolled(self.train_set, rows)
            weights = [settings.decay**step for step in range(len(results))]
            losses = torch.stack([result.loss * w for result, w in zip(results, weights, strict=True)])
            loss = losses.sum() / sum(weights)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.head.parameters(), settings.clip)
            for optimizer in self.optimizers:
                optimizer.step()
            self.step += 1
            figures = torch.stack([loss.detach(), *(result.overlap for result in results)])
            self._pending.append((self.step, rate, figures))
            last = self.step == settings.steps
            if len(self._pending) == REPORT_EVERY or last:
                self._flush()
            if self.step % settings.interval == 0 or last:
                self._validated(note)
                self.save()
            try:
                tick(self.step)
            except KeyboardInterrupt:
                self.save()
                raise
        if self._best["head"] is not None:
            self.head.load_state_dict(self._best["head"])

    def validate(self) -> dict[str, list[float]]:
        """Measure the head on the validation texts.

        Returns:
            `acceptance` and `agreement`: for every drafting step the means over all positions that count, see
            `UnrolledStep`.
        """
        steps = self.settings.unroll
        sums, counts = torch.zeros(steps, 2, dtype=torch.float64, device=self.device), [0] * steps
        size = self.settings.batch
        with torch.no_grad():
            for start in range(0, len(self.valid_set), size):
                rows = torch.arange(start, min(start + size, len(self.valid_set)))
                for step, result in enumerate(self._unrolled(self.valid_set, rows)):
                    sums[step] += torch.stack([result.overlap, result.agreement]) * result.count
                    counts[step] += result.count
        means = (sums.cpu() / torch.tensor(counts)[:, None]).tolist()
        return {"acceptance": [mean[0] for mean in means], "agreement": [mean[1] for mean in means]}

    def save(self) -> None:
        """Write the checkpoint, replacing the last one only when it is complete."""
        self._flush()
        state = {
            "step": self.step,
            "optimizer": optimizer_name(),
            "head": self.head.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "best": self._best,
        }
        with replacing(self.checkpoint) as partial:
            torch.save(state, partial)

    def _resume(self, state: dict[str, Any]) -> None:
        if state["optimizer"] != optimizer_name():
            raise ValueError(
                f"the run was started with the optimiser {state['optimizer']}, this torch ({torch.__version__}) has "
                f"{optimizer_name()}: Muon needs torch 2.9 or newer"
            )
        self.step = state["step"]
        self.head.load_state_dict(state["head"])
        self._best = state.get("best", self._best)  # checkpoints of older versions have none
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)

    def _drop_later_figures(self) -> None:
        """Drop figures of steps after the checkpoint, which are repeated."""
        resumed = self.checkpoint.exists() and self.metrics.exists()
        lines = self.metrics.read_text(encoding="utf-8").splitlines() if resumed else []
        # The last line may be incomplete.
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= self.step]
        write_text(self.metrics, "".join(f"{line}\n" for line in kept))

    def _batches(self) -> Iterator[Tensor]:
        """Indices of the texts of the remaining steps: a new permutation for every pass over the texts.

        They depend on the seed and the step alone. Texts of similar length share a batch, which is padded to the
        longest.
        """
        size, seed = self.settings.batch, self.settings.seed
        per_pass = len(self.train_set) // size
        for step in range(self.step, self.settings.steps):
            round_, place = divmod(step, per_pass)
            generator = torch.Generator().manual_seed(seed * 1_000_003 + round_)
            order = torch.randperm(len(self.train_set), generator=generator)[: per_pass * size]
            parts = torch.split(order, size * SORTED_TOGETHER)
            order = torch.cat([part[self.train_set.texts.lengths[part].argsort(stable=True)] for part in parts])
            yield order.view(per_pass, size)[torch.randperm(per_pass, generator=generator)[place]]

    def _rate(self) -> float:
        settings = self.settings
        rise = min(1.0, (self.step + 1) / max(1, settings.warmup))
        fall = 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * self.step / settings.steps))
        return settings.learning_rate * rise * fall

    def _unrolled(self, data: FeatureSet, rows: Tensor) -> list[UnrolledStep]:
        batch = data.batch(rows)
        tokens, features, last, log_total = (
            send(part, self.device) for part in (batch.tokens, batch.features, batch.last, batch.log_total)
        )
        output = self._weight if self.head.config.shares_output else None
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            with torch.no_grad():
                logits = nn.functional.linear(last.to(self._weight.dtype), self._weight, self._bias).float()
                target = (logits - log_total[..., None]).exp_()
            return unroll(
                self.head,
                self._table,
                tokens,
                batch.lengths,
                batch.starts,
                features,
                target,
                self.settings.unroll,
                output,
            )

    def _validated(self, note: Callable[[dict[str, Any]], None]) -> None:
        self._flush()
        found = self.validate()
        if not math.isfinite(sum(found["acceptance"])):
            raise ValueError(
                f"the head's distributions are not finite after step {self.step}: use a lower learning rate"
            )
        tokens = accepted_tokens(found["acceptance"])
        if tokens > self._best["tokens"]:
            state = {name: value.to("cpu", copy=True) for name, value in self.head.state_dict().items()}
            self._best = {"step": self.step, "tokens": tokens, "head": state}
        figures = {"step": self.step, **found}
        self._append([figures])
        note(figures)

    def _flush(self) -> None:
        """Fetch the figures of the last steps from the device and append them to the metrics."""
        pending, self._pending = self._pending, []
        lines = []
        for step, rate, figures in pending:
            loss, *overlaps = figures.tolist()
            if not math.isfinite(loss):
                raise ValueError(f"the loss of step {step} is {loss}: use a lower learning rate")
            lines.append({"step": step, "rate": rate, "loss": loss, "train": overlaps})
        self._append(lines)

    def _append(self, lines: list[dict[str, Any]]) -> None:
        with self.metrics.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
