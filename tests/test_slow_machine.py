"""On a machine that is slowed to a tenth `citywise run` becomes ready; a part that is truly
stuck is named, with the cause, within the limit.

The machine is slowed by a control group of its own (the controller `cpu`), which takes root; where
it cannot be made these tests are skipped. They take minutes: `make test-long`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from citywise.backend.machine import REPOSITORY, free_port

CONTROLLERS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
PERIOD_US = 100_000
MOST_SHARES = 100_000
READY = "Citywise is ready at"
COMMAND = [sys.executable, "-m", "citywise.backend.cli"]


@contextmanager
def slowed(share: float) -> Iterator[Path]:
    """A control group whose processes together have a share of each core of the machine."""
    quota = round(PERIOD_US * share * (os.cpu_count() or 1))
    for root in CONTROLLERS:
        group = root / f"citywise-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if (group / "cpu.cfs_quota_us").exists():
                (group / "cpu.shares").write_text(str(MOST_SHARES))  # it gets what it may have
                (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (group / "cpu.cfs_quota_us").write_text(str(quota))
            else:
                (group / "cpu.weight").write_text("10000")
                (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
            yield group
            return
        except FileNotFoundError:
            continue
        finally:
            _emptied(group)
            group.rmdir()
    pytest.skip("no control group can be made here to slow the machine (root, controller cpu)")


def _emptied(group: Path) -> None:
    """Whatever is left in a group is ended; it is ours alone."""
    deadline = time.monotonic() + 60
    while (found := (group / "cgroup.procs").read_text().split()) and time.monotonic() < deadline:
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        time.sleep(0.2)


@dataclass
class Run:
    """`citywise run` that is under way, and what it said."""

    process: subprocess.Popen[str]
    begun: float
    said: list[str] = field(default_factory=list)

    def until(self, holds: Callable[[str], bool]) -> float:
        """Read what it says up to a line; how long (seconds) it took since the start."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip())
            if holds(line):
                return time.monotonic() - self.begun
        raise AssertionError("\n".join(self.said))

    def part(self, *words: str) -> psutil.Process:
        """The process of a part, by words of its command line."""
        while True:
            for child in psutil.Process(self.process.pid).children(recursive=True):
                with suppress(psutil.Error):
                    if all(word in child.cmdline() for word in words):
                        return child
            time.sleep(0.05)

    def ended(self) -> tuple[int, str]:
        """How it ended, and all it said."""
        assert self.process.stdout is not None
        self.said += self.process.stdout.read().splitlines()
        return self.process.wait(), "\n".join(self.said)


@contextmanager
def running(folder: Path, config: str, group: Path | None = None) -> Iterator[Run]:
    """The command in a folder, as a user starts it; ended afterwards."""
    file = folder / "citywise.toml"
    file.write_text(f'data_dir = "{folder / "state"}"\nweb.port = {free_port()}\n{config}')

    def join() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    process = subprocess.Popen(
        [*COMMAND, "run", "--config", file],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=join,
        text=True,
    )
    try:
        yield Run(process, time.monotonic())
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_a_machine_slowed_to_a_tenth_becomes_ready(tmp_path: Path) -> None:
    with slowed(0.1) as group, running(tmp_path, "", group) as run:
        took = run.until(lambda line: READY in line)
        address = run.said[-1].split(READY)[1].split()[0]
        with urllib.request.urlopen(f"{address}/readyz", timeout=60) as answer:
            assert answer.status == 200
        print(f"ready {took:.0f} s after the start:", *run.said, sep="\n")


# --- Parts that are stuck -------------------------------------------------------------------------

HURRIED = "start.patience_s = 20\n"


def _stopped_ingest(run: Run) -> None:
    run.part("ingest").suspend()


def _stopped_java(run: Run) -> None:
    """Spark hangs: the process that started it waits for its word."""
    run.part("pyspark-shell").suspend()


STUCK: Sequence[tuple[Callable[[Run], None], str, str]] = [
    (_stopped_ingest, "ingest is stuck: ", "ingest"),
    (_stopped_java, "pipeline is stuck: pipeline is starting Spark", "pipeline"),
]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("stop", "said", "log"), STUCK, ids=["ingest stopped", "Spark hangs"])
def test_a_part_that_hangs_is_named_with_the_cause_and_all_ends(
    tmp_path: Path, stop: Callable[[Run], None], said: str, log: str
) -> None:
    with running(tmp_path, HURRIED) as run:
        stop(run)
        code, text = run.ended()
        assert code == 3, text
        assert said in text
        assert "start.patience_s is 20" in text
        assert str(tmp_path / "state" / "logs" / f"{log}.log") in text
        left = [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in str(p.cmdline())]
        assert left == []


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_broker_that_takes_connections_and_does_not_answer_is_named(tmp_path: Path) -> None:
    """As a machine whose disk has died does: the kernel accepts, and nobody speaks."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        port = silent.getsockname()[1]
        broker = f'[broker]\nembedded = false\nhost = "127.0.0.1"\nport = {port}\n'
        with running(tmp_path, f"{HURRIED}{broker}") as run:
            code, text = run.ended()
    assert code == 3, text
    assert f"127.0.0.1:{port}" in text
