"""Installed template versions: they stay as they are while the app goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from citywise.backend.packs.installed import (
    StaleVersionError,
    UnknownTemplateError,
    find,
    install,
    versions,
)
from citywise.backend.store.models import TemplateVersionRow
from tests.databases import begun
from tests.packs.folders import AppFolder


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """A database with our tables."""
    return begun(f"sqlite:///{tmp_path / 'citywise.db'}")


def test_installing_twice_changes_nothing(app: AppFolder, engine: Engine) -> None:
    install(engine, [app.load()])
    query = select(TemplateVersionRow.__table__)
    with engine.connect() as connection:
        before = connection.execute(query).all()
    assert install(engine, [app.load()]) == [app.template()]
    with engine.connect() as connection:
        assert connection.execute(query).all() == before
        assert versions(connection) == [app.template()]


def test_other_rules_need_another_version_and_the_old_one_stays(
    app: AppFolder, engine: Engine
) -> None:
    (old,) = install(engine, [app.load()])
    app.rules("near_route(Me,Jam,R)", "near_route(Me,Jam,R), not passed(Me,Jam)")
    with pytest.raises(StaleVersionError) as caught:
        install(engine, [app.load()])
    assert str(caught.value) == (
        "template `jam_ahead` 1 of app `jam_watch` is installed with other rules or parameters; "
        "raise `version` in app.toml to 2 (templates.jam_ahead.version); instances of 1 keep the "
        "old rules until migrated"
    )
    app.manifest("version = 1\n", "version = 2\n")
    (new,) = install(engine, [app.load()])
    with engine.connect() as connection:
        assert find(connection, "jam_watch", "jam_ahead", 1) == old
        assert find(connection, "jam_watch", "jam_ahead") == new
    assert (old.request_name, new.request_name) == (
        "jam_watch/jam_ahead@1",
        "jam_watch/jam_ahead@2",
    )


def test_texts_may_change_without_a_new_version(app: AppFolder, engine: Engine) -> None:
    install(engine, [app.load()])
    app.manifest('title = "Jam ahead"', 'title = "A jam is ahead"')
    install(engine, [app.load()])
    with engine.connect() as connection:
        words = find(connection, "jam_watch", "jam_ahead").notices["jam_ahead"]
    assert words.title == "A jam is ahead"


def test_an_unknown_version_or_template_names_those_there_are(
    app: AppFolder, engine: Engine
) -> None:
    nothing = pytest.raises(UnknownTemplateError, match="there are none at all")
    with engine.connect() as connection, nothing:
        find(connection, "jam_watch", "jam_ahead")
    install(engine, [app.load()])
    with engine.connect() as connection:
        said = "template `jam_ahead` of app `jam_watch` has no version 7; there are 1; leave"
        with pytest.raises(UnknownTemplateError, match=said):
            find(connection, "jam_watch", "jam_ahead", 7)
        said = "no template `jam_watch/jam` is installed; there are jam_watch/jam_ahead"
        with pytest.raises(UnknownTemplateError, match=re.escape(said)):
            find(connection, "jam_watch", "jam")
