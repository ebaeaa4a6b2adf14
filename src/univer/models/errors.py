"""What can go wrong between a model's name and a loaded model."""

__all__ = ["ModelError", "ModelFileError", "ModelNotFoundError"]


class ModelError(Exception):
    """A model cannot be loaded; the message is one that a person can act on."""


class ModelNotFoundError(ModelError):
    """The name is neither built in, nor a directory, nor a model that the hub gives out."""


class ModelFileError(ModelError):
    """A file was found, but it is not the one that was asked for (checksum, content or format)."""
