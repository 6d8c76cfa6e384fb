"""What the app brings; views are imported where they are served only."""

from __future__ import annotations

from pathlib import Path

from citywise.backend.app import Parts, later

brings = later(__package__)
PARTS = Parts(
    api=brings("views:api"),
    pages=brings("views:pages"),
    navigation={"pulse": "/pulse"},
    openapi=Path(__file__).with_name("openapi.json"),
)
