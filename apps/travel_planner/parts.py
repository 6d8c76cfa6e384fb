"""What the travel planner brings beside its rules; each part is imported where it is used."""

from __future__ import annotations

from citywise.apps.travel_planner.tables import TABLES
from citywise.backend.app import CityFile, Limit, Parts, later

brings = later(__package__)
PARTS = Parts(
    api=brings("api_plans:blueprint", "api_trips:blueprint", "api_repeats:blueprint"),
    pages=brings("api_page:blueprint", "api_export:blueprint", "api_citypulse:blueprint"),
    navigation={"plan": "/plan"},
    shortcuts={"trip.shortcut.travel": "/plan", "trip.shortcut.parking": "/plan?for=parking"},
    decisions={"travel": brings("decide:travel"), "parking": brings("decide:parking")},
    timetables={"travel": brings("decide:transit")},
    city_files=(
        CityFile(brings("transit.kept:is_feed"), brings("transit.kept:take_feed")),
        CityFile(brings("transit.kept:is_realtime"), brings("transit.kept:take_realtime")),
        CityFile(lambda _: True, brings("roads.cityfiles:take"), is_last=True),
    ),
    city_shown=brings("roads.cityfiles:shown"),
    prepare=brings("roads.cityfiles:prepare"),
    service=brings("service:serve"),
    tables=TABLES,
    limits={"plans": Limit(60, 60), "search": Limit(300, 60)},
    export={"trips": brings("trips:export"), "repeating_trips": brings("repeats:export")},
    withdrawn=brings("ending:withdrawn"),
    arrivals=brings("arriving:expected"),
    ready=brings("pool:warm"),
)
