"""The interpreter that reasons: its environment, and its garbage collector."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import citywise

_ROOT = Path(citywise.__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    """The environment of such a process: it finds the modules that this one finds.

    `python -m` would look in the working directory first, where a folder `apps` or a file
    `json.py` may lie that has nothing to do with us.
    """
    paths = dict.fromkeys([*filter(None, sys.path), str(_ROOT)])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


_NEW_OBJECTS = 200_000
"""So many more are made than have gone before they are looked through. As many rows come as go
where windows overlap: none are looked through that only a step or two needed."""


def seldom_collected() -> None:
    """Have this process look for garbage seldom, unless it does already.

    A window is many objects that stay until they leave it, and hardly any circles, which are
    all that Python's collector is for: looking through them took a third of a worker's time.
    """
    if gc.get_threshold()[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS, 20, 100)
