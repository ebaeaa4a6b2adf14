"""The scripts in `benchmarks`, as far as they can be tested without models of a size."""

import json
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from tiny_models import tiny_llama
from univer.bench.folder import MANIFEST
from univer.bench.rows import rows_for
from univer.bench.summary import summarise
from univer.drafting.independent import IndependentDraft

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(name: str) -> ModuleType:
    """A script as a module."""
    spec = spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["script", *arguments])


def main_table(prompts: int, methods: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Manifest and summary of a made-up run over nine prompts."""
    common = {"source": "replay", "group": "qa", "draft": "d", "tree": "2x5", "temperature": 1.0}
    records = [
        common | {"prompt": str(prompt), "method": method, "taus": [3.0 + prompt / 10 + place]}
        for prompt in range(prompts)
        for place, method in enumerate(methods)
    ]
    settings = {"target": "t", "draft": "d", "dtype": "float32", "seed": 0, "prompts": list("123456789")}
    settings["questions"] = "question.jsonl"
    settings["experiment"] = {"temperatures": [1.0], "count": 9, "places": 8}
    versions = {"torch": "2", "transformers": "5"}
    machine = {"accelerator": None, "processor": "P", "cores": 2, "versions": versions}
    return {"settings": settings, "machine": machine}, summarise(records) | {"paper": []}


def test_the_table_of_results_copes_with_few_prompts_and_lacking_rows() -> None:
    runs = [main_table(3, ("rrsw", "univer")), main_table(9, ("rrsw", "greedy"))]
    lines = script("results_table").table(runs).splitlines()
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines[2:5]}
    assert rows["univer"] == "| univer | `2x5` | 4.10 | +32.3% |  |  |  |"
    assert rows["greedy"].startswith("| greedy | `2x5` |  |  | 4.40 | +29.4% (+")
    assert list(rows) == ["rrsw", "univer", "greedy"]
    assert "t: 3 of 9 prompts so far, " in lines[-1]


def test_the_table_of_results_is_of_runs_of_one_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = script("results_table")
    for name, seed in (("main-table", 0), ("depth", 0), ("other", 1)):
        manifest, summary = main_table(9, ("rrsw",))
        kind = "depth" if name == "depth" else "main-table"
        manifest["settings"] |= {"questions": "mine.jsonl", "seed": seed, "new_tokens": 64}
        manifest["settings"]["experiment"]["name"] = kind
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        (tmp_path / name / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    readme = tmp_path / "README.md"
    readme.write_text(f"a\n{module.BEGIN}\n{module.END}\nb\n", encoding="utf-8")
    monkeypatch.setattr(module, "README", readme)
    for runs, message in (
        (["nowhere"], "nowhere is no run of"),
        (["depth"], "a run of the experiment 'depth', not of 'main-table'"),
        (["main-table", "other"], "the runs differ in seed: 0 and 1"),
    ):
        called(monkeypatch, *(str(tmp_path / run) for run in runs))
        with pytest.raises(SystemExit, match="2"):
            module.main()
        assert message in capsys.readouterr().err
    called(monkeypatch, str(tmp_path / "main-table"))
    assert module.main() == 0
    assert "on prompts of mine.jsonl (9 of each" in readme.read_text(encoding="utf-8")


def test_growing_trees_interrupted_before_the_first_prompt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupted(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    module = script("growing_trees")
    monkeypatch.setattr(module, "load", lambda name: (tiny_llama(0), None))
    monkeypatch.setattr(module, "encode", lambda tokenizer, text: torch.tensor([[1]]))
    monkeypatch.setattr(module, "measure", interrupted)
    called(monkeypatch, "--target", "t", "--draft", "d", "--json", str(tmp_path / "found.json"))
    assert module.main() == 130
    assert capsys.readouterr().out == "interrupted before the first prompt was finished: nothing to show\n"
    assert not (tmp_path / "found.json").exists()


@pytest.fixture
def against(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`replay_against_live.py` without models, as a function of its arguments."""
    module = script("replay_against_live")
    target = tiny_llama(0)

    def with_prompts(pair: SimpleNamespace, prompts: Any, *given: object, **named: object) -> SimpleNamespace:
        pair.prompts = [(prompt, torch.tensor([[1]])) for prompt in prompts]
        return pair

    pair = SimpleNamespace(target=target, draft=IndependentDraft(target, "d"))
    monkeypatch.setattr(module, "load_pair", lambda options: pair)
    monkeypatch.setattr(module, "with_prompts", with_prompts)
    monkeypatch.setattr(module, "measure", lambda *given: ([2, 3], [2.5, 2.4]))

    def run(*arguments: str) -> None:
        called(monkeypatch, *arguments)
        module.main()

    return run


def test_replay_against_live_does_not_go_on_with_other_texts(against: Callable[..., None], tmp_path: Path) -> None:
    questions, output = tmp_path / "question.jsonl", tmp_path / "run"
    arguments = ("--questions", str(questions), "--output", str(output), "--method", "rrsw")
    questions.write_text(json.dumps({"question_id": 1, "category": "qa", "turns": ["Who?"]}) + "\n", encoding="utf-8")
    against(*arguments)
    against(*arguments)
    assert json.loads((output / MANIFEST).read_text(encoding="utf-8"))["settings"]["prompts"] == ["1"]
    assert json.loads((output / "summary.json").read_text(encoding="utf-8"))["agreement"][0]["prompts"] == 1
    questions.write_text(json.dumps({"question_id": 1, "category": "qa", "turns": ["Why?"]}) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="the texts of the prompts differ"):
        against(*arguments)


def test_replay_against_live_refuses_texts_shorter_than_a_round(
    against: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        against("--tokens", "4", "--tree", "2x3")
    assert "--tokens 4 is less than a whole round: trees of depth 3 need 5" in capsys.readouterr().err


def test_replay_against_live_leaves_out_texts_without_a_whole_round() -> None:
    module = script("replay_against_live")
    (row,) = rows_for(["2x3"], ["rrsw"])
    pair = SimpleNamespace(target=tiny_llama(0), draft=IndependentDraft(tiny_llama(1)), generation_config=None)
    ids = torch.tensor([[1, 40, 41, 40]])
    assert module.live_texts(pair, ids, row, texts=2, tokens=2, seed=0) == []
    assert len(module.live_texts(pair, ids, row, texts=2, tokens=5, seed=0)) == 2
    assert module.measure(pair, "1", ids, row, texts=2, tokens=2, seed=0) == ([], [])
    nothing = {"prompt": "1", "method": "rrsw", "live": [], "taus": []}
    assert module.agreement([nothing]) == []
    some = nothing | {"method": "univer", "live": [2], "taus": [1.9]}
    [row] = module.agreement([nothing, some, some | {"live": [3]}, some | {"prompt": "2"}])
    assert (row["prompts"], row["rounds"], row["live"]) == (2, 3, pytest.approx(7 / 3))


def test_runs_of_several_seeds_make_one_table(
    against: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(tmp_path / str(seed)) for seed in (0, 1)]
    for seed, run in enumerate(runs):
        against("--count", "1", "--seed", str(seed), "--output", run, "--method", "rrsw")
    capsys.readouterr()
    found = tmp_path / "pooled.json"
    against("--pool", *runs, "--json", str(found))
    assert "rrsw    24      2.500     2.450       +2.0%" in capsys.readouterr().out
    pooled = json.loads(found.read_text(encoding="utf-8"))
    assert pooled["settings"]["seed"] == "0, 1"
    assert pooled["agreement"][0]["rounds"] == 24
    against("--count", "1", "--tree", "2x2", "--output", str(tmp_path / "other"), "--method", "rrsw")
    with pytest.raises(ValueError, match="tree = '2x3' \\(now '2x2'\\)"):
        against("--pool", runs[0], str(tmp_path / "other"))
