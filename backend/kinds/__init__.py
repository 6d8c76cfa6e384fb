"""Kinds of observations and of places, which are data: one TOML file each (docs/kinds.md).

`Kinds` is what a system knows of them; `builtin()` gives those that come with Citywise,
`Kinds.with_folder()` adds a city's or an app's. There is no global list: a registry is passed on.
"""

from citywise.backend.kinds.kind import (
    Field,
    Health,
    Kind,
    MapLayer,
    PlaceKind,
    Value,
)
from citywise.backend.kinds.observation import (
    IDENTIFIER,
    IDENTITY,
    Identifier,
    Observation,
    Reader,
    UtcTime,
    place_fields,
)
from citywise.backend.kinds.registry import (
    FOLDER,
    KindError,
    Kinds,
    builtin,
    check_path,
    is_kind_path,
)

__all__ = [
    "FOLDER",
    "IDENTIFIER",
    "IDENTITY",
    "Field",
    "Health",
    "Identifier",
    "Kind",
    "KindError",
    "Kinds",
    "MapLayer",
    "Observation",
    "PlaceKind",
    "Reader",
    "UtcTime",
    "Value",
    "builtin",
    "check_path",
    "is_kind_path",
    "place_fields",
]
