"""The table of a run, against figures worked out by hand."""

import pytest

from univer.bench.summary import summarise


def replayed(prompt, method, taus, group="qa", **others):
    common = {"source": "replay", "draft": "d", "tree": "2x5", "temperature": 1.0, "nodes": 62}
    return common | {"prompt": prompt, "group": group, "method": method, "taus": taus, "survival": [0.8, 0.4]} | others


def live(prompt, method, tokens, decode, **others):
    drafted = method != "plain"
    own = {"draft": "d", "tree": "2x5"} if drafted else {"draft": None, "tree": None}
    common = {"source": "live", "group": "qa", "temperature": 1.0, "nodes": 62 if drafted else 0, "rounds": 4}
    seconds = {"prefill": 7.0, "draft": decode / 4, "target": 3 * decode / 4}
    figures = {"tokens": tokens, "tau": 2.0 if drafted else None, "survival": [0.5] if drafted else []}
    return common | own | {"prompt": prompt, "method": method, "seconds": seconds} | figures | others


def row_of(summary, method, group="all"):
    [row] = [row for row in summary["rows"] if row["method"] == method and row["group"] == group]
    return row


def test_tau_is_the_mean_over_prompts_of_the_mean_over_trees():
    rows = summarise([replayed("1", "univer", [2.0, 3.0]), replayed("2", "univer", [4.0])])
    assert row_of(rows, "univer")["tau"]["value"] == pytest.approx((2.5 + 4.0) / 2)


def test_gains_compare_the_same_prompts():
    records = [replayed("9", "univer", [9.0])]
    for prompt, tau in enumerate((2.0, 4.0, 3.0, 2.5, 3.5, 2.2)):
        records += [replayed(str(prompt), "rrsw", [tau]), replayed(str(prompt), "univer", [1.1 * tau])]
    summary = summarise(records)
    gain = row_of(summary, "univer")["gain"]
    assert gain["value"] == pytest.approx(0.1)
    assert gain["low"] == pytest.approx(0.1)
    assert row_of(summary, "rrsw")["gain"] is None


def test_a_gain_needs_the_reference_on_the_same_tree():
    records = [replayed("1", "univer", [2.2]), replayed("1", "rrsw", [2.0], tree="3x3")]
    assert row_of(summarise(records), "univer")["gain"] is None


def test_a_tree_without_the_reference_is_compared_with_that_on_another_where_one_is_named():
    records = [replayed("1", "univer", [2.2], tree="grow"), replayed("1", "rrsw", [2.0])]
    row = row_of(summarise(records, reference_tree="2x5"), "univer")
    assert row["gain"]["value"] == pytest.approx(0.1)
    assert row["reference_tree"] == "2x5"


def test_groups_have_rows_of_their_own():
    summary = summarise([replayed("1", "univer", [2.0]), replayed("2", "univer", [4.0], group="rag")])
    assert row_of(summary, "univer", "rag")["tau"]["value"] == 4.0
    assert row_of(summary, "univer", "qa")["prompts"] == 1
    assert row_of(summary, "univer")["prompts"] == 2


def test_survival_counts_short_trees_as_keeping_nothing_deeper():
    summary = summarise([replayed("1", "univer", [2.0]), replayed("2", "univer", [2.0], survival=[0.6])])
    row = row_of(summary, "univer")
    assert [place["value"] for place in row["survival"]] == pytest.approx([0.7, 0.2])
    assert row["conditional"] == pytest.approx([0.7, 0.2 / 0.7])


def test_speed_leaves_the_prefill_and_its_token_out():
    records = [live("1", "plain", 11, 10.0), live("1", "univer", 11, 5.0)]
    summary = summarise(records)
    assert row_of(summary, "plain")["rate"] == pytest.approx(1.0)
    assert row_of(summary, "univer")["rate"] == pytest.approx(2.0)
    assert row_of(summary, "univer")["speedup"]["value"] == pytest.approx(2.0)
    assert row_of(summary, "plain")["speedup"] is None
    assert row_of(summary, "plain")["tau"] is None
    assert row_of(summary, "univer")["phases"] == pytest.approx({"prefill": 7.0, "draft": 5 / 16, "target": 15 / 16})


def test_speed_is_compared_per_token_on_shared_prompts():
    records = [live("1", "plain", 11, 10.0), live("1", "univer", 6, 2.5), live("2", "univer", 6, 100.0)]
    assert row_of(summarise(records), "univer")["speedup"]["value"] == pytest.approx(2.0)


def test_every_turn_has_a_prefill_of_its_own():
    summary = summarise([live("1", "plain", 12, 10.0, turns=2)])
    assert row_of(summary, "plain")["rate"] == pytest.approx(1.0)
    assert row_of(summary, "plain")["phases"]["prefill"] == pytest.approx(3.5)


def test_the_order_of_the_records_does_not_matter():
    records = [replayed(str(number), method, [2 + number / 7]) for number in range(9) for method in ("rrsw", "univer")]
    backwards = summarise(records[::-1])
    assert row_of(backwards, "univer") == row_of(summarise(records), "univer")


def test_no_records_give_an_empty_table():
    assert summarise([])["rows"] == []
