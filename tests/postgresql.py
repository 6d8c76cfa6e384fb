"""A PostgreSQL server of the tests' own, where the machine has the programs for one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citywise.backend import machine

_USER = "citywise"


def programs() -> Path | None:
    """The folder with `initdb` and `postgres`, or None."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None


@contextmanager
def server(bin_folder: Path) -> Iterator[str]:
    """Start a server on loopback with an empty database; yields its SQLAlchemy URL."""
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    # PostgreSQL refuses to run as root; `nobody` is there on every Linux.
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    data = folder / "data"
    options = {"user": user, "cwd": folder, "check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(
        [bin_folder / "initdb", "-D", data, "-A", "trust", "-U", _USER, "-E", "UTF8"],
        **options,  # type: ignore[call-overload]
    )
    control = [bin_folder / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
    port = machine.free_port()
    listen = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    subprocess.run([*control, "-o", listen, "start"], **options)  # type: ignore[call-overload]
    try:
        yield f"postgresql+psycopg://{_USER}@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **options)  # type: ignore[call-overload]
        shutil.rmtree(folder, ignore_errors=True)
