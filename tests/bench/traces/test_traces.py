"""Traces of a tiny pair: what is replayed is what compare finds; stopped, damaged and foreign traces."""

import json
import shutil
from pathlib import Path

import pytest

from bench.traces.recordings import METHODS, PROMPTS, SETTINGS, pair, recorded
from univer.bench import compare
from univer.bench.folder import RunFolder
from univer.bench.summary import summarise
from univer.bench.traces import TraceFolder, chosen_rows, replay
from univer.engine import Sampling


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> TraceFolder:
    return recorded(tmp_path_factory.mktemp("trace") / "one", tail=1e-3).folder


def shards(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.glob("*.safetensors")}


def test_a_replay_is_a_comparison_up_to_its_bound(trace: TraceFolder) -> None:
    live = compare(*pair(), PROMPTS, ["2x3"], METHODS, **SETTINGS)
    records = list(replay(trace, chosen_rows(trace.settings)))
    assert len(records) == len(PROMPTS) * len(METHODS)
    for record in records:
        taus = live.taus[record["prompt"]][record["tree"], record["method"]]
        worst = max(abs(own - exact) for own, exact in zip(record["taus"], taus, strict=True))
        # The bound is that of the mean over the trees; compare works in float32.
        assert worst <= record["error"] * len(taus) + 2e-5, record["method"]
        assert record["survival"][0] <= 1
        assert sum(record["survival"]) == pytest.approx(sum(record["taus"]) / len(taus) - 1, abs=1e-6)
    rows = {row["method"]: row for row in summarise(records)["rows"] if row["group"] == "all"}
    assert rows["univer"]["tau"]["value"] == pytest.approx(
        sum(live.prompt_means("2x3", "univer")) / len(PROMPTS), abs=rows["univer"]["error"] + 2e-5
    )
    assert rows["membership"]["error"] < 1e-8 < rows["univer"]["error"]


def test_grown_trees_and_filters_replay_exactly(tmp_path: Path) -> None:
    trees, sampling = ("grow:nodes=12,depth=3", "eagle2:nodes=8,depth=2"), Sampling(1.0, top_k=20)
    trace = recorded(tmp_path / "trace", trees, ("univer", "mixed"), sampling=sampling, prompts=PROMPTS[:1]).folder
    assert trace.settings["tail"] == 0
    live = compare(*pair(), PROMPTS[:1], trees, ("univer", "mixed"), sampling=sampling, **SETTINGS)
    for record in replay(trace, chosen_rows(trace.settings)):
        assert record["error"] == 0
        assert record["taus"] == pytest.approx(live.taus[record["prompt"]][record["tree"], record["method"]], abs=2e-5)


def test_a_stopped_recording_goes_on_to_the_same_files(trace: TraceFolder, tmp_path: Path) -> None:
    whole = shards(trace.path)
    assert len(whole) == len(PROMPTS)
    limit = trace.size - min(map(len, whole.values())) + 200
    stopped = recorded(tmp_path / "stopped", tail=1e-3, limit_bytes=limit)
    assert stopped.full
    assert 0 < len(stopped.folder.finished) < len(PROMPTS)
    assert {record["prompt"] for record in replay(stopped.folder, chosen_rows(trace.settings, None, ["univer"]))} == {
        prompt.name for prompt in stopped.folder.finished
    }
    (stopped.folder.path / "prompt-0002.safetensors.partial").write_bytes(b"killed here")
    assert not recorded(tmp_path / "stopped", tail=1e-3).full
    assert shards(tmp_path / "stopped") == whole
    manifests = [json.loads((path / "trace.json").read_text()) for path in (trace.path, tmp_path / "stopped")]
    assert manifests[0]["settings"] == manifests[1]["settings"]


def test_a_run_folder_is_gone_on_with(trace: TraceFolder, tmp_path: Path) -> None:
    rows = chosen_rows(trace.settings, None, ["rrsw", "univer"])
    into = RunFolder.open(tmp_path / "run", "replay", trace.settings)
    records = replay(trace, rows, into)
    first = [next(records) for _ in range(3)]
    assert RunFolder(tmp_path / "run").records[:3] == first
    again = RunFolder.open(tmp_path / "run", "replay", trace.settings)
    everything = list(replay(trace, rows, again))
    assert everything == list(replay(trace, rows))
    assert len(again.records) == len(everything)


def test_a_damaged_shard_says_which_prompt_to_record_again(trace: TraceFolder, tmp_path: Path) -> None:
    shutil.copytree(trace.path, tmp_path / "copy")
    shard = tmp_path / "copy" / "prompt-0001.safetensors"
    shard.write_bytes(shard.read_bytes()[:-100])
    copy = TraceFolder(tmp_path / "copy")
    with pytest.raises(ValueError, match=r"no whole safetensors file .* records the prompt '82' again"):
        list(replay(copy, chosen_rows(copy.settings, None, ["univer"])))


def test_a_foreign_format_is_refused(trace: TraceFolder, tmp_path: Path) -> None:
    manifest = json.loads((trace.path / "trace.json").read_text())
    (tmp_path / "trace.json").write_text(json.dumps(manifest | {"format": 2}))
    with pytest.raises(ValueError, match="has the trace format 2, this version of univer reads 1"):
        TraceFolder(tmp_path)
    for content in ("{", '{"format": 1}', '{"format": 1, "settings": {"prompts": [{"title": "81"}]}}'):
        (tmp_path / "trace.json").write_text(content)
        with pytest.raises(ValueError, match="cannot be read"):
            TraceFolder(tmp_path)


def test_what_a_trace_lacks_is_named(trace: TraceFolder, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'mixed' needs trees 2x3 by the draft law 'mixed', which the trace lacks"):
        chosen_rows(trace.settings, None, ["mixed"])
    with pytest.raises(ValueError, match="no error bound is known for the method 'optimal'"):
        list(replay(trace, chosen_rows(trace.settings, None, ["optimal"])))
    with pytest.raises(ValueError, match=r"the trace in .* has other settings: seed = 0 \(now 5\)"):
        recorded(trace.path, tail=1e-3, seed=5)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="does not hold a trace"):
        recorded(tmp_path / "other")
