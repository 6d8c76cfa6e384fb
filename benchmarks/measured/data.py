"""Where recorded data for benchmarks are."""

from __future__ import annotations

import os
from pathlib import Path

from citywise.backend.machine import REPOSITORY


def pack() -> Path:
    """The Aarhus pack's folder."""
    data = Path(os.environ.get("CITYWISE_DATA", REPOSITORY.parent / "shared" / "data"))
    if not data.is_dir():
        raise SystemExit(f"{data}: no data pack here; set CITYWISE_DATA (docs/data.md)")
    return data
