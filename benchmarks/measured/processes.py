"""What a process uses, with all that it has started."""

from __future__ import annotations

from contextlib import suppress

import psutil


def cpu_s(process: int) -> float:
    """Processor seconds so far of a process and its children, also of those that ended."""
    total = 0.0
    for member in _family(process):
        with suppress(psutil.Error):
            total += sum(member.cpu_times()[:4])
    return total


def memory_mb(process: int) -> float:
    """Resident memory of a process and its children in megabytes, what they share counted
    for each: asking Linux for proportional sizes stops a large process for a while."""
    total = 0
    for member in _family(process):
        with suppress(psutil.Error):
            total += member.memory_info().rss
    return total / 1e6


def _family(process: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(process)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
