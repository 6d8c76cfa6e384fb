"""Puts into a wheel what a checkout has at its root: pages, ontologies, and the libraries of npm.

All else that a build needs to know stands in pyproject.toml.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
FOLDERS = ("web", "ontologies")
LEFT_OUT = shutil.ignore_patterns(
    "*.map", "*.ts", "README*", "CHANGELOG*", "src", "test", "tests", "__pycache__"
)
"""Of a library of npm: what neither Node nor a browser reads. Licences stay."""


class BuildWithPages(build_py):
    """Copies into the package `backend` what `backend.machine.SHIPPED` names."""

    def run(self) -> None:
        if self.editable_mode:  # A checkout has it all at its root.
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)  # An earlier build's would come along.
        super().run()
        target = Path(self.build_lib) / "backend"
        for name in FOLDERS:
            shutil.copytree(ROOT / name, target / name, dirs_exist_ok=True)
        for name in libraries():
            copied = target / name
            shutil.rmtree(copied, ignore_errors=True)
            shutil.copytree(ROOT / name, copied, ignore=LEFT_OUT)


def libraries() -> list[str]:
    """Folders of the libraries that we need at run time, as npm's lock names them."""
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    kept = {"dev", "optional", "devOptional", "peer"}
    wanted = [name for name, package in packages.items() if name and not kept & package.keys()]
    missing = [name for name in wanted if not (ROOT / name).is_dir()]
    if missing:
        raise SystemExit(f"{missing[0]} is not there: run `make prepare` before a build")
    return [name for name in wanted if not name.startswith("node_modules/@types/")]


setup(cmdclass={"build_py": BuildWithPages})
