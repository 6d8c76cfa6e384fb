"""Space and time as facts: how users stand to things, areas, and the city's own time.

Pure functions and small classes over numbers; the rules see what they give as atoms
(docs/space.md says exactly what each means). Metres, degrees of WGS84, Unix milliseconds.
"""

from citywise.backend.space.areas import Area, BadAreaError
from citywise.backend.space.hours import LocalTime, in_span
from citywise.backend.space.space import OFF_ROUTE_M, Relation, Space

__all__ = [
    "OFF_ROUTE_M",
    "Area",
    "BadAreaError",
    "LocalTime",
    "Relation",
    "Space",
    "in_span",
]
