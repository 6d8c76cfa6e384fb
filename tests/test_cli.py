"""The command line: exit codes, and errors a person can act on."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from citywise.backend.cli import cli
from citywise.backend.machine import REPOSITORY
from tests.command import Folder

BENCHMARKS = REPOSITORY / "benchmarks"


def citywise(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "citywise.backend.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_help_lists_the_commands() -> None:
    result = citywise("--help")
    assert result.returncode == 0
    for command in ("demo", "run", "replay", "bench"):
        assert f"\n  {command}" in result.stdout
    assert "ends with 0 if all is fine" in " ".join(result.stdout.split())


def test_the_help_of_a_command_has_an_example() -> None:
    for name in ("demo", "run", "replay", "decide", "reason", "plan", "check", "explain"):
        command = cli.commands[name]
        assert f"citywise {name} " in (command.help or ""), name


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nonsense"], 2, "No such command"),
        (["demo", "--speed", "0"], 2, "not a speed"),
        (["demo", "--start", "2014-08-05T00:00:00"], 2, "no time zone"),
        (["demo", "--data", "/nonexistent"], 2, "does not exist"),
        (["run"], 2, "--config"),
        (["bench", "nonsense"], 2, "no benchmark"),
    ],
)
def test_wrong_usage_exits_with_2(
    tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    result = Folder(tmp_path).run(*arguments)
    assert result.returncode == code
    assert says in result.stderr


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_whatever_bench_lists_can_be_run_and_reported(path: Path) -> None:
    names = {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}
    assert {"run", "report"} <= names


@pytest.mark.slow
def test_data_at_fault_exits_with_1_and_names_the_file(tmp_path: Path) -> None:
    result = citywise("demo", "--data", str(tmp_path))
    assert result.returncode == 1
    assert str(tmp_path) in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[broker]\nport = 99999\n", "broker.port"),
        ("[brokr]\nport = 1\n", "brokr"),
        ("[broker\n", "not valid TOML"),
        ('[pipeline]\nrequests = ["no_such"]\n', "no request `no_such`"),
    ],
)
def test_a_wrong_configuration_exits_with_1_and_names_the_key(
    tmp_path: Path, text: str, says: str
) -> None:
    folder = Folder(tmp_path)
    folder.write("city.toml", text)
    result = folder.run("run", "--config", "city.toml")
    assert result.returncode == 1
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_replay_prints_the_events_of_recorded_data(data_pack: Path) -> None:
    result = citywise(
        "replay", "--data", str(data_pack), "--from", "2014-08-04T05:00:00Z",
        "--until", "2014-08-04T05:30:00Z", "--lead-in", "1",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert {line["kind"] for line in lines} >= {"event.opened", "event.cleared"}
    assert [line["t"] for line in lines] == sorted(line["t"] for line in lines)
    keys = {"t", "kind", "id", "type", "level", "place", "start", "confirmed", "end"}
    assert all(keys <= line.keys() for line in lines)


@pytest.mark.parametrize("closing", [">&-", "2>&-", "| true"])
def test_output_that_nobody_reads_is_no_fault(tmp_path: Path, closing: str) -> None:
    (tmp_path / "p.lp").write_text("a(1..9999).\n", encoding="utf-8")
    command = f"set -o pipefail; '{sys.executable}' -m citywise.backend.cli reason p.lp {closing}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_standard_input_that_is_closed_is_an_empty_one(tmp_path: Path) -> None:
    """`citywise run` asks whether it is a terminal."""
    asked = "from citywise.backend import cli; import sys; sys.argv[1:] = ['--version']; \
cli.main() if sys.stdin is None else 0; print(sys.stdin.isatty(), sys.stdin.read())"
    command = f"'{sys.executable}' -c \"{asked}\" <&-"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "False ", done.stderr
