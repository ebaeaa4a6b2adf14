"""A live benchmark on a Ray cluster: prompts and temperatures are distributed over workers, and lost ones replaced."""

from __future__ import annotations

import os
import socket
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from univer.bench.folder import Key, Record
from univer.bench.live import LiveBench
from univer.bench.shards import Plan, Shard
from univer.models.machine import machine

Build = Callable[[], tuple[LiveBench, Plan]]

# One worker may be lost by accident; a prompt that loses three is too much for the machines.
MOST_LOSSES = 3
# Ray itself tries for minutes without a message.
SECONDS_TO_ANSWER = 10


class Worker:
    """A process of the cluster with the models."""

    def prepare(self, build: Build) -> tuple[Plan, dict[str, Any]]:
        """Load the models.

        Args:
            build: gives the benchmark and its plan.

        Returns:
            The plan, and the machine that the worker is on.
        """
        self._bench, plan = build()
        self._warm = False
        return plan, machine()

    def measure(self, shard: Shard, done: Collection[Key]) -> list[Record]:
        """Measure a shard, the first one after a warm-up.

        Args:
            shard: the work.
            done: keys of records that there are already.
        """
        if not self._warm:
            self._bench.warm_up(shard.prompt)
            self._warm = True
        return list(self._bench.measure(shard, done))


class Cluster:
    """Workers of a Ray cluster, each with the models of a benchmark; use it in a `with` statement.

    If a worker is lost, its shard goes to the next free one, and a new worker is started as soon as the cluster has
    room for it. Plain decoding and all methods of a prompt are measured by one worker.

    Args:
        build: loads the models; called once in every worker.
        address: of the cluster as Ray takes it, such as `"auto"` or `"host:6379"`; `"local"` starts one here.
        workers: how many; by default one for every GPU, or where there are none for every machine.

    Attributes:
        plan: what there is to measure.
        machines: the machines of all workers so far, each once.

    Raises:
        ValueError: Ray is not installed, there is no cluster at the address, what `build` raises, or workers that would
            measure different things.
    """

    def __init__(self, build: Build, address: str, workers: int | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise ValueError(f"a cluster needs one more package: pip install 'univer[ray]' ({error})") from error
        self._ray = ray
        self._build = build
        self._address = address
        self._workers = workers
        self._mine = False
        # Calls in progress with their worker and shard; no shard while the worker loads the models.
        self._busy: dict[Any, tuple[Any, Shard | None]] = {}
        self._idle: list[Any] = []
        self._losses: Counter[str | None] = Counter()
        self.plan: Plan
        self.machines: list[dict[str, Any]] = []

    def __enter__(self) -> Cluster:
        self._mine = not self._ray.is_initialized()
        if self._mine:
            check_reachable(self._address)
            local = {"include_dashboard": False} if self._address == "local" else {}
            # A cluster started here sends no statistics, and its workers have normal priority.
            for name in ("RAY_USAGE_STATS_ENABLED", "RAY_worker_niceness"):
                os.environ.setdefault(name, "0")
            try:
                self._ray.init(address=self._address, log_to_driver=False, logging_level="ERROR", **local)
            except (ConnectionError, RuntimeError) as error:
                raise ValueError(f"no Ray cluster answers at {self._address!r}: {error}") from error
        try:
            self._options, number = self._share()
            for _ in range(number):
                self._start()
            while not self._idle:
                self._await()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for worker in [*self._idle, *(worker for worker, _ in self._busy.values())]:
            self._ray.kill(worker)
        if self._mine:
            self._ray.shutdown()

    def records(self, shards: Sequence[Shard], done: Collection[Key] = ()) -> Iterator[Record]:
        """Measure everything, the records of a shard at a time.

        Args:
            shards: the work.
            done: keys of records that there are already; their cells are left out.

        Yields:
            The records, in the order in which shards are finished.

        Raises:
            ValueError: a prompt lost its worker repeatedly.
        """
        queue = deque(self.plan.unfinished(shards, done))
        while queue or any(shard is not None for _, shard in self._busy.values()):
            while queue and self._idle:
                worker, shard = self._idle.pop(), queue.popleft()
                known = [record for record in done if record[0] == shard.prompt.name]
                self._busy[worker.measure.remote(shard, known)] = worker, shard
            found, lost = self._await()
            yield from found
            if lost is not None:
                queue.appendleft(lost)

    def _share(self) -> tuple[dict[str, int], int]:
        """The resources of a worker, and the number of workers."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if gpus := int(sum(node.get("GPU", 0) for node in nodes)):
            return {"num_gpus": 1, "num_cpus": 1}, self._workers or gpus
        number = self._workers or len(nodes)
        on_one = -(-number // len(nodes))
        return {"num_cpus": max(1, int(min(node.get("CPU", 1) for node in nodes)) // on_one)}, number

    def _start(self) -> None:
        worker = self._ray.remote(Worker).options(**self._options).remote()
        self._busy[worker.prepare.remote(self._build)] = worker, None

    def _await(self) -> tuple[list[Record], Shard | None]:
        """Wait until a worker has finished a call.

        Returns:
            Its records, and its shard if the worker was lost.
        """
        [call], _ = self._ray.wait(list(self._busy), num_returns=1)
        worker, shard = self._busy.pop(call)
        errors = self._ray.exceptions
        try:
            found = self._ray.get(call)
        except errors.RayTaskError as error:
            self._idle.append(worker)
            raise error.cause from error
        except (errors.RayActorError, errors.NodeDiedError, errors.OutOfMemoryError) as error:
            name = shard.prompt.name if shard else None
            self._losses[name] += 1
            if self._losses[name] >= MOST_LOSSES:
                what = "loading the models" if name is None else f"the prompt {name}"
                raise ValueError(f"{what} lost its worker {MOST_LOSSES} times: {error}") from error
            self._start()
            return [], shard
        self._idle.append(worker)
        if shard is not None:
            return found, None
        plan, place = found
        self._agree(plan)
        if place not in self.machines:
            self.machines.append(place)
        return [], None

    def _agree(self, plan: Plan) -> None:
        """Reject a worker whose records are not comparable with those of the others."""
        if not hasattr(self, "plan"):
            self.plan = plan
        for name, value in self.plan.settings.items():
            if plan.settings[name] != value:
                raise ValueError(
                    f"workers differ in {name}: {value!r} and {plan.settings[name]!r}; set it, or use machines of one "
                    "kind"
                )


def check_reachable(address: str) -> None:
    """Check that a machine accepts connections at an address.

    Args:
        address: as for `Cluster`; names such as `"auto"` are not checked.

    Raises:
        ValueError: nothing answers there.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise ValueError(f"no Ray cluster answers at {address!r}: {error}") from error
