"""What Spark starts to ask a source what is new is there before it has imported anything."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from citywise.backend.pipeline import early

SECRET = "three small boats"
RUNNER = """
import sys
assert "pyspark.worker_util" in sys.modules
from pyspark import worker_util
with worker_util.get_sock_file_to_executor(timeout=None) as file:
    file.write(b"here")
    file.flush()
"""


def started(folder: Path, module: str, **environment: str) -> subprocess.Popen[bytes]:
    """A process as Java starts it, in which a module of pyspark is the program above."""
    program = "import sys\nsys.orig_argv = ['python', '-m', {module!r}]\n"
    early.prepare(folder / "early")
    site = folder / "early" / "sitecustomize.py"
    site.write_text(program.format(module=module) + site.read_text())
    return subprocess.Popen(
        [sys.executable, "-c", RUNNER],
        env={**os.environ, "PYTHONPATH": str(folder / "early"), **environment},
        stderr=subprocess.PIPE,
    )


class Spark(threading.Thread):
    """Accepts one connection, and says whether it knows who comes."""

    def __init__(self, answer: bytes = b"ok") -> None:
        super().__init__()
        self._server, self._answer = socket.create_server(("127.0.0.1", 0)), answer
        self.port = str(self._server.getsockname()[1])
        self.heard = b""
        self.start()

    def run(self) -> None:
        with self._server, self._server.accept()[0] as one, one.makefile("rwb") as file:
            (length,) = struct.unpack("!i", file.read(4))
            self.heard = file.read(length)
            file.write(struct.pack("!i", len(self._answer)) + self._answer)
            file.flush()
            self.heard += file.read()


def test_the_process_is_there_first_and_pyspark_goes_on_with_its_connection(tmp_path: Path) -> None:
    spark = Spark()
    known = {"PYTHON_WORKER_FACTORY_PORT": spark.port, "PYTHON_WORKER_FACTORY_SECRET": SECRET}
    process = started(tmp_path, early.RUNNER, **known)
    _, said = process.communicate()
    spark.join()
    assert process.returncode == 0, said
    assert spark.heard == SECRET.encode() + struct.pack("!i", process.pid) + b"here"


def test_no_other_process_of_spark_is_touched(tmp_path: Path) -> None:
    process = started(tmp_path, "pyspark.daemon", PYTHON_WORKER_FACTORY_PORT="1")
    _, said = process.communicate()
    assert b"AssertionError" in said


def test_who_is_not_known_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Spark(b"no")
    monkeypatch.setenv("PYTHON_WORKER_FACTORY_PORT", spark.port)
    monkeypatch.setenv("PYTHON_WORKER_FACTORY_SECRET", SECRET)
    with pytest.raises(ConnectionError, match="Spark does not know us: b'no'"):
        early.connected()
    spark.join()
