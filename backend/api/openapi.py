"""The API's description in OpenAPI 3.1, written beside the code and checked against it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from flask import Blueprint, Response

from backend.api import access

blueprint = Blueprint("openapi", __name__)


@lru_cache
def document() -> bytes:
    """The document as JSON."""
    return Path(__file__).with_name("openapi.json").read_bytes()


@blueprint.get("/openapi.json")
@access.city
def show_openapi() -> Response:
    """The OpenAPI document."""
    answer = Response(document(), content_type="application/json")
    answer.headers["Cache-Control"] = "no-cache"
    return answer
