"""Reports of made-up runs; see `made_up.py`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.report.made_up import TEMPERATURES, live_records, replay_records, write_run
from univer.bench import intervals
from univer.bench.report import Report, load_runs, write_report
from univer.bench.summary import summarise


@pytest.fixture(scope="session", autouse=True)
def _few_resamples() -> Iterator[None]:
    """Intervals from fewer resamples: how they are shown is tested here, not how exact they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "RESAMPLES", 199)
        yield


@pytest.fixture(scope="session")
def live_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished live run on one tree."""
    path, records = tmp_path_factory.mktemp("made-up") / "live", live_records(per_group=1, trees=("2x5",))
    write_run(path, "spec-bench", records).finish(summarise(records))
    return path


@pytest.fixture(scope="session")
def replay_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A replay under way: seven methods on two trees, two of them on one tree at three temperatures."""
    path = tmp_path_factory.mktemp("made-up") / "replay"
    records = replay_records(per_group=1, temperatures=(1.0,), bound=True)
    records += replay_records(1, ("rrsw", "univer (gain)"), ("2x5",), TEMPERATURES[:2])
    write_run(path, "replay", records)
    return path


@pytest.fixture(scope="session")
def report(live_folder: Path, replay_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report of both."""
    output = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(load_runs([replay_folder, live_folder]), output)
