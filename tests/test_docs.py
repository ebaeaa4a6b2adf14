"""The examples of the documentation run, and its links lead somewhere."""

import doctest
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from random_trees import random_tree
from tiny_models import tiny_llama
from univer import methods, outcome_law
from univer.bench.folder import RunFolder
from univer.bench.report.looks import colours, look
from univer.bench.report.names import title
from univer.bench.summary import summarise
from univer.cli import main
from univer.methods import _registry
from univer.models.machine import machine

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
RESULTS_HOOK = runpy.run_path(str(ROOT / "docs" / "hooks" / "results.py"))
SESSIONS = [page for page in DOCS if "```pycon" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        # The page of results is made when the site is built.
        assert (page.parent / target).exists() or target == "results.md", target


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_the_sessions_of_a_page_run_as_shown(page: Path) -> None:
    blocks = re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    assert session.examples
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(session)
    assert runner.summarize(verbose=False).failed == 0


def test_every_rule_has_a_page_that_names_its_methods() -> None:
    for name, method in methods().items():
        module = type(method.rule).__module__
        if module.startswith("univer.rules."):
            page = ROOT / "docs" / "rules" / f"{module.rpartition('.')[2]}.md"
            assert f"`{name}`" in page.read_text(encoding="utf-8"), name


def test_the_page_of_results_has_a_section_for_every_file_and_its_figures() -> None:
    page, folder = RESULTS_HOOK["page"](RESULTS_HOOK["RESULTS"]), RESULTS_HOOK["RESULTS"]
    files = [file.stem for file in sorted(folder.glob("*.json"))]
    assert [name for name in re.findall(r"^## (.+)$", page, flags=re.MULTILINE) if name in files] == files
    (row,) = (
        row
        for row in json.loads((folder / "compare-qwen-2x5.json").read_text(encoding="utf-8"))["rows"]
        if row["name"] == "univer"
    )
    section = page.partition("## compare-qwen-2x5\n")[2].partition("\n## ")[0]
    tau, gain = row["tau"], row["gain_over_rrsw"]
    assert f"| univer | {row['nodes']:.1f} | {tau['value']:.2f} ({tau['low']:.2f} to {tau['high']:.2f}) | " in section
    assert f"| {gain['value']:+.1%} ({gain['low']:+.1%} to {gain['high']:+.1%}) | +7.5% |" in section


def test_the_table_of_the_readme_is_that_of_the_runs() -> None:
    runs = sorted((ROOT / "benchmarks" / "results").glob("main-table-*"))
    assert runs
    command = [sys.executable, str(ROOT / "benchmarks" / "results_table.py"), "--check", *map(str, runs)]
    assert subprocess.run(command, check=False).returncode == 0


def test_the_page_of_results_shows_run_folders_and_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    record = {"source": "replay", "group": "qa", "draft": "d", "tree": "2x1", "temperature": 1.0, "nodes": 2.0}
    run = RunFolder.open(tmp_path / "small", "replay", {"seed": 0})
    for prompt in range(6):
        for method, tau in (("rrsw", 1.4 + prompt / 10), ("univer", 1.6 + prompt / 9)):
            measured = {"prompt": str(prompt), "method": method, "taus": [tau], "survival": [tau - 1]}
            run.append(record | measured)
    summary = summarise(run.records)
    run.finish(summary | {"paper": [{"tree": "2x1", "temperature": 1.0, "method": "univer", "paper": 0.1}]})
    page = RESULTS_HOOK["page"](tmp_path)
    assert "## small\n" in page
    tau, gain = next((row["tau"], row["gain"]) for row in summary["rows"] if row["method"] == "univer")
    shown = f"{tau['value']:.2f} ({tau['low']:.2f} to {tau['high']:.2f})"
    shown += f" | {gain['value']:+.1%} ({gain['low']:+.1%} to {gain['high']:+.1%})"
    assert f"| d | 2x1 | univer | 1 | 6 | 2.0 | {shown} | +10.0% |" in page
    (tmp_path / "other.json").write_text('{"what": 1}', encoding="utf-8")
    with pytest.raises(ValueError, match="no result file that the page of results knows"):
        RESULTS_HOOK["page"](tmp_path)


@pytest.mark.parametrize(("asked", "said"), [(6, "6 prompts"), (9, "6 of 9 prompts so far")])
def test_the_page_of_results_says_how_many_prompts_a_run_has_seen(tmp_path: Path, asked: int, said: str) -> None:
    names = [str(number) for number in range(asked)]
    run = RunFolder.open(tmp_path / "small", "replay", {"prompts": names})
    record = {"source": "replay", "group": "qa", "draft": "d", "tree": "2x1", "temperature": 1.0, "method": "rrsw"}
    for prompt in names[:6]:
        run.append(record | {"prompt": prompt, "taus": [1.5]})
    run.finish(summarise(run.records))
    assert f"`univer replay`, {said}, " in RESULTS_HOOK["page"](tmp_path)


@pytest.mark.parametrize(("row", "said"), [({}, "9 prompts x"), ({"prompts": 6}, "6 of 9 prompts so far x")])
def test_the_page_of_results_shows_agreement_also_of_older_runs(tmp_path: Path, row: dict[str, int], said: str) -> None:
    settings = {"target": "t", "draft": "d", "tree": "2x3", "temperature": 1.0, "dtype": "float32", "texts": 4}
    settings |= {"tokens": 48, "seed": 0, "prompts": list("123456789")}
    difference = {"value": 0.01, "low": None, "high": None}
    row = {"method": "rrsw", "rounds": 40, "live": 2.0, "replay": 1.98, "difference": difference} | row
    RunFolder.open(tmp_path / "agreement", "agreement", settings).finish({"agreement": [row]})
    page = RESULTS_HOOK["page"](tmp_path)
    assert f"float32, {said} 4 texts" in page
    assert "| rrsw | 40 | 2.000 | 1.980 | +1.0% |" in page


def test_the_page_of_results_shows_a_verification_without_a_target(tmp_path: Path) -> None:
    found = {"settings": {"vocabulary": 512, "tree": "2x5", "rounds": 3, "target": None}, "machine": machine()}
    found |= {"seconds": {"univer (drawn)": [0.002, 0.001, 0.003]}, "added_memory": {"univer (drawn)": 0.1}}
    (tmp_path / "verification.json").write_text(json.dumps(found), encoding="utf-8")
    page = RESULTS_HOOK["page"](tmp_path)
    assert "Medians of 3 rounds, tree 2x5, vocabulary 512; " in page
    assert "| what | milliseconds |\n| --- | --- |\n| univer (drawn) | 2.0 |\n" in page


def test_the_table_of_methods_is_complete() -> None:
    page = ROOT / "docs" / "methods.md"
    named = set(re.findall(r"`([a-z-]+)`", page.read_text(encoding="utf-8")))
    assert set(methods()) <= named


def test_every_fault_has_a_row_and_a_test_in_each_of_its_files() -> None:
    page = ROOT / "docs" / "faults.md"
    rows = re.findall(r"^\| (\d+) \| .+ \| (.+) \|$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 39))
    for number, cell in rows:
        files = re.findall(r"`([\w/]+\.py)`", cell)
        assert files, number
        for file in files:
            text = (Path(__file__).parent / file).read_text(encoding="utf-8")
            assert f"def test_fault_{int(number):02}_" in text, (number, file)


@pytest.fixture
def added_rule() -> Iterator[list[str]]:
    """The code blocks of the page on adding a rule; what they register is gone afterwards."""
    page = (ROOT / "docs" / "adding-a-rule.md").read_text(encoding="utf-8")
    known = dict(_registry)
    yield re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    for name in set(_registry) - set(known):
        del _registry[name]


def test_the_rule_of_the_page_has_the_distribution_of_membership_and_passes_the_audit(
    added_rule: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for code in added_rule:
        exec(compile(code, "adding-a-rule.md", "exec"), {})
    assert capsys.readouterr().out == "True\n"
    tree, target = random_tree("fixed", "2x3", 9, seed=0)
    assert outcome_law(tree, target, "follow").allclose(outcome_law(tree, target, "membership"))


def test_the_rule_of_the_page_is_listed_and_in_reports_by_its_title_and_colour(
    added_rule: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(added_rule[0], "adding-a-rule.md", "exec"), {})
    main(["methods"])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("follow "))
    assert methods()["follow"].description in line
    assert title("follow (gain)") == "Follow the target (gain)"
    assert look("follow").colour == methods()["follow"].colour in colours()


def test_the_contract_suite_takes_the_rule_of_the_page(added_rule: list[str], tmp_path: Path) -> None:
    (tmp_path / "follow.py").write_text(added_rule[0], encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "tests/rules/test_contract.py", "-p", "follow"]
    options = ["-q", "-k", "FollowTheTarget", "-p", "no:cacheprovider"]
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    found = subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert re.search(r"^[1-9][0-9]* passed", found.stdout, flags=re.MULTILINE), found.stdout


def test_the_examples_of_the_page_on_drafts_run() -> None:
    page = ROOT / "docs" / "drafts.md"
    codes = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names = {"model": tiny_llama(0), "prompt": torch.tensor([[1, 40, 41, 40]])}
    for code in codes:
        exec(compile(code, page.name, "exec"), names)
    assert names["result"].stats.draft == "repeat"
    assert len(names["store"]) == 5 + 2 * 13
    own = names["sampled"].stats
    assert own.draft == "bigram"
    assert sum(figures.accepted for figures in own.rounds) > 0


def test_the_example_of_the_page_on_the_doctor_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "doctor.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, page.name, "exec"), {"model": tiny_llama(0)})
    assert "identity in float32: the same" in capsys.readouterr().out


def test_the_example_of_the_page_on_the_engine_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "engine.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {"model": tiny_llama(0)}
    exec(compile(code, page.name, "exec"), names)
    assert names["first"].stats.new_tokens <= 12
    assert names["second"].ended
    assert capsys.readouterr().out.startswith("5 [")


@pytest.mark.slow
def test_the_example_of_the_page_on_the_drop_in_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "drop-in.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, page.name, "exec"), {})
    assert "primary colours are" in capsys.readouterr().out


def test_the_quick_start_has_the_example_of_the_readme() -> None:
    page, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/quick-start.md", "README.md"))
    assert re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) == re.findall(
        r"```python\n(.*?)```", readme, flags=re.DOTALL
    )
