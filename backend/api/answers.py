"""JSON answers."""

from __future__ import annotations

from typing import Any

import orjson
from flask import Response


def as_json(body: Any, status: int = 200, content_type: str = "application/json") -> Response:
    """`body` as a JSON answer that caches ask about each time."""
    answer = Response(orjson.dumps(body), status=status, content_type=content_type)
    answer.headers["Cache-Control"] = "no-cache"
    return answer
