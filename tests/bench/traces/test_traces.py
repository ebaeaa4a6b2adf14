"""Traces of a tiny pair: a replay has the very figures of a measurement; stopped, damaged and old traces."""

import json
import shutil
from pathlib import Path

import pytest

from bench.traces.recordings import METHODS, PROMPTS, SETTINGS, pair, recorded
from univer.bench import ContextSettings, chosen_rows, measure, rows_for
from univer.bench.folder import key
from univer.bench.traces import TraceFolder, replay
from univer.engine import Sampling

TREES = ("2x3", "grow:nodes=12,depth=3", "eagle2:nodes=8,depth=2")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> TraceFolder:
    return recorded(tmp_path_factory.mktemp("trace") / "one").folder


def shards(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.glob("*.npz")}


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize(
    ("trees", "methods", "sampling"),
    [(TREES[:1], METHODS, Sampling()), (TREES, ("univer", "mixed"), Sampling(0.8, top_k=20))],
)
def test_a_replay_has_the_very_figures_of_a_measurement(
    trees: tuple[str, ...], methods: tuple[str, ...], sampling: Sampling, rounds: bool, tmp_path: Path
) -> None:
    settings = ContextSettings(sampling=sampling, places=2, drafted=2, new_tokens=10)
    text_of = str if rounds else None
    trace = recorded(tmp_path / "trace", trees, methods, settings, text_of=text_of, seed=3).folder
    measured = list(measure(*pair(), PROMPTS, rows_for(trees, methods), [settings], seeds=(3, 4)))
    assert len(measured) == len(PROMPTS) * len(trees) * len(methods)
    found = list(replay(trace, chosen_rows(trace.settings)))
    if rounds:  # the target has read more rows at once, which may round otherwise
        for one, other in zip(found, measured, strict=True):
            near = 1e-3 if "gain" in one["method"] else 1e-5  # siblings that nearly tie may change places
            assert one["taus"] == pytest.approx(other["taus"], abs=near)
    else:
        assert found == measured


def test_a_stopped_recording_resumes_to_the_same_files(trace: TraceFolder, tmp_path: Path) -> None:
    whole = shards(trace.path)
    assert len(whole) == len(PROMPTS)
    limit = trace.size - min(map(len, whole.values())) + 200
    stopped = recorded(tmp_path / "stopped", limit_bytes=limit)
    assert stopped.full
    assert 0 < len(stopped.folder.finished) < len(PROMPTS)
    assert {record["prompt"] for record in replay(stopped.folder, chosen_rows(trace.settings, None, ["univer"]))} == {
        prompt.name for prompt in stopped.folder.finished
    }
    (stopped.folder.path / "prompt-0002.npz.partial").write_bytes(b"killed here")
    assert not recorded(tmp_path / "stopped").full
    assert shards(tmp_path / "stopped") == whole
    assert TraceFolder(tmp_path / "stopped").settings == trace.settings


def test_what_is_done_is_left_out(trace: TraceFolder) -> None:
    rows = chosen_rows(trace.settings, None, ["rrsw", "univer"])
    whole = list(replay(trace, rows))
    assert list(replay(trace, rows, {key(record) for record in whole[:3]})) == whole[3:]


def test_a_damaged_shard_says_which_prompt_to_record_again(trace: TraceFolder, tmp_path: Path) -> None:
    shutil.copytree(trace.path, tmp_path / "copy")
    copy = TraceFolder(tmp_path / "copy")
    shard = tmp_path / "copy" / "prompt-0001.npz"
    whole = shard.read_bytes()
    middle = len(whole) // 2
    for content in (whole[:-100], whole[:middle] + bytes(200) + whole[middle + 200 :], b""):
        shard.write_bytes(content)
        with pytest.raises(ValueError, match=r"prompt-0001.npz cannot be read: .* records the prompt '82' again"):
            list(replay(copy, chosen_rows(copy.settings, None, ["univer"])))


def test_other_formats_are_rejected(trace: TraceFolder, tmp_path: Path) -> None:
    manifest = json.loads((trace.path / "trace.json").read_text())
    for version, message in ((1, "record it again with 'univer trace'"), (3, "update univer")):
        (tmp_path / "trace.json").write_text(json.dumps(manifest | {"format": version}))
        with pytest.raises(ValueError, match=f"a trace of format {version}, .* reads format 2: {message}"):
            TraceFolder(tmp_path)
    for content in ("{", '{"format": 2}', '{"format": 2, "settings": {"prompts": [{"title": "81"}]}}'):
        (tmp_path / "trace.json").write_text(content)
        with pytest.raises(ValueError, match="cannot be read"):
            TraceFolder(tmp_path)


def test_what_a_trace_lacks_is_named(trace: TraceFolder, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'mixed' needs 2x3 trees of the sampling scheme 'mixed'"):
        chosen_rows(trace.settings, None, ["mixed"])
    with pytest.raises(ValueError, match=r"the trace in .* has other settings: seed = 0 \(now 5\)"):
        recorded(trace.path, seed=5)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="does not hold a trace"):
        recorded(tmp_path / "other")


def test_settings_are_kept(trace: TraceFolder) -> None:
    assert trace.settings["places"] == SETTINGS.places
    assert trace.settings["sampling"] == vars(Sampling())
    assert [prompt.name for prompt in trace.prompts] == ["81", "82"]
