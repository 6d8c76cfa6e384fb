"""The face for apps: small, documented, light, and all that the example needs."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from operator import attrgetter
from types import ModuleType

import pytest

from citywise.backend import app
from citywise.backend.machine import REPOSITORY

PAGE = (REPOSITORY / "docs" / "app-face.md").read_text(encoding="utf-8")
MOST = 40
BACKEND = "citywise.backend"


def test_it_has_few_names_and_each_stands_in_the_documentation() -> None:
    rows = [row.partition("|")[0] for row in re.findall(r"^\| (`.*)", PAGE, re.M)]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(app.__all__)
    assert len(app.__all__) <= MOST


def test_each_name_is_there_and_says_what_it_is() -> None:
    for name in app.__all__:
        found = getattr(app, name)
        is_named = isinstance(found, ModuleType | type) or callable(found)
        assert not is_named or inspect.getdoc(found), name
    assert set(app.__all__) - set(app._WHERE) == {"later"}


def test_what_the_page_says_of_a_module_is_in_it() -> None:
    said = set(re.findall(r"\b(\w+)\.(\w+)\b", "".join(re.findall(r"`[^`]+`", PAGE))))
    modules = {name for name in app.__all__ if isinstance(getattr(app, name), ModuleType)}
    assert {module for module, _ in said} >= modules - {"event_stream"}
    for module, name in said:
        assert module not in modules or hasattr(getattr(app, module), name), f"{module}.{name}"


def test_a_former_name_works_and_warns_of_what_to_write() -> None:
    told = dict(re.findall(r"^- `(\w+)` is `([\w.]+)`$", PAGE, re.M))
    assert told == app._FORMER
    for former, now in told.items():
        with pytest.warns(DeprecationWarning, match=f"`{former}` .* write `{now}`"):
            found = getattr(app, former)
        assert found is attrgetter(now)(app)


def test_declaring_parts_loads_no_web() -> None:
    program = (
        "import sys; from citywise.backend.app import Parts, Settings, Topics, later; "
        "print([m for m in ('flask', 'gevent', 'numpy', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_who_knows_people_loads_no_apps() -> None:
    """Every process knows people; few ask what apps know of them."""
    program = (
        "import sys; from citywise.backend.people import accounts, ids, names, secret; "
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert loaded & {"citywise.backend.packs.parts", "click"} == set()


def test_a_web_process_loads_only_what_each_one_needs() -> None:
    heavy = "alembic", "cryptography.x509", "pandas", "pyspark", "rdflib", "requests"
    program = (
        "import sys; import citywise.backend.api.app; "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def beyond(folder: str) -> set[str]:
    """What modules of the backend the Python in a folder imports from, beside the face."""
    return {
        (node.module or "").removeprefix(f"{BACKEND}.")
        for path in (REPOSITORY / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(BACKEND)
    } - {"app"}


def test_the_example_the_starter_and_the_meetings_import_nothing_else_of_ours() -> None:
    for folder in ("examples/pulse", "backend/packs/starters", "apps/meeting_mgr"):
        assert beyond(folder) == set()
