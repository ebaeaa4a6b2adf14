"""A local Ray cluster of two workers gives what one process gives, also when a worker is lost."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from univer.bench import Prompt
from univer.bench.cluster import Cluster, check_reachable
from univer.bench.folder import RECORDS, RunFolder
from univer.bench.shards import Plan
from univer.cli import main
from univer.cli.measured import LiveSetup
from univer.cli.options import ModelOptions
from univer.models.machine import machine

pytestmark = pytest.mark.slow

PROMPTS = tuple(Prompt(str(number), "qa", f"What is {number}?", ("Why?",)) for number in range(4))


@pytest.fixture(scope="module", autouse=True)
def _ray() -> Iterator[None]:
    """A cluster with little memory, which commands find running."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        memory = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
        ray.init(num_cpus=2, log_to_driver=False, logging_level="ERROR", **memory)
        yield
        ray.shutdown()


@pytest.fixture
def setup(tiny_directory: Path) -> LiveSetup:
    return LiveSetup(
        models=ModelOptions(target=str(tiny_directory), dtype="float32", device="cpu"),
        prompts=PROMPTS,
        grid={"2x2": ["rrsw", "univer"]},
        drafts=("skip=1",),
        temperatures=(0.0, 1.0),
        tokens=8,
        sampling={},
    )


def untimed(plan: Plan, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in own.items() if name != "seconds"} for own in plan.ordered(records)]


def test_two_workers_give_the_records_of_one_process_though_one_is_lost(setup: LiveSetup, tmp_path: Path) -> None:
    bench, plan = setup.build()
    alone = list(bench.records(plan.shards))

    def build() -> Any:
        (tmp_path / str(os.getpid())).touch()
        return setup.build()

    records: list[dict[str, Any]] = []
    with Cluster(build, "auto", workers=2) as cluster:
        for record in cluster.records(cluster.plan.shards):
            records.append(record)
            if len(records) == 1:
                for path in tmp_path.iterdir():
                    os.kill(int(path.name), signal.SIGKILL)
    here = machine()
    assert cluster.machines
    assert all(own["versions"] == here["versions"] for own in cluster.machines)
    assert len(list(tmp_path.iterdir())) >= 2, "another worker was started"
    assert cluster.plan.settings == plan.settings
    assert untimed(plan, records) == untimed(plan, alone)


def test_a_cluster_goes_on_with_a_run_folder(
    setup: LiveSetup, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = tmp_path / "question.jsonl"
    lines = [{"question_id": own.name, "category": own.kind, "turns": [own.text, *own.later]} for own in PROMPTS]
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run = ["bench", "spec-bench", "--target", setup.models.target, "--questions", str(questions), "--draft", "skip=1"]
    run += ["--tree", "2x2", "--method", "rrsw", "--method", "univer", "--tokens", "8", "--dtype", "float32"]
    assert main([*run, "--output", str(tmp_path / "alone")]) == 0
    alone = RunFolder(tmp_path / "alone")
    half = tmp_path / "half"
    half.mkdir()
    for name in ("manifest.json", RECORDS):
        (half / name).write_text((alone.path / name).read_text())
    kept = (half / RECORDS).read_text().splitlines(keepends=True)[:5]
    (half / RECORDS).write_text("".join(kept))
    capsys.readouterr()
    assert main([*run, "--output", str(half), "--ray", "auto", "--json"]) == 0
    assert (half / RECORDS).read_text().startswith("".join(kept))
    rows = [json.loads((folder / "summary.json").read_text())["rows"] for folder in (alone.path, half)]
    timed = {"rate", "speedup", "phases"}
    first, second = ([{k: v for k, v in row.items() if k not in timed} for row in own] for own in rows)
    assert first == second


def test_what_a_worker_refuses_is_refused_here() -> None:
    def build() -> Any:
        raise ValueError("the draft is too tall")

    with pytest.raises(ValueError, match=r"^the draft is too tall$"), Cluster(build, "auto"):
        pass


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_an_address_where_nothing_answers_is_refused_at_once(form: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = form.format(server.getsockname()[1])
        check_reachable(address)
    with pytest.raises(ValueError, match=f"no Ray cluster answers at '{address}': .*refused"):
        check_reachable(address)


def test_addresses_that_name_no_port_are_left_to_ray() -> None:
    for address in ("auto", "local", "ray://somewhere"):
        check_reachable(address)
    with pytest.raises(ValueError, match="no Ray cluster answers"):
        check_reachable("127.0.0.1:99999")
