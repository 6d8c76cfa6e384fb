"""The `citywise` command in a folder of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from citywise.backend import cli
from citywise.backend.machine import REPOSITORY


@dataclass(frozen=True)
class Done:
    """What a command printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


class Folder:
    """A folder with programs and recordings, and the command run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: str | Sequence[dict[str, Any]]) -> Path:
        """A file of text, or of one line of JSON for each value."""
        if not isinstance(content, str):
            content = "".join(json.dumps(line) + "\n" for line in content)
        path = self.path / name
        path.write_text(content, encoding="utf-8")
        return path

    def run(self, *arguments: str, given: str | None = None, seed: int | None = None) -> Done:
        """Run the command: in this process, or in one of its own if it is `given` input, or a
        `seed` of hashes."""
        if given is not None or seed is not None:
            return self._outside(arguments, given or "", seed)
        printed, told = io.StringIO(), io.StringIO()
        before = Path.cwd()
        os.chdir(self.path)
        try:
            with (
                mock.patch.object(sys, "argv", ["citywise", *arguments]),
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(told),
            ):
                code = _main()
        finally:
            os.chdir(before)
        return Done(code, printed.getvalue(), told.getvalue())

    def _outside(self, arguments: Sequence[str], given: str, seed: int | None) -> Done:
        seeded = {} if seed is None else {"PYTHONHASHSEED": str(seed)}
        done = subprocess.run(
            [sys.executable, "-m", "citywise.backend.cli", *arguments],
            cwd=self.path,
            input=given,
            env={"PYTHONPATH": str(REPOSITORY), "PATH": "", **seeded},
            capture_output=True,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def results(self, *arguments: str) -> list[dict[str, Any]]:
        """The results that `citywise reason` prints; it must end well."""
        done = self.run("reason", *arguments)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


def _main() -> int:
    """Exit code of the command."""
    try:
        cli.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0
