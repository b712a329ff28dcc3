"""The engine of a Ray cluster: one that runs already, or one of this machine.

Actors compute the shards and hold the models. They stay from one map to the next, and leave the
cluster to others when nothing was computed for a minute. What an actor was computing when it was
lost is computed again by another one.
"""

import copy
import logging
import os
import pickle
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

import ray
from ray._private import ray_constants

from bindbench.engine.base import Demand, Failure, raise_failures
from bindbench.engine.job import Job
from bindbench.engine.ray_crew import Crew, Shape
from bindbench.errors import UserError

T = TypeVar("T")
R = TypeVar("R")

TRIES = 3  # of a task whose actor is lost
IDLE_SECONDS = 60.0  # another run may be waiting for the GPUs that idle actors hold
NOTICE_SECONDS = 30.0  # without an actor before the log says what is waited for
CONNECT_SECONDS = 10.0
OBJECT_STORE_BYTES = 100 * 2**20  # tasks and results are small: tables never travel
LOOPBACK = "127.0.0.1"

logger = logging.getLogger("bindbench")


class Cluster:
    """The connection to a cluster and this process's actors on it, made on first need."""

    def __init__(self, address: str | None, cpus: int) -> None:
        self._address = address
        self._cpus = cpus
        self._crews: dict[Shape, Crew] = {}
        self._ours = False  # whether this object made the connection
        self._lock = threading.Lock()
        self._rest: threading.Timer | None = None

    def gpus(self) -> float:
        """Return how many GPUs the cluster has."""
        self._connect()
        return ray.cluster_resources().get("GPU", 0.0)

    def __enter__(self) -> "Cluster":
        self._lock.acquire()
        if self._rest:
            self._rest.cancel()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._end_crews()
        self._rest = threading.Timer(IDLE_SECONDS, self._leave)
        self._rest.daemon = True
        self._rest.start()
        self._lock.release()

    def crew(self, shape: Shape) -> Crew:
        """Return the actors of a shape; those of other shapes give back their GPUs."""
        self._connect()
        if shape.gpus:
            for other in [s for s in self._crews if s.gpus and s != shape]:
                self._crews.pop(other).end()
        if shape not in self._crews:
            self._crews[shape] = Crew(shape)
        return self._crews[shape]

    def close(self) -> None:
        """End the actors and the connection."""
        with self._lock:
            if self._rest:
                self._rest.cancel()
            self._end_crews()
            if self._ours:
                ray.shutdown()
                self._ours = False

    def _leave(self) -> None:
        """End the actors unless something is being computed."""
        if self._lock.acquire(blocking=False):
            try:
                self._end_crews()
            finally:
                self._lock.release()

    def _end_crews(self) -> None:
        crews, self._crews = self._crews, {}
        if ray.is_initialized():
            for crew in crews.values():
                crew.end()

    def _connect(self) -> None:
        if ray.is_initialized():
            return
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        if self._address is None:
            _stay_on_this_machine()
            ray.init(
                address="local",
                num_cpus=self._cpus,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                _node_ip_address=LOOPBACK,
                _system_config={"worker_niceness": 0},  # no less than other processes here
                **quiet,
            )
        else:
            _reach(self._address)
            try:
                ray.init(address=self._address, **quiet)
            except Exception as error:  # Ray has a kind of its own for every cause
                raise _not_connected(self._address, error) from error
        self._ours = True


