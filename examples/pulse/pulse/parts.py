"""What the app brings."""

from citywise.backend.app import Parts, later

from .tables import TABLES

brings = later(__package__)
PARTS = Parts(
    api=brings("views:api"),
    pages=brings("views:pages"),
    navigation={"pulse": "/pulse"},
    tables=TABLES,
)
