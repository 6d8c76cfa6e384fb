"""Planning in processes of their own, so that it holds up no event stream.

Locks and queues of the standard library: under gevent they give way to other greenlets,
elsewhere to other threads.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import orjson

from citywise.apps.travel_planner.replies import Reply, no_network, problem
from citywise.apps.travel_planner.roads.cityfiles import network_file
from citywise.backend.app import Settings, spawned

LOG = logging.getLogger(__name__)
ANSWER_S = 5.0
"""A question that takes longer is given up, and its process ended."""
START_S = 300.0
WARM_S = 30.0
"""So long after the web process a planner is started, if nobody needs one before."""
WAIT_S = 10.0
"""How long a question may wait for a free process; until the first answer as long as a start."""
_MODULE = "citywise.apps.travel_planner.worker"


class Planners(Protocol):
    """Whoever answers questions about plans and places."""

    def ask(self, question: Mapping[str, Any]) -> Reply:
        """The answer; never raises for what is wrong with a question."""


class WorkerError(Exception):
    """A process did not answer."""


class StartError(WorkerError):
    """A process could not be started."""


class Worker:
    """One process, asked by one at a time."""

    def __init__(self, settings: Settings, module: str = _MODULE) -> None:
        """Start it; raises `StartError`, and `WorkerError` if it ends at once."""
        self._is_cold = True
        try:
            self._process = spawned.Spawned(module)
        except OSError as error:
            raise StartError(f"a planner did not start: {error}") from error
        try:
            self._exchange(spawned.Frame(orjson.loads(settings.model_dump_json())), START_S)
        except TimeoutError as error:
            raise StartError(f"a planner did not start within {START_S:.0f} s") from error

    def ask(self, question: Mapping[str, Any]) -> Reply:
        """Its answer; raises `WorkerError` if it has ended, and `TimeoutError`. The first one
        may take as long as a start: what was not needed so far is read for it."""
        answer = self._exchange(spawned.Frame(question), START_S if self._is_cold else ANSWER_S)
        self._is_cold = False
        return Reply.of(answer)

    def end(self) -> None:
        """End it now."""
        self._process.end()

    def _exchange(self, frame: spawned.Frame, seconds: float) -> spawned.Frame:
        try:
            return self._process.exchange(frame, seconds)
        except spawned.EndedError as error:
            raise WorkerError(f"a planner {error}") from error


class Pool:
    """Some processes that plan; each is started when it is first needed."""

    def __init__(self, settings: Settings, module: str = _MODULE) -> None:
        self._settings = settings
        self._module = module
        self._city = network_file(settings) if module == _MODULE else None
        self._free: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        self._is_wanted = threading.Event()
        self._has_answered = False
        self.size = settings.city.planners
        for _ in range(self.size):
            self._free.put(None)

    def ask(self, question: Mapping[str, Any]) -> Reply:
        """The answer of a process that is free; a dead one is replaced and asked once more."""
        if (city := self._missing_city()) is not None:
            return no_network(city)
        wait_s = WAIT_S if self._has_answered else START_S
        try:
            worker = self._free.get(timeout=wait_s)
        except queue.Empty:
            return problem("busy", "Busy", f"no planner was free for {wait_s:.0f} s; try again")
        return self._asked(worker, question)

    def warm(self, after_s: float = 0.0) -> None:
        """Start one process in the background after some seconds, and all when somebody is
        about to ask (`soon`); returns at once. Without a city, none."""
        threading.Thread(target=self._warm, args=(after_s,), daemon=True).start()

    def soon(self) -> None:
        """Somebody is about to ask: do not wait with `warm` any longer."""
        self._is_wanted.set()

    def _warm(self, after_s: float) -> None:
        if not self._is_wanted.wait(after_s):
            self.ask({"do": "warm"})
            self._is_wanted.wait()
        if self._missing_city() is not None:
            return
        for worker in self._taken():
            if worker is None:
                threading.Thread(
                    target=self._asked, args=(None, {"do": "warm"}), daemon=True
                ).start()
            else:
                self._free.put(worker)

    def _missing_city(self) -> Path | None:
        """The file of the streets, if they are needed and not there."""
        return self._city if self._city is not None and not self._city.is_file() else None

    def close(self) -> None:
        """End the processes that are free."""
        for worker in self._taken():
            if worker is not None:
                worker.end()
            self._free.put(None)

    def _taken(self) -> list[Worker | None]:
        """All that are free, which nobody else can ask until they are put back."""
        free: list[Worker | None] = []
        with suppress(queue.Empty):
            while True:
                free.append(self._free.get_nowait())
        return free

    def _asked(self, worker: Worker | None, question: Mapping[str, Any]) -> Reply:
        """The answer of a process that was taken, which is free again then, whatever happens."""
        try:
            worker, reply = self._tried(worker, question)
        except BaseException:
            worker = None
            raise
        finally:
            self._free.put(worker)
        return reply

    def _tried(
        self, worker: Worker | None, question: Mapping[str, Any]
    ) -> tuple[Worker | None, Reply]:
        started = time.monotonic()
        for last in (False, True):
            try:
                worker = worker or Worker(self._settings, self._module)
                reply = worker.ask(question)
                self._has_answered = True
                return worker, reply
            except TimeoutError:
                seconds = time.monotonic() - started
                LOG.warning("a planner was ended that did not answer in %.1f s", seconds)
                detail = f"planning took longer than {seconds:.0f} s; ask for less, or try again"
                return None, problem("too-slow", "Too slow", detail)
            except StartError as error:
                LOG.warning("%s", error)
                return None, problem("planner-failed", "Planner failed", f"{error}; try again")
            except WorkerError as error:
                LOG.warning("%s; %s", error, "giving up" if last else "asking a new one")
                worker = None
        detail = "a planner ended twice; the log of the web process says why"
        return None, problem("planner-failed", "Planner failed", detail)


_pools: dict[str, Planners] = {}
_making = threading.Lock()


def of(settings: Settings) -> Planners:
    """The planners of a system, one pool for each data folder."""
    with _making:
        return _pools.setdefault(str(settings.data_dir.absolute()), Pool(settings))


def use(settings: Settings, planners: Planners | None) -> None:
    """Let others answer for a system, or (None) its own processes again."""
    with _making:
        _pools.pop(str(settings.data_dir.absolute()), None)
        if planners is not None:
            _pools[str(settings.data_dir.absolute())] = planners


def warm(settings: Settings) -> None:
    """Start a process of a system before it is needed, but after what starts with it;
    returns at once."""
    planners = of(settings)
    if isinstance(planners, Pool):
        planners.warm(WARM_S)


def soon(settings: Settings) -> None:
    """Start all of them now: somebody has opened the page. Returns at once."""
    planners = of(settings)
    if isinstance(planners, Pool):
        planners.soon()
