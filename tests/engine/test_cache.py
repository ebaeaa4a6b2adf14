"""Shrinking the cache to the accepted path."""

import pytest
import torch
from transformers import DynamicCache, StaticCache

from engine.families import tiny
from univer.engine.cache import check_lengths, keep_nodes, new_cache


def filled(length, layers=2):
    cache = new_cache()
    for layer in range(layers):
        entries = torch.arange(length).float().reshape(1, 1, length, 1).expand(1, 2, length, 3).clone() + 100 * layer
        cache.update(entries, entries + 0.5, layer)
    return cache


def kept(cache):
    return [layer.keys[0, 0, :, 0].tolist() for layer in cache.layers]


@pytest.mark.parametrize("nodes", [[], [0], [0, 1, 2], [0, 2, 5], [1, 2, 3, 4, 5, 6], [6]])
def test_fault_17_paths_that_overlap_their_destination(nodes):
    cache = filled(11)
    keep_nodes(cache, 4, nodes)
    expected = [0, 1, 2, 3, *(4 + node for node in nodes)]
    assert kept(cache) == [expected, [100 + entry for entry in expected]]
    assert cache.layers[1].values[0, 1, :, 2].tolist() == [100.5 + entry for entry in expected]


def test_fault_14_nothing_is_kept_of_a_first_tree():
    cache = filled(3)
    keep_nodes(cache, 0, [])
    assert [layer.get_seq_length() for layer in cache.layers] == [0, 0]
    cache.update(torch.ones(1, 2, 1, 3), torch.ones(1, 2, 1, 3), 0)
    assert cache.layers[0].get_seq_length() == 1


def test_layers_that_a_model_skips_stay_empty():
    cache = new_cache()
    cache.update(torch.ones(1, 2, 4, 3), torch.ones(1, 2, 4, 3), 1)
    keep_nodes(cache, 2, [1])
    check_lengths(cache, 3)
    assert cache.layers[0].keys is None


def test_windows_never_shorten_the_cache():
    assert not any(new_cache().is_sliding)
    assert DynamicCache(config=tiny("mistral").config).is_sliding[0]


def test_fault_15_a_cache_of_fixed_size_is_refused():
    cache = StaticCache(config=tiny("llama").config, max_cache_len=16)
    entries = torch.ones(1, 2, 5, 4)
    cache.update(entries, entries, 0)
    cache.layers[0].get_seq_length = lambda: 16
    with pytest.raises(ValueError, match="layer 0 keeps 16 cache entries where 5 tokens were read"):
        check_lengths(cache, 5)
