"""How tests are dealt out to processes, where there are several."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from citywise.backend.machine import REPOSITORY
from tests.costs import of_files

SPARK_S = 600
"""Time limit of a test that starts Spark, unless it has its own."""


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # it ships no types
    """Tests of a file share a process; those of all files that start Spark share one."""

    def _split_scope(self, nodeid: str) -> str:
        path: str = super()._split_scope(nodeid)
        return "spark" if starts_spark(self.config.rootpath / path) else path

    def remove_node(self, node: Any) -> str | None:
        """Take back what a process had left when it ended; name the test in which it did.

        xdist would give that test to the next process, which would end as well.
        """
        left = [
            (scope, dict.fromkeys((test for test, done in tests.items() if not done), False))
            for scope, tests in self.assigned_work.pop(node).items()
            if not all(tests.values())
        ]
        if not left:
            return None
        crashed: str = next(iter(left[0][1]))
        del left[0][1][crashed]
        self.workqueue.update((scope, tests) for scope, tests in left if tests)
        self.schedule()
        return crashed

    def schedule(self) -> None:
        """A process runs a test once it knows of a next one or of the end.

        One that replaces another would wait for ever with a single test.
        """
        if self.collection is None:
            super().schedule()
        for node in self.registered_collections.keys() & self.assigned_work.keys():
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
                self._reschedule(node)


@cache
def starts_spark(path: Path) -> bool:
    return "mark.spark" in path.read_text(encoding="utf-8")


@cache
def together(path: Path) -> Path:
    """The folder of a file whose files share a running city, else the file: what comes between
    would end it, and the next of them start another."""
    shared = path.with_name("conftest.py")
    shares = shared.is_file() and 'scope="package"' in shared.read_text(encoding="utf-8")
    return path.parent if shares else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first: Spark, then the files that cost most.

    Those of a folder that share a city come by their names, so that the last may end it.
    """
    for item in items:
        marked = {marker.name for marker in item.iter_markers()}
        if "spark" in marked and not marked & {"long", "timeout"}:
            item.add_marker(pytest.mark.timeout(SPARK_S))
    costs: defaultdict[Path, float] = defaultdict(float)
    for name, cost in of_files().items():
        costs[together(REPOSITORY / name)] += cost

    def turn(item: pytest.Item) -> tuple[bool, float, str]:
        group = together(item.path)
        return not starts_spark(item.path), -costs[group], str(item.path)

    items.sort(key=turn)
