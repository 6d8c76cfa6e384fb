"""JSON answers."""

from __future__ import annotations

import gzip
from typing import Any

import orjson
from flask import Response, request

_WORTH_BYTES = 1_400
"""What is smaller is one packet anyway."""


def as_json(body: Any, status: int = 200, content_type: str = "application/json") -> Response:
    """`body` as a JSON answer that caches ask about each time."""
    answer = Response(orjson.dumps(body), status=status, content_type=content_type)
    answer.headers["Cache-Control"] = "no-cache"
    return answer


def as_public_json(body: Any, content_type: str = "application/json") -> Response:
    """The same of what everybody may read, compressed for who takes that. (What is personal is
    not: how well a secret compresses beside what others chose tells of it.)"""
    answer = as_json(body, content_type=content_type)
    answer.vary.add("Accept-Encoding")
    data = answer.get_data()
    if len(data) > _WORTH_BYTES and request.accept_encodings["gzip"] > 0:
        answer.set_data(gzip.compress(data, compresslevel=1, mtime=0))
        answer.content_encoding = "gzip"
    return answer
