"""What the simulated town's map shows beside its streets: sea and river, parks, and quarters.

Positions are metres east and north of the town's centre, as everything of the town is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from citywise.backend.city.simulated.town import Position

Kind = Literal["water", "green", "built"]


@dataclass(frozen=True)
class Patch:
    """An area of one kind, by its corners."""

    kind: Kind
    name: str | None
    corners: tuple[Position, ...]


_FAR_EAST = 9_000.0
COAST: tuple[Position, ...] = (
    (1_250, 9_000), (1_150, 6_500), (980, 5_600), (900, 4_700), (760, 4_000), (720, 3_300),
    (640, 2_700), (520, 2_150), (470, 1_650), (640, 1_200), (700, 860), (860, 700), (860, 430),
    (800, 420), (800, 130), (770, -60), (840, -70), (840, -420), (720, -460), (560, -760),
    (420, -1_150), (440, -1_800), (520, -2_400), (640, -3_000), (690, -3_700), (720, -4_500),
    (860, -5_600), (1_050, -6_600), (1_200, -9_000),
)  # fmt: skip
"""From north to south; the harbour is in its middle."""
RIVER: tuple[Position, ...] = (
    (-9_000, -1_150), (-6_200, -760), (-5_000, -950), (-3_900, -560), (-3_000, -760),
    (-2_250, -380), (-1_500, -470), (-900, -240), (-420, -300), (100, -130), (480, -190),
    (790, -120),
)  # fmt: skip
PATCHES = (
    Patch(
        "built",
        None,
        (
            (-1_300, 1_250),
            (-420, 1_330),
            (150, 1_250),
            (440, 900),
            (640, 300),
            (640, -350),
            (380, -900),
            (0, -1_300),
            (-700, -1_280),
            (-1_280, -700),
            (-1_420, 200),
        ),
    ),
    Patch("water", "Bugten", (*COAST, (_FAR_EAST, -9_000), (_FAR_EAST, 9_000))),
    Patch(
        "water",
        "Engsøen",
        (
            (-4_150, -1_050),
            (-3_600, -1_230),
            (-3_050, -1_180),
            (-2_930, -980),
            (-3_350, -860),
            (-3_850, -880),
        ),
    ),
    Patch(
        "green",
        "Botanisk Have",
        ((-860, 380), (-640, 360), (-520, 470), (-560, 690), (-760, 740), (-900, 600)),
    ),
    Patch(
        "green",
        "Skovbakken",
        (
            (-2_500, 2_350),
            (-2_050, 1_900),
            (-1_500, 2_150),
            (-1_420, 2_700),
            (-1_850, 3_150),
            (-2_420, 2_950),
        ),
    ),
    Patch(
        "green",
        "Universitetsparken",
        ((-960, 1_210), (-620, 1_230), (-540, 1_560), (-820, 1_640), (-1_010, 1_470)),
    ),
    Patch(
        "green",
        "Ådalen",
        (
            (-4_900, -620),
            (-3_900, -300),
            (-3_000, -420),
            (-2_250, -120),
            (-1_600, -260),
            (-1_560, -620),
            (-2_300, -600),
            (-2_950, -1_320),
            (-4_100, -1_400),
            (-4_950, -1_200),
        ),
    ),
    Patch(
        "green",
        "Strandengene",
        ((180, -2_000), (420, -1_900), (500, -2_500), (620, -3_200), (300, -3_150), (120, -2_500)),
    ),
    Patch(
        "green",
        "Nordskoven",
        (
            (420, 3_000),
            (690, 3_400),
            (730, 4_050),
            (860, 4_700),
            (420, 4_850),
            (120, 4_100),
            (200, 3_400),
        ),
    ),
)
QUARTERS: tuple[tuple[str, Position], ...] = (
    ("Midtbyen", (-120, 180)),
    ("Havnen", (620, 240)),
    ("Nordbyen", (-300, 1_800)),
    ("Møllehøj", (-1_500, 1_350)),
    ("Kildevang", (-2_900, 1_700)),
    ("Vestermarken", (-3_000, 300)),
    ("Engdalen", (-2_700, -1_700)),
    ("Højskolekvarteret", (-1_450, -2_700)),
    ("Søndervang", (-450, -1_650)),
    ("Lyngdal", (-1_200, 3_350)),
    ("Sydstranden", (100, -3_400)),
    ("Nordkysten", (150, 2_900)),
)
