"""What has a name in the simulated town beside its streets: venues, places, and a programme.

Positions are metres east and north of the town's centre, times Danish.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from citywise.backend.city.simulated.town import Position


@dataclass(frozen=True)
class Venue:
    """A named house or place: what people go to."""

    id: str
    name: str
    kind: Literal["venue", "place"]
    at: Position
    detail: str


@dataclass(frozen=True)
class Programme:
    """Something that happens at a venue."""

    id: str
    name: str
    venue: str
    begins: datetime


VENUES = (
    Venue("raadhus", "Rådhuset", "place", (20.0, 30.0), "Rådhuspladsen 2"),
    Venue("banegaard", "Banegården", "place", (-150.0, -470.0), "Stationsgade 1"),
    Venue("sygehus", "Sygehuset", "place", (-1_960.0, -640.0), "Engdalsvej 42"),
    Venue("bibliotek", "Hovedbiblioteket", "venue", (560.0, 90.0), "Havnegade 20"),
    Venue("havnebad", "Havnebadet", "place", (790.0, 560.0), "Nordkajen 30"),
    Venue("musikhus", "Musikhuset", "venue", (-310.0, -160.0), "Engdalsvej 8"),
    Venue("teater", "Byens Teater", "venue", (130.0, 210.0), "Købmagergade 4"),
    Venue("domkirke", "Domkirken", "place", (240.0, 120.0), "Domkirkestræde 1"),
    Venue("kunsthal", "Kunsthallen", "venue", (-480.0, 120.0), "Voldgade 30"),
    Venue("universitet", "Universitetet", "place", (-760.0, 1_350.0), "Lyngdalsvej 60"),
    Venue("stadion", "Stadion", "venue", (-620.0, -2_050.0), "Ringvejen 180"),
    Venue("svoemmehal", "Svømmehallen", "place", (-1_450.0, 420.0), "Kildevangsvej 60"),
    Venue("have", "Botanisk Have", "place", (-700.0, 540.0), "Møllehøjvej 15"),
    Venue("centret", "Vestercentret", "place", (-2_700.0, 60.0), "Vestermarksvej 210"),
    Venue("faerge", "Færgelejet", "place", (690.0, -330.0), "Sydkajen 12"),
    Venue("skov", "Skovbakken", "place", (-1_950.0, 2_250.0), "Lyngdalsvej 200"),
    Venue("messe", "Messehallerne", "venue", (-2_900.0, -1_300.0), "Engdalsvej 240"),
    Venue("skole", "Søndervangsskolen", "place", (-250.0, -1_750.0), "Søndervangsvej 90"),
    Venue("marked", "Bondemarkedet", "place", (-60.0, -300.0), "Strandengsvej 2"),
    Venue("museum", "Søfartsmuseet", "venue", (700.0, 300.0), "Nordkajen 4"),
)

_EVENINGS = (
    ("Fredagskoncert", "musikhus", 30, "19:30"),
    ("Børneteater: Klods-Hans", "teater", 31, "11:00"),
    ("Hamlet", "teater", 28, "20:00"),
    ("Lørdagsjazz på kajen", "museum", 31, "15:00"),
    ("Forfattermøde", "bibliotek", 27, "17:00"),
    ("Højtlæsning for børn", "bibliotek", 28, "10:00"),
    ("Fodbold: Byen – Havnen", "stadion", 29, "19:00"),
    ("Fernisering", "kunsthal", 27, "16:30"),
    ("Forårsmesse", "messe", 30, "10:00"),
    ("Orgelaften", "musikhus", 27, "20:00"),
)
PROGRAMME = tuple(
    Programme(f"event:{number}", name, venue, datetime.fromisoformat(f"2025-05-{day}T{hour}"))
    for number, (name, venue, day, hour) in enumerate(_EVENINGS, 1)
)
"""In the week in which the simulation begins."""
