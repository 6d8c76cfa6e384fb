"""The state of a recorded day: a backup while it runs, and the way back on another machine.

    citywise bench restore    # needs the Aarhus pack (CITYWISE_DATA)

The day of `street_day` (2014-08-05, with the 24 hours before it) goes through a whole system at
full speed. A backup is made in its midst, and one of all of it, encrypted; both are restored
elsewhere while the system still runs, and their logs compared record by record. The baseline is a
copy of the state's files (`shutil.copytree`) in the same run.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from street import running
from street_day import DAY_END, LEAD_IN, START

from benchmarks.measured.data import pack
from citywise.backend.backup.drill import _compare, _rows
from citywise.backend.backup.restoring import restore
from citywise.backend.backup.taking import back_up
from citywise.backend.ingest.intake import IntakeStore
from citywise.backend.store.database import create_engine_for
from citywise.backend.supervisor import System
from citywise.backend.times import to_ms

PASSPHRASE = "correct horse battery staple"
MIDST = START + timedelta(hours=8)


def run() -> list[dict[str, Any]]:
    """Back up in the midst of the day and at its end; restore both."""
    play = {
        "data": str(pack()),
        "speed": None,
        "start": START.isoformat(),
        "until": DAY_END.isoformat(),
        "lead_in_s": LEAD_IN.total_seconds(),
        "seed": 1,
    }
    with running(play) as system:
        system.wait_ready()
        found = []
        for name, moment in (("in its midst", MIDST), ("at its end", DAY_END)):
            _answered(system, to_ms(moment))
            found.append({"backup": name, **_measured(system)})
        return found


def _answered(system: System, until_ms: int) -> None:
    """Wait until all before a time has been answered."""
    engine = create_engine_for(system.settings.database_url)
    store = IntakeStore(engine)
    while (store.progress().answered_ms or 0) < until_ms - 1:
        system.tend()
        time.sleep(0.05)
    engine.dispose()


def _measured(system: System) -> dict[str, Any]:
    folder = system.settings.data_dir.resolve()
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        elsewhere = Path(name)
        taken = back_up(system.settings, elsewhere / "backup", passphrase=PASSPHRASE)
        began = time.monotonic()
        restore(elsewhere / "backup", elsewhere / "state", passphrase=PASSPHRASE)
        seconds = time.monotonic() - began
        restored = elsewhere / "state"
        records = _compare(system.settings.log_dir, restored / "log", taken.head.position)
        began = time.monotonic()
        shutil.copytree(restored, elsewhere / "copy")
        return {
            "state_mb": round(sum(f.stat().st_size for f in restored.rglob("*")) / 1e6, 1),
            "file_mb": round(taken.bytes / 1e6, 1),
            "rows": _rows(f"sqlite:///{restored / 'citywise.db'}"),
            "records": records,
            "backup_s": round(taken.seconds, 1),
            "restore_s": round(seconds, 1),
            "copy_s": round(time.monotonic() - began, 2),
        }


def report(results: list[dict[str, Any]]) -> str:
    """The results in words."""
    return "\n".join(
        f"{r['backup']}: {r['state_mb']} MB ({r['records']:,} records, {r['rows']:,} rows); backed "
        f"up in {r['backup_s']} s to {r['file_mb']} MB, restored in {r['restore_s']} s; a copy of "
        f"the files takes {r['copy_s']} s"
        for r in results
    )
