"""The Flask application."""

from __future__ import annotations

from flask import Blueprint, Flask
from sqlalchemy import Engine

from citywise.backend.api import (
    access,
    accounts,
    apps,
    attend,
    audit,
    citypulse,
    compression,
    context,
    control,
    critical_events,
    dead_letters,
    door,
    duties,
    event_stream,
    events,
    feeds,
    health,
    history,
    identity,
    instances,
    kinds,
    layers,
    limits,
    mail,
    me,
    metrics,
    ngsi,
    ngsi_subscriptions,
    notices,
    observations,
    openapi,
    operator,
    pages,
    passkeys,
    places,
    problems,
    push,
    saved_places,
    security,
    sensorthings,
    sign_in,
    snapshot,
    sources,
    traces,
    trials,
    two_factor,
    webhooks,
    why,
    wishes,
)
from citywise.backend.api.brought import contain, sound
from citywise.backend.api.hub import Hub
from citywise.backend.api.state import WebState
from citywise.backend.packs.page_files import PageFiles
from citywise.backend.packs.parts import brought_to, of_settings
from citywise.backend.packs.strings import titles
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for

MAX_BODY_BYTES = 1_000_000
_OF_CITY = (
    events, event_stream, feeds, kinds, layers, places, snapshot, history, observations, control,
    dead_letters, openapi,
)  # fmt: skip
_OF_PEOPLE = (
    accounts, duties, sign_in, me, mail, push, two_factor, passkeys, wishes, saved_places, attend,
    audit, operator, sources, webhooks,
)  # fmt: skip
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
    compression.install(app)
    problems.install(app)
    door.install(app)
    metrics.install(app)
    security.install(app, settings)
    identity.install(app)
    apps = brought_to(settings)
    brought = sound(apps.usable(engine))
    api = Blueprint("api", __name__, url_prefix="/api/v1")
    for part in (*_OF_CITY, *_OF_APPS, *_OF_PEOPLE):
        api.register_blueprint(part.blueprint)
    for blueprint in (each for web in brought for each in web.api):
        api.register_blueprint(blueprint)
    app.register_blueprint(api)
    for blueprint in (each for web in brought for each in web.pages):
        app.register_blueprint(blueprint)
    app.register_blueprint(citypulse.blueprint)
    app.register_blueprint(ngsi.blueprint)
    app.register_blueprint(ngsi_subscriptions.blueprint)
    app.register_blueprint(sensorthings.blueprint)
    app.register_blueprint(sign_in.pages)
    app.register_blueprint(mail.pages)
    sign_in.install(app, settings.sign_in)
    app.register_blueprint(health.blueprint)
    pages.install(app)
    for web in brought:
        files = PageFiles(web.app, apps.folders[web.app])
        pages.dress(app, files, web.blueprints)
        problems.own(app, web.app, web.blueprints)
        named = titles(files.folder)
        for key, address in web.parts.navigation.items():
            pages.add(app, key, address, named, files)
        pages.add_shortcuts(app, web.parts.shortcuts, files)
        pages.add_manifests(app, web.parts.installable, files)
        pages.add_everywhere(app, web.parts.everywhere, files)
    openapi.describe(app, [web.parts.openapi for web in brought if web.parts.openapi])
    access.install(app)
    limits.install(app, [web.parts.limits for web in brought])
    contain(app, brought)
    return app
