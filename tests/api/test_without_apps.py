"""The framework without the apps that come along: it starts, and serves its own pages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from citywise.backend.machine import REPOSITORY

PROGRAM = """
import json, sys
from pathlib import Path
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
from citywise.backend.api.app import create_app
from citywise.backend.packs import broken
from citywise.backend.packs.parts import upgrade_tables
from citywise.backend.settings import People, Settings
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.supervisor import System

settings = Settings(data_dir=Path(sys.argv[1]), people=People(demo_user=True))
engine = create_engine_for(settings.database_url)
migrate(engine)
upgrade_tables(engine, settings)
system = System(settings)
system._engine = engine
system._install_apps(engine)
client = create_app(settings, engine).test_client()
addresses = ("/", "/list", "/apps", "/system", "/account", "/service-worker.js",
             "/manifest.webmanifest", "/api/v1/openapi.json", "/api/v1/apps", "/api/v1/me",
             "/plan", "/meetings")
print(json.dumps({
    "statuses": {address: client.get(address).status_code for address in addresses},
    "roles": list(system.roles),
    "broken": [str(fault) for fault in broken.known()],
    "apps": sorted(name for name in sys.modules if name.startswith("citywise.apps")),
}))
"""


@pytest.mark.slow
def test_the_shell_is_served_without_them(tmp_path: Path) -> None:
    package = tmp_path / "citywise"
    package.mkdir()
    for name in ("__init__.py", "py.typed"):
        (package / name).symlink_to(REPOSITORY / "citywise" / name)
    for name in ("reasoning", "backend"):
        (package / name).symlink_to(REPOSITORY / name)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env={"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    statuses = told["statuses"]
    assert (statuses.pop("/plan"), statuses.pop("/meetings")) == (404, 404)
    assert set(statuses.values()) == {200}, statuses
    assert told["roles"] == ["ingest", "pipeline", "notifier", "web"]
    assert (told["broken"], told["apps"]) == ([], [])
