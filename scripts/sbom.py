"""Writes what Citywise is made of (CycloneDX 1.6), from the lock files and what is installed.

`python scripts/sbom.py [FILE]`; the same locks give the same file, but for licences, which come
from the packages themselves where they are installed.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
BUILD_ONLY = {"node_modules/esbuild-wasm"}
"""What bundles the pages' modules at set-up, and runs nowhere else."""
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)")


def bill() -> dict[str, Any]:
    """The bill of materials of the server."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = sorted([*_python(), *_npm()], key=lambda part: part["purl"])
    own = f"pkg:pypi/citywise@{project['version']}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "purl": own,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def _python() -> Iterator[dict[str, Any]]:
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if found := _PIN.match(line):
            name, version = found[1], found[2]
            part = _component(f"pkg:pypi/{name.lower()}@{quote(version)}", name, version)
            if licence := _licence_of(name):
                part["licenses"] = [{"license": {"name": licence}}]
            yield part


def _licence_of(name: str) -> str | None:
    """What an installed package says, in a line."""
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return None
    classified = [c for c in said.get_all("Classifier") or [] if c.startswith("License :: ")]
    words = [
        *(said.get_all("License-Expression") or []),
        *(c.rpartition(" :: ")[2] for c in classified),
    ]
    words += [text.strip().partition("\n")[0][:80] for text in said.get_all("License") or []]
    return next(filter(None, words), None)


def _npm() -> Iterator[dict[str, Any]]:
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for path, package in packages.items():
        if not path or path in BUILD_ONLY or package.get("dev") or package.get("optional"):
            continue
        name, version = path.rpartition("node_modules/")[2], package["version"]
        part = _component(f"pkg:npm/{quote(name, safe='/')}@{version}", name, version)
        algorithm, _, digest = package["integrity"].partition("-")
        content = base64.b64decode(digest).hex()
        part["hashes"] = [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": content}]
        if licence := package.get("license"):
            part["licenses"] = [{"license": {"name": licence}}]
        yield part


def _component(purl: str, name: str, version: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


if __name__ == "__main__":
    text = json.dumps(bill(), indent=2, sort_keys=True) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
