"""What is shown of a log when its process failed: the cause, not the last remarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.backend.causes import cause

WARNS = """\
26/11/23 01:02:03 WARN NativeCodeLoader: Unable to load native-hadoop library
26/11/23 01:02:04 WARN Utils: Service 'SparkUI' could not bind on port 4040
\tat org.apache.spark.util.Utils.bind(Utils.scala:1)
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "service.py", line 74, in run
    raise LogBehindError(text)
backend.pipeline.service.LogBehindError: bring back the log
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (TRACEBACK + WARNS, TRACEBACK.splitlines()),
        (WARNS + TRACEBACK, TRACEBACK.splitlines()),
        (
            "2026-11-23 01:02:03,100 ingest ERROR citywise.ingest: cannot write\n"
            + TRACEBACK
            + WARNS,
            [
                "2026-11-23 01:02:03,100 ingest ERROR citywise.ingest: cannot write",
                *TRACEBACK.splitlines(),
            ],
        ),
        (
            "26/11/23 01:02:03 ERROR SparkContext: no master\n\tat x.Y.z(Y.scala:1)\n" + WARNS,
            ["26/11/23 01:02:03 ERROR SparkContext: no master", "\tat x.Y.z(Y.scala:1)"],
        ),
        ("java: command not found\n" + WARNS, ["java: command not found"]),
        (WARNS, WARNS.splitlines()),
        ("", []),
    ],
    ids=["after", "before", "error", "spark", "plain", "remarks", "empty"],
)
def test_the_last_failure_is_shown(tmp_path: Path, log: str, expected: list[str]) -> None:
    path = tmp_path / "pipeline.log"
    path.write_text(log, encoding="utf-8")
    assert cause(path) == expected


def test_what_an_earlier_process_wrote_is_not_its_cause(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.log"
    path.write_text(TRACEBACK + "starting\n", encoding="utf-8")
    assert cause(path, since=len(TRACEBACK)) == ["starting"]


def test_of_a_long_traceback_the_error_is_shown(tmp_path: Path) -> None:
    frames = "".join(f'  File "deep.py", line {n}, in f\n    f()\n' for n in range(50))
    path = tmp_path / "web.log"
    path.write_text(
        f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n", encoding="utf-8"
    )
    shown = cause(path)
    assert (shown[0], shown[-1]) == (TRACEBACK.splitlines()[0], "RecursionError: too deep")
    assert len(shown) == 12


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert cause(tmp_path / "none.log") == []
