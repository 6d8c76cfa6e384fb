"""Puts into a wheel what a checkout has at its root: pages, ontologies, operators' files, and the
libraries of npm.

All else that a build needs to know stands in pyproject.toml.
"""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
FOLDERS = ("web", "ontologies", "deploy")
BUILD_ONLY = {"node_modules/esbuild-wasm"}
"""Libraries that make what the wheel has: they themselves are not in it."""
MARKS = shutil.ignore_patterns(".stamp")
"""What set-up leaves in a folder to know that it made it."""
LEFT_OUT = shutil.ignore_patterns("*.map", "*.ts")
"""Of a library of npm: what neither Node nor a browser reads. Licences stay."""


class BuildWithPages(build_py):
    """Copies what lies beside the packages in a checkout into the package that holds them."""

    def run(self) -> None:
        if self.editable_mode:  # A checkout has it all at its root.
            if not (ROOT / "citywise" / "backend").is_symlink():
                raise SystemExit("an editable install needs a checkout with the links in citywise/")
            super().run()
            return
        earlier = Path(self.build_lib) / "citywise"  # It would come along.
        shutil.rmtree(earlier, ignore_errors=True)
        super().run()
        target = Path(self.build_lib) / "citywise"
        for name in FOLDERS:
            shutil.copytree(ROOT / name, target / name, ignore=MARKS, dirs_exist_ok=True)
        for name in libraries():
            copied = target / name
            shutil.rmtree(copied, ignore_errors=True)
            shutil.copytree(ROOT / name, copied, ignore=LEFT_OUT)
        written = json.dumps(bill_of_materials(), indent=1, sort_keys=True)
        (target / "sbom.cdx.json").write_text(written, encoding="utf-8")


def bill_of_materials() -> Any:
    """What the wheel needs at run time and brings along (CycloneDX), as `scripts/sbom.py` says."""
    return runpy.run_path(str(ROOT / "scripts" / "sbom.py"))["bill"]()


def libraries() -> list[str]:
    """Folders of the libraries that we need at run time, as npm's lock names them."""
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    others = {"dev", "optional", "devOptional", "peer"}
    wanted = [
        name
        for name, package in packages.items()
        if name
        and name not in BUILD_ONLY
        and not others & package.keys()
        and not name.startswith("node_modules/@types/")
    ]
    missing = [name for name in wanted if not (ROOT / name).is_dir()]
    if missing:
        raise SystemExit(f"{missing[0]} is not there: run `make prepare` before a build")
    return wanted


setup(cmdclass={"build_py": BuildWithPages})
