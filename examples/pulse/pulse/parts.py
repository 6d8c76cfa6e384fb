"""What the app brings; views are imported where they are served only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citywise.backend.packs.parts import Parts


def _api() -> Sequence[Any]:
    from pulse import views

    return (views.api,)


def _pages() -> Sequence[Any]:
    from pulse import views

    return (views.pages,)


PARTS = Parts(
    api=_api,
    pages=_pages,
    navigation={"pulse": "/pulse"},
    openapi=Path(__file__).with_name("openapi.json"),
)
