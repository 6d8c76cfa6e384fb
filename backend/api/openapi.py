"""The API's description in OpenAPI 3.1, written beside the code and checked against it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
from flask import Blueprint, Flask, Response, current_app

from citywise.backend.api import access

blueprint = Blueprint("openapi", __name__)
_OURS = Path(__file__).with_name("openapi.json")
_EXTENSION = "citywise.openapi"


def describe(app: Flask, brought: Iterable[Path]) -> None:
    """Describe what `app` serves, with what its apps bring: files of `paths` and
    `components.schemas`."""
    document = orjson.loads(_OURS.read_bytes())
    for path in brought:
        _add(document, orjson.loads(path.read_bytes()))
    app.extensions[_EXTENSION] = orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _add(document: dict[str, Any], more: dict[str, Any]) -> None:
    document["paths"] |= more.get("paths", {})
    for kind, found in more.get("components", {}).items():
        document["components"].setdefault(kind, {}).update(found)
    known = {tag["name"] for tag in document.get("tags", ())}
    document.setdefault("tags", []).extend(
        tag for tag in more.get("tags", ()) if tag["name"] not in known
    )


@blueprint.get("/openapi.json")
@access.city
def show_openapi() -> Response:
    """The OpenAPI document."""
    answer = Response(current_app.extensions[_EXTENSION], content_type="application/json")
    answer.headers["Cache-Control"] = "no-cache"
    return answer
