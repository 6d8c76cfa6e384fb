"""Addresses for operators: liveness, readiness, metrics."""

from __future__ import annotations

from flask import Blueprint, Response

from citywise.backend.api import access, metrics
from citywise.backend.api.answers import as_json
from citywise.backend.api.state import state
from citywise.backend.operations import readiness

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
@access.door
def healthz() -> Response:
    """The web process lives."""
    return as_json({"status": "alive"})


@blueprint.get("/readyz")
@access.door
def readyz() -> Response:
    """200 if the whole system works, else 503; every check with its value and limit."""
    city = state()
    report = readiness.as_json(readiness.check_all(city.engine, city.settings))
    return as_json(report, status=200 if report["ready"] else 503)


@blueprint.get("/metrics")
@access.city
def show_metrics() -> Response:
    """Metrics in Prometheus' text format."""
    return metrics.render()
