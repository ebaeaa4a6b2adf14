"""From the words of a command to a live benchmark with its models loaded, here or in another process."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from zlib import crc32

from univer.bench.cells import cells_of
from univer.bench.checksum import ids_checksum, weights_checksum
from univer.bench.live import LiveBench
from univer.bench.shards import Plan, shards_of
from univer.cli.loading import changed_settings, generation_config, load_target, pair_with
from univer.cli.options import ModelOptions, PairOptions
from univer.drafting.base import Draft
from univer.models.prompts import Prompt, encode

__all__ = ["LiveSetup"]


@dataclass(frozen=True, kw_only=True)
class LiveSetup:
    """Everything that a live benchmark depends on, as text and numbers that travel between processes.

    Attributes:
        models: The target, and how models are loaded.
        prompts: The prompts, with their task group as kind.
        grid: Methods by tree.
        drafts: As `univer generate` takes them; none for its default.
        temperatures: Temperatures of the target.
        tokens: Length of every answer.
        seed: Of all answers.
        sampling: `top_k`, `top_p`, `min_p` and `draft_temperature`.
        ignore_config: Go without the settings of the target's generation configuration.
    """

    models: ModelOptions
    prompts: tuple[Prompt, ...]
    grid: dict[str, list[str]]
    drafts: tuple[str, ...] = ()
    temperatures: tuple[float, ...] = (1.0,)
    tokens: int = 128
    seed: int = 0
    sampling: dict[str, Any]
    ignore_config: bool = False

    def build(self) -> tuple[LiveBench, Plan]:
        """Load the models.

        Returns:
            The benchmark, and what there is to measure.

        Raises:
            ModelError: A model cannot be loaded.
            ValueError: Something in the request cannot be run; the message says what.
        """
        models = self.models
        model, tokenizer = load_target(models)
        config = generation_config(model, ignore=self.ignore_config, greedy=not any(self.temperatures))
        shared = {entry.name: getattr(models, entry.name) for entry in fields(ModelOptions)}
        drafts: dict[str, Draft] = {}
        for named in self.drafts or (None,):
            drafter = pair_with(PairOptions(**shared, draft=named), model, tokenizer).draft
            label = Path(drafter.name).name
            if label in drafts:
                raise ValueError(f"two drafts are called {label!r}: results could not be told apart")
            drafts[label] = drafter
        cells, notes = cells_of(self.grid, drafts, self.temperatures)
        bench = LiveBench(
            model, tokenizer, cells, tokens=self.tokens, seed=self.seed, generation_config=config, **self.sampling
        )
        excess = {prompt.name: bench.excess(prompt) for prompt in self.prompts}
        fitting = [prompt for prompt in self.prompts if not excess[prompt.name]]
        if not fitting:
            raise ValueError(
                f"with answers of {self.tokens} tokens every prompt is longer than the models read, the shortest by "
                f"{min(excess.values())} tokens: ask for shorter answers or give shorter prompts"
            )
        long = [name for name, tokens in excess.items() if tokens]
        if long:
            notes = [
                *notes,
                f"{len(long)} of {len(self.prompts)} prompts, which with answers of {self.tokens} tokens are longer "
                f"than the models read: {', '.join(long)}",
            ]
        settings = {
            "target": Path(models.target).name,
            "drafts": list(drafts),
            "grid": self.grid,
            "temperatures": list(self.temperatures),
            "sampling": self.sampling,
            "ignore_config": self.ignore_config,
            "tokens": self.tokens,
            "seed": self.seed,
            "dtype": str(model.dtype).removeprefix("torch."),
            "device": model.device.type,
            "prompts": [prompt.name for prompt in fitting],
            "prompts_checksum": crc32(repr([asdict(prompt) for prompt in fitting]).encode()),
            "generation": changed_settings(config or getattr(model, "generation_config", None)),
            "weights_checksum": weights_checksum(model, drafts.values()),
            "ids_checksum": ids_checksum(encode(tokenizer, prompt.text) for prompt in fitting),
            "left_out": notes,
        }
        keys = [cell.key(prompt) for prompt in fitting for cell in cells]
        return bench, Plan(settings, shards_of(fitting, self.temperatures), keys, notes)
