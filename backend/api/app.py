"""The Flask application."""

from __future__ import annotations

from flask import Blueprint, Flask
from sqlalchemy import Engine

from backend.api import (
    access,
    accounts,
    apps,
    attend,
    audit,
    citypulse,
    context,
    control,
    critical_events,
    dead_letters,
    event_stream,
    events,
    health,
    identity,
    instances,
    limits,
    me,
    metrics,
    notices,
    openapi,
    operator,
    pages,
    places,
    problems,
    security,
    traces,
    trials,
    why,
    wishes,
)
from backend.api.hub import Hub
from backend.api.state import WebState
from backend.packs.parts import of_settings
from backend.settings import Settings
from backend.store.database import create_engine_for

MAX_BODY_BYTES = 1_000_000
_OF_CITY = (events, event_stream, places, control, dead_letters, openapi)
_OF_PEOPLE = (accounts, me, wishes, attend, audit, operator)
_OF_APPS = (apps, instances, trials, context, critical_events, notices, traces, why)


def create_hub(settings: Settings, engine: Engine) -> Hub:
    """What event streams are fed from, with the channels of a system's apps."""
    brought = of_settings(settings).items()
    return Hub(engine, {name: parts.channels for name, parts in brought if parts.channels})


def create_app(settings: Settings, engine: Engine | None = None) -> Flask:
    """The whole HTTP side over one database.

    The schema must exist already; whoever starts the system migrates it once.
    """
    app = Flask("citywise", static_folder=None, template_folder=str(pages.WEB / "templates"))
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    engine = engine or create_engine_for(settings.database_url)
    app.extensions["citywise"] = WebState(settings, engine, create_hub(settings, engine))
    problems.install(app)
    metrics.install(app)
    security.install(app, settings)
    identity.install(app)
    brought = of_settings(settings).values()
    api = Blueprint("api", __name__, url_prefix="/api/v1")
    for part in (*_OF_CITY, *_OF_APPS, *_OF_PEOPLE):
        api.register_blueprint(part.blueprint)
    for blueprint in (each for parts in brought for each in parts.api()):
        api.register_blueprint(blueprint)
    app.register_blueprint(api)
    for blueprint in (each for parts in brought for each in parts.pages()):
        app.register_blueprint(blueprint)
    app.register_blueprint(citypulse.blueprint)
    app.register_blueprint(health.blueprint)
    pages.install(app)
    for key, address in (place for parts in brought for place in parts.navigation.items()):
        pages.add(app, key, address)
    openapi.describe(app, [parts.openapi for parts in brought if parts.openapi])
    access.install(app)
    limits.install(app)
    return app
