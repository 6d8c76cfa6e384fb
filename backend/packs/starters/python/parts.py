"""What the app brings; its other modules are imported when they are used."""

from citywise.backend.app import Parts, later

from .tables import TABLES

brings = later(__package__)
PARTS = Parts(
    api=brings("views:api"),
    pages=brings("views:pages"),
    navigation={"python": "/python"},
    tables=TABLES,
)
