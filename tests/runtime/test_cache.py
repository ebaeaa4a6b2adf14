"""Shrinking the cache to the accepted path."""

import pytest
import torch
from transformers import DynamicCache, StaticCache

from engine.families import tiny
from univer.runtime.cache import Place, check_lengths, entries, keep_nodes, move_row, new_cache


def stamps(count, layer=0, row=0):
    return torch.arange(count).float().reshape(1, 1, count, 1).expand(1, 2, count, 3).clone() + 100 * layer + 1000 * row


def filled(*lengths, layers=2):
    """A cache whose rows were read one by one."""
    place = Place()
    cache = new_cache(place)
    for row, length in enumerate(lengths):
        place.first = row
        for layer in range(layers):
            cache.update(stamps(length, layer, row), stamps(length, layer, row) + 0.5, layer)
    return cache, place


def kept(cache, length, row=0):
    return [keys[0, 0, :, 0].tolist() for keys, _ in entries(cache, row, length)]


@pytest.mark.parametrize("nodes", [[], [0], [0, 1, 2], [0, 2, 5], [1, 2, 3, 4, 5, 6], [6]])
def test_fault_17_paths_that_overlap_their_destination(nodes):
    cache, _ = filled(11)
    keep_nodes(cache, [4], [nodes])
    expected = [0, 1, 2, 3, *(4 + node for node in nodes)]
    assert kept(cache, len(expected)) == [expected, [100 + entry for entry in expected]]
    assert entries(cache, 0, len(expected))[1][1][0, 1, :, 2].tolist() == [100.5 + entry for entry in expected]


def test_fault_17_every_row_keeps_its_own_path():
    cache, _ = filled(7, 9, 5)
    keep_nodes(cache, [3, 4, 5], [[0, 3], [2, 4], []])
    assert kept(cache, 5, 0)[0] == [0, 1, 2, 3, 6]
    assert kept(cache, 6, 1)[0] == [1000, 1001, 1002, 1003, 1006, 1008]
    assert kept(cache, 5, 2)[1] == [2100, 2101, 2102, 2103, 2104]


def test_rows_of_different_lengths_are_written_behind_their_own_entries():
    cache, place = filled(3, 6)
    place.first, place.held = 0, [3, 5]
    new = torch.cat([stamps(2) + 50, stamps(2) + 70])
    keys, _ = cache.update(new, new, 0)
    assert keys.shape == (2, 2, 7, 3)
    assert keys[0, 0, :5, 0].tolist() == [0, 1, 2, 50, 51]
    assert keys[1, 0, :, 0].tolist() == [1000, 1001, 1002, 1003, 1004, 70, 71]


def test_room_grows_and_what_was_never_written_is_zero():
    cache, place = filled(2, 300)
    assert kept(cache, 2)[0] == [0, 1]
    assert kept(cache, 300, 1)[1] == [1100.0 + entry for entry in range(300)]
    place.first, place.held = 0, [2, 300]
    keys, _ = cache.update(*[torch.cat([stamps(1), stamps(1)])] * 2, 0)
    assert not keys[0, :, 3:].any()


def test_a_row_moves():
    cache, _ = filled(3, 4, 6)
    move_row(cache, 2, 0, 6)
    assert kept(cache, 6, 0)[1] == [2100.0 + entry for entry in range(6)]
    assert kept(cache, 4, 1)[0] == [1000.0 + entry for entry in range(4)]


def test_a_pass_over_other_rows_than_announced_is_refused():
    cache, place = filled(3)
    place.held = [3, 3]
    with pytest.raises(ValueError, match="a pass over 2 rows wrote cache entries of 1"):
        cache.update(stamps(1), stamps(1), 0)


def test_fault_14_nothing_is_kept_of_a_first_tree():
    cache, place = filled(3)
    keep_nodes(cache, [0], [[]])
    place.held = [0]
    keys, _ = cache.update(stamps(1) + 7, stamps(1), 0)
    assert keys[0, 0, :, 0].tolist() == [7]


def test_layers_that_a_model_skips_stay_empty():
    place = Place()
    cache = new_cache(place)
    cache.update(stamps(4), stamps(4), 1)
    keep_nodes(cache, [2], [[1]])
    check_lengths(cache, 4)
    assert entries(cache, 0, 3)[0] is None
    assert entries(cache, 0, 3)[1][0][0, 0, :, 0].tolist() == [0, 1, 3]


def test_windows_never_shorten_the_cache():
    assert not any(new_cache(Place()).is_sliding)
    assert DynamicCache(config=tiny("mistral").config).is_sliding[0]


def test_fault_15_a_cache_of_fixed_size_is_refused():
    cache = StaticCache(config=tiny("llama").config, max_cache_len=16)
    cache.update(torch.ones(1, 2, 5, 4), torch.ones(1, 2, 5, 4), 0)
    with pytest.raises(ValueError, match="layer 0 keeps 16 cache entries where 5 tokens were read"):
        check_lengths(cache, 5)
