"""The Python of apps that are folders: it runs when the operator has agreed to it.

What was agreed to is kept as the digest of each file of the folder. A module is made of the very
text that was digested, and never of a compiled file, so that nothing else can run in its place.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

import orjson

from citywise.backend.errors import CitywiseError
from citywise.backend.machine import CONFIGURATION
from citywise.backend.network.secret_files import replace
from citywise.backend.packs.library import FILE, app_name, said

AGREED = CONFIGURATION / "agreed-apps.json"
"""Of the user who runs Citywise: folder → digest of each file, or null: of whatever is there."""
Files = Mapping[str, str]
"""Digests by the path in the app's folder."""
_ROOT = "citywise_app_"
_UNTOUCHED = {"__pycache__", "scenarios", "tests"}
"""Folders that a running system reads nothing of."""
_MOST_NAMED = 5
_BRINGS = {
    "api": "addresses below /api/v1",
    "pages": "pages",
    "navigation": "entries of the menu",
    "tables": "tables in the database",
    "settings": "sections of the configuration",
    "service": "a process of its own",
    "topics": "topics at the broker",
    "devices": "devices that are let in at the broker",
    "channels": "streams for people without an account",
    "commands": "commands of citywise",
    "decisions": "decisions of `citywise decide`",
    "export": "a part of what people export of theirs",
    "ready": "work when the pages start",
}


class NotAgreedError(CitywiseError):
    """Nobody has agreed to the Python of a folder as it is; says what to do."""


def agree(folder: Path, *, changing: bool = False) -> None:
    """Agree to the Python of an app's folder as it is now, or with `changing` whatever it becomes.

    Raises `NotAgreedError` for files that are links to somewhere else.
    """
    _write({**_agreed_apps(), str(folder.resolve()): None if changing else files(folder)})


def revoke(folder: Path) -> bool:
    """Agree no longer; whether anybody had."""
    known = dict(_agreed_apps())
    was_there = str(folder.resolve()) in known
    known.pop(str(folder.resolve()), None)
    _write(known)
    return was_there


def files(folder: Path) -> dict[str, str]:
    """The digests of all files that a running system may read of an app."""
    found: dict[str, str] = {}
    root = folder.resolve()
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if any(part in _UNTOUCHED or part.startswith(".") for part in inside.parts):
            continue
        if not path.resolve().is_relative_to(root):
            raise NotAgreedError(
                f"{path} is a link to {path.resolve()}, outside the app; put the file itself there"
            )
        if path.is_file():
            found[inside.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def package(folder: Path) -> str:
    """The name of the package that the Python of a folder can be imported from.

    Raises `NotAgreedError` where nobody has agreed to it, or to something else.
    """
    root = folder.resolve()
    known = _agreed_apps()
    command = f"look at it, then run `citywise app trust {root}`"
    if str(root) not in known:
        raise NotAgreedError(
            f"{folder / FILE}: `python`: nobody has agreed to run the Python of this folder; "
            + command
        )
    agreed_to = known[str(root)]
    if agreed_to is not None and (changed := _changed(agreed_to, files(root))):
        more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
        named = ", ".join(changed[:_MOST_NAMED]) + more
        raise NotAgreedError(
            f"{folder / FILE}: `python`: the folder has changed since somebody agreed to it "
            f"({named}); {command} again"
        )
    return _FINDER.register(root, agreed_to)


def described(folder: Path) -> Iterator[str]:
    """What the Python of a folder may do, in lines for who is to agree."""
    yield f"The app `{app_name(folder)}` in {folder.resolve()} brings Python."
    yield (
        "It runs within the processes of Citywise, with all their rights: it can read and change "
        "their files and database, what people keep there included."
    )
    names = [name for name in files(folder) if name.endswith(".py")]
    yield f"Its code: {', '.join(names) or 'none'}."
    brings = [f"  {text}" for text in _brings(folder)]
    if brings:
        yield "It says that it brings"
        yield from brings


def _brings(folder: Path) -> Iterator[str]:
    """What the call of `Parts` in the module of the parts names."""
    module = folder / f"{(said(folder, 'python') or '').replace('.', '/')}.py"
    try:
        tree = ast.parse(module.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Parts"):
            for keyword in node.keywords:
                if keyword.arg in _BRINGS:
                    value = keyword.value
                    is_plain = isinstance(value, ast.Dict)
                    yield _BRINGS[keyword.arg] + (f": {ast.unparse(value)}" if is_plain else "")


def _changed(before: Files, now: Files) -> list[str]:
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _agreed_apps() -> Mapping[str, Files | None]:
    try:
        found = orjson.loads(AGREED.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise NotAgreedError(f"{AGREED} cannot be read: {error}; mend or remove it") from error
    if not isinstance(found, dict) or not all(isinstance(v, dict | None) for v in found.values()):
        raise NotAgreedError(f"{AGREED} holds no object of folders and their files; remove it")
    return found


def _write(known: Mapping[str, Files | None]) -> None:
    AGREED.parent.mkdir(parents=True, exist_ok=True)
    replace(AGREED, orjson.dumps(known, option=orjson.OPT_INDENT_2))


class _Loader(SourceFileLoader):
    """Makes a module of the text that was agreed to."""

    def __init__(self, name: str, path: Path, digest: str | None) -> None:
        super().__init__(name, str(path))
        self._digest = digest

    def get_code(self, fullname: str) -> CodeType | None:  # noqa: ARG002
        """Compiles the source itself: a compiled file may be anybody's."""
        source = self.get_data(self.path)
        if self._digest not in (None, hashlib.sha256(source).hexdigest()):
            raise ImportError(f"{self.path} has changed since somebody agreed to it")
        return self.source_to_code(source, self.path)


class _Finder:
    """Finds the modules of folders that somebody has agreed to, and of nothing else in them."""

    def __init__(self) -> None:
        self._folders: dict[str, tuple[Path, Files | None]] = {}

    def register(self, folder: Path, agreed_to: Files | None) -> str:
        """The name of the package that a folder becomes; modules of another state of it go."""
        name = re.sub(r"\W", "_", folder.name)
        root = f"{_ROOT}{name}_{hashlib.sha256(os.fsencode(folder)).hexdigest()[:8]}"
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        if self._folders.get(root) != (folder, agreed_to):
            for module in [m for m in sys.modules if m == root or m.startswith(f"{root}.")]:
                del sys.modules[module]
            self._folders[root] = (folder, agreed_to)
        return root

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Where a module of such a folder is; None for those of others."""
        root, *inner = fullname.split(".")
        if root not in self._folders:
            return None
        folder, agreed_to = self._folders[root]
        place = folder.joinpath(*inner)
        for file in (
            (place / "__init__.py", place.with_suffix(".py")) if inner else (place / "__init__.py",)
        ):
            name = file.relative_to(folder).as_posix()
            if file.is_file() and (agreed_to is None or name in agreed_to):
                digest = None if agreed_to is None else agreed_to[name]
                within = [str(place)] if file.parent == place else None
                loader = _Loader(fullname, file, digest)
                return spec_from_file_location(
                    fullname, file, loader=loader, submodule_search_locations=within
                )
        if not place.is_dir():
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        bare = ModuleSpec(fullname, None, is_package=True)
        bare.submodule_search_locations = [str(place)]
        return bare


_FINDER = _Finder()
