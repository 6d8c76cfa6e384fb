"""No test can hang the run: what hangs is ended and named, and all others are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from citywise.backend import machine

pytestmark = pytest.mark.long

HANGING = {
    "test_teardown_of_a_failure": """
@pytest.fixture
def kept():
    yield
    threading.Event().wait()


def test_teardown_of_a_failure(kept):
    assert False
""",
    "test_second_try": """
def test_second_try():
    subprocess.run(["sleep", "900"])
""",
    "test_lock_of_the_interpreter": """
def test_lock_of_the_interpreter():
    re.match("(a+)+$", "a" * 60 + "b")
""",
}
IMPORTS = "import re, subprocess, threading\n\nimport pytest\n"


def run(folder: Path, *arguments: str) -> str:
    """Output of pytest on the files of a folder, in two processes."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    command = [
        *(sys.executable, "-m", "pytest", "-p", "tests.dealing", "-p", "tests.watchdog"),
        *("-p", "no:cacheprovider", "-c", "pytest.ini", "--rootdir", ".", "-v", "-n", "2"),
        *("--no-loadscope-reorder", "--timeout", "2", *arguments, "."),
    ]
    environment = {**os.environ, "PYTHONPATH": str(machine.REPOSITORY), "COLUMNS": "200"}
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        env={**environment, "CITYWISE_TESTS_GRACE_S": "1"},
    )
    return done.stdout + done.stderr


def test_what_hangs_is_named_and_all_others_are_run(tmp_path: Path) -> None:
    for name, text in HANGING.items():
        file = tmp_path / f"{name}.py"
        file.write_text(
            f"{IMPORTS}\n\ndef test_before(): pass\n\n{text}\n\ndef test_after(): pass\n"
        )
    (tmp_path / "test_alone.py").write_text(f"{IMPORTS}\n{text}")  # nothing is left to give
    said = run(tmp_path, "--reruns", "1")
    for name in HANGING:
        assert re.search(rf"(FAILED|crashed while running) '?{name}\.py::{name}\b", said), said
        assert f"PASSED {name}.py::test_after" in said, said
    assert "hangs for 3 s" in said
    assert "in kept" in said


def test_a_session_that_does_not_end_is_ended(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n")
    (tmp_path / "conftest.py").write_text(
        "import os, threading\n\n"
        "def pytest_sessionfinish():\n"
        "    threading.Event().wait(0 if os.environ.get('PYTEST_XDIST_WORKER') is None else None)\n"
    )
    said = run(tmp_path)
    assert "1 passed" in said
    assert "hangs for 2 s" in said
    assert "the end of the session" in said
