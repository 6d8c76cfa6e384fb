"""People: accounts, what they allow, who may do what, when they arrive, and being forgotten.

Low in the house: it knows the store, the settings and what apps declare, nothing of HTTP or MQTT.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from citywise.backend.people import arrivals, consents, ids, names, secret

__all__ = ["arrivals", "consents", "ids", "names", "secret"]

if not TYPE_CHECKING:  # a checker would take any name for one of these

    def __getattr__(name: str) -> ModuleType:
        """What apps get of it is loaded when they ask: most who know people know no apps."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.{name}")
