"""Modules of pages in a few files, made at set-up."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from citywise.backend.api import bundles, modules
from citywise.backend.api.bundles import Bundles
from citywise.backend.machine import REPOSITORY, node

ESBUILD = REPOSITORY / "node_modules" / "esbuild-wasm"


def made(tmp_path: Path) -> Bundles:
    names = {"js/main.js": "shell.js", "js/api.js": "shell.js", "js/map.js": "map.js"}
    return Bundles(
        tmp_path, tmp_path / "built", "0", names, {"shell.js": (), "map.js": ("shell.js",)}
    )


def test_a_page_loads_bundles_once_each_and_knows_ahead_what_they_import(tmp_path: Path) -> None:
    roots = (modules.Root("/a/js/", tmp_path / "js"), modules.Root("/b/", tmp_path / "app"))
    found = modules.Modules(("/a/js/main.js", "/a/js/map.js"), ("/a/js/api.js", "/b/own.js"))
    assert modules.bundled(found, roots, made(tmp_path), "/built/") == modules.Modules(
        ("/built/shell.js", "/built/map.js"), ("/b/own.js",)
    )
    assert modules.bundled(
        modules.Modules(("/a/js/map.js",), ()), roots, made(tmp_path), "/built/"
    ) == modules.Modules(("/built/map.js",), ("/built/shell.js",))


def test_bundles_of_other_modules_than_these_are_not_used(tmp_path: Path) -> None:
    built = tmp_path / "built"
    built.mkdir()
    js = tmp_path / "web" / "static" / "js"
    css = tmp_path / "web" / "static" / "css"
    js.mkdir(parents=True)
    css.mkdir()
    for name in bundles.STYLES:
        (css / f"{name}.css").touch()
    (js / "main.js").write_text("1", encoding="utf-8")
    told = {"made_of": bundles.made_of(tmp_path), "modules": {}, "imports": {}}
    assert bundles.made(built, tmp_path) is None
    (built / "bundles.json").write_text(json.dumps(told), encoding="utf-8")
    (built / "shell.css").touch()
    bundles.made.cache_clear()
    assert bundles.made(built, tmp_path) is not None
    bundles.made.cache_clear()
    (js / "main.js").write_text("2", encoding="utf-8")
    assert bundles.made(built, tmp_path) is None


LATER = {"map-pick", "moment-slider", "moments", "sensor-map"}
"""Modules that run when somebody asks for them, as layers do when a map is there."""


@pytest.mark.slow
@pytest.mark.skipif(not ESBUILD.is_dir(), reason="esbuild is not there: run `make prepare`")
def test_every_module_is_in_one_bundle_and_all_that_is_imported_is_exported(tmp_path: Path) -> None:
    for name in ("web", "apps", "scripts"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("built"))
    (tmp_path / "node_modules").symlink_to(REPOSITORY / "node_modules")
    subprocess.run([node(), tmp_path / "scripts" / "bundle.mjs"], check=True, timeout=300)
    found = bundles.made(tmp_path / "web" / "built", tmp_path)
    assert found is not None
    text = {name: (found.folder / name).read_text(encoding="utf-8") for name in found.imports}
    assert {"shell.js", "map.js", "system.js", "travel_planner.plan-page.js"} <= text.keys()
    assert "operator-events" not in text["shell.js"]
    for name, script in text.items():
        for wanted, other in re.findall(r'import\{([^}]*)\}from"citywise-built/([^"]+)"', script):
            exported = re.findall(
                r"(?:as |[{,])([\w$]+)(?=[,}])", text[other].rpartition("export{")[2]
            )
            for each in wanted.split(","):
                assert each.split(" as ")[0] in exported, (name, each, other)
    files = (tmp_path / "web" / "static" / "js").glob("*.js")
    assert all(found.of(path) or "layer" in path.name or path.stem in LATER for path in files)