class RayEngine:
    """Computes in Ray actors.

    Args:
        workers: actors that need no GPU, one for each core that they take.
        address: of a running cluster of which this machine is a node, as Ray writes it
            (``host:6379``, ``auto``). None: a cluster of this machine, which ends with this
            process.
        gpus: GPUs of an actor by role, where it is not the number that the model's options name.
            A fraction lets several actors share one.
    """

    def __init__(
        self,
        workers: int,
        address: str | None = None,
        gpus: Mapping[str, float] | None = None,
    ) -> None:
        if workers < 1:
            raise UserError(f"The engine has workers={workers}: use 1 or more.")
        self._actors = workers
        self._gpus_of = gpus or {}
        self._shape = Shape(cpus=1, gpus=0)
        self._cluster = Cluster(address, workers)

    @property
    def workers(self) -> int:
        """How many tasks are computed at the same time: of GPUs as many as the cluster has."""
        if not self._shape.gpus:
            return self._actors
        return int(self._cluster.gpus() / self._shape.gpus + 1e-6)

    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        on_done: Callable[[int, R], None],
        names: Sequence[str] | None = None,
    ) -> None:
        """Apply ``function`` to every task; see ``bindbench.engine.base.Engine``.

        Raises:
            UserError: also if there is no such cluster, or it has too few GPUs for an actor.
        """
        if not tasks:
            return
        job = Job(pickle.dumps(function), tasks, on_done)
        with self._cluster as cluster:
            crew = cluster.crew(self._shape)
            _compute(job, crew, self._size())
        raise_failures(job.failures, len(tasks), names)

    def holding(self, demand: Demand) -> "RayEngine":
        """Return the engine for a model: an actor for each of the cluster's GPUs, or one."""
        if not demand.lone or (self._shape.gpus and not demand.gpus):
            return self
        engine = copy.copy(self)  # on the same cluster
        if demand.gpus:
            wanted = self._gpus_of.get(demand.role, demand.gpus)
            # The models of one stage are held by the same actors.
            engine._shape = Shape(cpus=0, gpus=max(wanted, self._shape.gpus))
        else:
            engine._actors = 1
        return engine

    def close(self) -> None:
        """End the actors, and the cluster if it is this machine's; a later map starts new ones."""
        self._cluster.close()

    def _size(self) -> int:
        size = self.workers
        if not size:
            raise UserError(
                f"An actor takes {self._shape.gpus:g} GPUs, but the Ray cluster has "
                f"{self._cluster.gpus():g}: add a node, set BINDBENCH_GPUS to fewer, or let the "
                "model's option device be cpu."
            )
        return size


def _compute(job: Job, crew: Crew, size: int) -> None:
    """Compute every task of a job, on up to ``size`` actors at the same time."""
    lost: Counter[int] = Counter()
    while job.waiting or crew.busy:
        crew.hire(min(size, crew.busy + len(job.waiting)))
        for member in crew.idle[: size - crew.busy]:
            if (task := job.next()) is not None:
                crew.give(member, job.function, *task)
        if not job.waiting and not crew.busy:
            return  # the last ones could not be pickled
        heard = False
        for message in crew.hear(NOTICE_SECONDS):
            heard = True
            if isinstance(message, int):
                lost[message] += 1
                _again(job, message, lost[message])
            else:
                job.take(message)
        if not heard and not crew.started:
            logger.info("Waiting for room in the Ray cluster: other work holds it.")


def _again(job: Job, index: int, times: int) -> None:
    """Let a task be computed again whose actor was lost, but not for ever."""
    if times < TRIES:
        job.waiting.append(index)
    else:
        why = "killed, out of memory, or its node is gone"
        job.failures.append(Failure(index, f"its Ray actor was lost {times} times ({why})"))


def _stay_on_this_machine() -> None:
    """Let the servers of a new cluster listen on 127.0.0.1 only, not on every interface.

    Ray does so by itself on other systems than Linux, and has no other switch for it.
    """
    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"  # for the processes it starts
    ray_constants.ENABLE_RAY_CLUSTER = False  # for this one, which has read the variable already


def _reach(address: str) -> None:
    """Try a cluster's port, since Ray itself waits for minutes where nothing answers."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return  # "auto": Ray looks for it
    try:
        with suppress(TimeoutError), socket.create_connection((host, int(port)), CONNECT_SECONDS):
            return
    except OSError as error:
        raise _no_cluster(address, error.strerror or str(error)) from None
    raise _no_cluster(address, f"no answer in {CONNECT_SECONDS:.0f} s")


def _not_connected(address: str, error: BaseException) -> UserError:
    """Return what to tell the user about a cluster that there is, but that can't be used."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    if any("AuthenticationError" in f"{type(each).__name__}: {each}" for each in causes):
        return UserError(
            f"The Ray cluster at {address} asks for a token: set RAY_AUTH_MODE=token and "
            "RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH, as its nodes have them."
        )
    return _no_cluster(address, str(error))


def _no_cluster(address: str, why: str) -> UserError:
    reason = why.strip().partition("\n")[0].rstrip(".")
    return UserError(
        f"No Ray cluster answers at {address} ({reason}): start one with 'ray start --head', or "
        "name another by --engine ray:HOST:PORT."
    )
