"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import univer

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = ["univer", *(found.name for found in pkgutil.walk_packages(univer.__path__, "univer."))]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples fail, see the output"
