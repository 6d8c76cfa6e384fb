"""What each test costs, in seconds of processor time: recorded in each run, and put to use.

`costs.txt` names the functions whose tests cost 0.3 s and more together. They are `slow`, so that
`make check` leaves them out, and the files that cost most begin first. `python -m tests.costs`
renews it from the last runs. Processor time is that of the test and of all processes below it:
servers, browsers, Spark. Unlike the clock it is nearly the same on a machine that does much else.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator, Mapping
from functools import cache
from pathlib import Path

import psutil
import pytest

LISTED = Path(__file__).with_name("costs.txt")
RECORDED = Path(__file__).resolve().parents[1] / ".cache" / "tests" / "costs.json"

SLOW_S = 0.3
HOUSE = ("tests/test_docs.py", "tests/test_house.py")
"""What these say of the whole repository is known before each commit."""

MOST_S = 20.0
"""What a test should cost at most that is not `long`."""

REFUSED_S = 60.0
"""Who costs more is refused: no machine, however busy, makes that of 20. A city that runs in
Spark or before a browser costs something while it waits, so that it is not refused."""


class Measuring:
    """Measures tests in the process that runs them; writes down what they cost where they end."""

    def __init__(self) -> None:
        self._before = 0.0
        self._costs: dict[str, float] = {}
        self._failed: set[str] = set()
        self._is_last = False
        """Whether what all tests of a process share ends with the test, and counts as its cost."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        del item
        self._is_last = nextitem is None
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._before = _used_s(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            cost_s = round(_used_s(item) - self._before, 2)
            vars(report)["cost_s"] = cost_s  # xdist brings it to where the run began
            marked = {marker.name for marker in item.iter_markers()}
            waits = marked & {"browser", "long", "spark"}
            if report.passed and cost_s > REFUSED_S and not waits and not self._is_last:
                report.outcome = "failed"
                report.longrepr = (
                    f"{item.nodeid} takes {cost_s:.0f} s of processor time, and {MOST_S:.0f} are "
                    f"the most: make it cheaper, or mark it `long`"
                )
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        if (cost_s := getattr(report, "cost_s", None)) is not None:
            self._costs[report.nodeid] = cost_s

    def pytest_sessionfinish(self) -> None:
        if os.environ.get("PYTEST_XDIST_WORKER") or not self._costs:
            return
        RECORDED.parent.mkdir(parents=True, exist_ok=True)
        passed = {test: s for test, s in self._costs.items() if test not in self._failed}
        RECORDED.write_text(json.dumps(_recorded() | passed, indent=0), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole = sum(self._costs.values())
        terminalreporter.write_line(f"{whole:.0f} s of processor time in tests")
        for test, cost_s in sorted(self._costs.items(), key=lambda pair: -pair[1]):
            if cost_s > MOST_S:
                terminalreporter.write_line(f"  {cost_s:.0f} s, more than {MOST_S:.0f}: {test}")


@cache
def listed() -> dict[str, float]:
    """Costs of the functions that `costs.txt` names."""
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    return {name: float(cost) for cost, _, name in (line.partition(" ") for line in lines)}


def of_files() -> Mapping[str, float]:
    """What the named functions of each file cost together."""
    found: defaultdict[str, float] = defaultdict(float)
    for name, cost in listed().items():
        found[name.partition("::")[0]] += cost
    return found


def function(test: str) -> str:
    """The function of a test, whatever its parameters are."""
    return test.partition("[")[0]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Measuring(), "measuring")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        known = function(item.nodeid) in listed() and item.location[0] not in HOUSE
        if known and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.slow(why="cost"))


def _used_s(item: pytest.Item) -> float:
    """Seconds of processor time of this process, its children that ended and, where the test is
    marked by hand, those that live: to look for them costs 5 ms."""
    own = os.times()
    used = own.user + own.system + own.children_user + own.children_system
    slow = item.get_closest_marker("thorough") or item.get_closest_marker("slow")
    by_hand = slow is not None and not slow.kwargs
    for child in psutil.Process().children(recursive=True) if by_hand else ():
        try:
            used += sum(child.cpu_times()[:4])
        except psutil.Error:
            continue
    return used


def _recorded() -> dict[str, float]:
    if not RECORDED.is_file():
        return {}
    found: dict[str, float] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Renew the list from what was recorded; forget functions of files that are gone."""
    recorded: defaultdict[str, float] = defaultdict(float)
    for test, cost in _recorded().items():
        recorded[function(test)] += cost
    root = LISTED.parents[1]
    lines = [
        f"{cost:.1f} {name}\n"
        for name, cost in sorted((listed() | recorded).items())
        if cost >= SLOW_S and (root / name.partition("::")[0]).is_file()
    ]
    LISTED.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
