"""Run by Python at its start in what Spark starts on this machine: the process that asks a source
what is new tells Spark at once that it is there, and imports what it needs after that.

Spark waits 10 s for it, which no setting changes, and what it imports takes half a second of a
processor: more than 10 s on a machine that is slow or does much else. The protocol is that of
pyspark 4 (`pyspark.util.local_connect_and_auth`).
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path
from typing import IO, cast

RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
Made = tuple[IO[bytes], socket.socket]


def prepare(folder: Path) -> str:
    """A folder that makes Python run this file where it is in PYTHONPATH."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f"import runpy\n\nrunpy.run_path({str(Path(__file__).resolve())!r})\n"
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    return str(folder)


def connected() -> Made:
    """The connection to Spark that the environment names, once Spark knows us."""
    path = os.environ.get("PYTHON_WORKER_FACTORY_SOCK_PATH")
    if path is not None:
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        found.connect(path)
    else:
        port = int(os.environ["PYTHON_WORKER_FACTORY_PORT"])
        is_six = os.environ.get("SPARK_PREFER_IPV6", "").lower() == "true"
        found = socket.create_connection(("::1" if is_six else "127.0.0.1", port))
    found.settimeout(None)
    size = int(os.environ.get("SPARK_BUFFER_SIZE", 65536))
    file = cast("IO[bytes]", found.makefile("rwb", size))
    if path is None:
        secret = os.environ["PYTHON_WORKER_FACTORY_SECRET"].encode()
        file.write(struct.pack("!i", len(secret)) + secret)
        file.flush()
        (length,) = struct.unpack("!i", file.read(4))
        if (said := file.read(length)) != b"ok":
            file.close()
            found.close()
            raise ConnectionError(f"Spark does not know us: {said[:100]!r}")
    return file, found


def hand_over(made: Made) -> None:
    """Let pyspark use this connection in place of one that it would make."""
    import pyspark.worker_util

    vars(pyspark.worker_util)["local_connect_and_auth"] = lambda *_: made


if RUNNER in sys.orig_argv:
    hand_over(connected())
