"""A system whose processes the supervisor starts as ever, but for Spark's, which takes long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citywise.backend.settings import Ingest, Settings
from citywise.backend.supervisor import System

_PATIENCE_S = 240
"""With which progress is waited for on a machine that does much else."""


@dataclass
class _Small(System):
    @property
    def roles(self) -> list[str]:
        return [role for role in super().roles if role != "pipeline"]


@contextmanager
def small_system(folder: Path, **more: Any) -> Iterator[System]:
    """Its processes run and have not been started again, as far as they tell."""
    system = _Small(Settings(data_dir=folder, ingest=Ingest(clock="wall"), **more))
    try:
        system.start()
        deadline = time.monotonic() + _PATIENCE_S
        roles = {f"{role} has not started" for role in system.roles}
        while waiting := roles & {reason.text for reason in system._waiting_for()}:
            system.tend()
            for child in system.children.values():
                assert not child.failures, system._does_not_stay_up(child)
            assert time.monotonic() < deadline, waiting
            time.sleep(0.1)
        yield system
    finally:
        system.stop()
