"""Whatever one app does, the pages and acts of others go on, and the operator is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine, delete, select

from citywise.backend.api.app import create_app
from citywise.backend.network import broker_rights
from citywise.backend.packs import broken, parts
from citywise.backend.packs.check import check_pack
from citywise.backend.packs.parts import brought_to
from citywise.backend.people import accounts
from citywise.backend.privacy import consenting, export, forgetting
from citywise.backend.settings import Settings
from citywise.backend.store.models import AccountRow, ForgettingRow, InletRow
from citywise.backend.store.outbox import begin
from tests.api.browsers import Browser
from tests.packs.folders import AppFolder, with_python

NAME = "loud"
PAGES = ("/", "/list", "/apps", "/system", "/account", "/plan", "/service-worker.js",
         "/manifest.webmanifest", "/api/v1/clock", "/nowhere")  # fmt: skip
CODE = """
from flask import Blueprint
from citywise.backend.api import access
from citywise.backend.packs.parts import Parts

blueprint = Blueprint("loud", __name__)
def fail(*_):
    raise RuntimeError("loud fails")

@blueprint.get("/loud")
@access.city
def show():
    return "loud"

{more}
PARTS = Parts(pages=lambda: [blueprint], {parts})
"""


@contextmanager
def installed(folder: Path, parts: str = "", more: str = "") -> Iterator[AppFolder]:
    with with_python(folder, NAME, CODE.format(parts=parts, more=more)) as app:
        yield app


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


def statuses(app: Flask, *more: str) -> dict[str, int]:
    client = app.test_client()
    return {address: client.get(address, buffered=True).status_code for address in (*PAGES, *more)}


ALL_WELL = dict.fromkeys(PAGES, 200) | {"/nowhere": 404}
NOT_SERVED = {
    "its module fails": ("", "1 / 0", "ZeroDivisionError"),
    "its blueprints cannot be made": ("api=fail", "", "loud fails"),
    "its blueprint cannot be registered": ("", "blueprint.record(fail)", "loud fails"),
    "its blueprints end the process": ("api=lambda: exit(3)", "", "SystemExit: 3"),
    "a view says not who may call it": (
        "", "blueprint.add_url_rule('/x', 'x', fail)", "does not say who may call it"),
    "its blueprint is called as another": (
        "", "blueprint.name = 'plans_page'", "is called as one of the app `travel_planner`"),
    "its navigation is none": ("navigation=['/loud']", "", "`navigation` is no mapping"),
    "its page has no address": ("navigation={'loud': None}", "", "no key and address"),
    "its page is called as one of the shell": (
        "navigation={'map': '/loud'}", "", "there is a page `map` already"),
    "its description is not there": (
        "openapi=__import__('pathlib').Path('/nowhere.json')", "", "No such file"),
    "it handles the errors of all": (
        "", "blueprint.app_errorhandler(404)(fail)", "use `errorhandler` instead"),
}  # fmt: skip


@pytest.mark.parametrize(("part", "more", "says"), NOT_SERVED.values(), ids=NOT_SERVED.keys())
def test_what_cannot_be_served_is_left_out(
    tmp_path: Path, settings: Settings, engine: Engine, part: str, more: str, says: str
) -> None:
    if "plans_page" in more:
        taken = sorted(parts.of_settings(settings)["travel_planner"].pages()[0].name.split())[0]
        more = more.replace("plans_page", taken)
    with installed(tmp_path, part, more) as folder:
        found = statuses(create_app(settings, engine), "/loud")
        assert found == ALL_WELL | {"/loud": 404}
        (fault,) = broken.known()
        assert fault.app == NAME
        assert says in fault.reason
        if "as one of the app" not in says:  # of which `check` knows nothing
            assert says in " ".join(finding.message for finding in check_pack(folder.path))


FOR_ALL = {
    "before": "blueprint.before_app_request(fail)",
    "after": "blueprint.after_app_request(fail)",
    "after, without an answer": "blueprint.after_app_request(lambda response: None)",
    "at the end": "blueprint.teardown_app_request(fail)",
    "in templates": "blueprint.app_context_processor(fail)",
    "in templates, with nothing": "blueprint.app_context_processor(lambda: None)",
    "for addresses": "blueprint.app_url_value_preprocessor(fail)",
    "for links": "blueprint.app_url_defaults(fail)",
}


@pytest.mark.parametrize("more", FOR_ALL.values(), ids=FOR_ALL.keys())
def test_what_an_app_does_for_every_request_fails_for_it_alone(
    tmp_path: Path, settings: Settings, engine: Engine, more: str
) -> None:
    with installed(tmp_path, "", more):
        found = statuses(create_app(settings, engine))
        assert found == ALL_WELL
        assert {fault.app for fault in broken.known()} <= {NAME}
        if "links" not in more and "url_defaults" not in more:  # nothing asks for a link here
            assert broken.known()


def test_a_view_that_fails_is_its_own_affair(
    tmp_path: Path, settings: Settings, engine: Engine
) -> None:
    with installed(tmp_path, "", "blueprint.before_request(fail)"):
        assert statuses(create_app(settings, engine), "/loud") == ALL_WELL | {"/loud": 500}


def test_a_page_without_a_string_or_an_icon_has_the_apps_title(
    tmp_path: Path, settings: Settings, engine: Engine
) -> None:
    with installed(tmp_path, "navigation={'loud': '/loud'}") as folder:
        folder.write("strings/da.json", '{"title": "Støj"}')
        app = create_app(settings, engine)
        assert statuses(app) == ALL_WELL
        for language, title in ("en", "Jam watch"), ("da", "Støj"):
            page = app.test_client().get("/list", headers={"Accept-Language": language}).text
            _, _, link = page.partition('<a href="/loud"')
            assert f"<span>{title}</span>" in link.partition("</a>")[0]
            assert 'href="#icon-apps"' in link.partition("</a>")[0]
        assert broken.known() == []


def test_the_operator_sees_what_is_broken_and_why(
    tmp_path: Path, settings: Settings, engine: Engine
) -> None:
    with installed(tmp_path, "api=fail"):
        app = create_app(settings, engine)
        with engine.begin() as connection:
            accounts.create(connection, "boss", "three small boats at sea", ("admin",))
        (found,) = Browser.of(app, "boss").get("/operator/requests").json["broken_apps"]
    assert (found["app"], found["part"]) == (NAME, "web")
    assert found["reason"] == "RuntimeError: loud fails"


@pytest.fixture
def anna(engine: Engine) -> str:
    with engine.begin() as connection:
        return accounts.create(connection, "anna", "three small boats at sea", ("user",)).id


def test_an_export_lists_what_an_app_could_not_give(
    tmp_path: Path, settings: Settings, engine: Engine, anna: str
) -> None:
    def exported() -> dict[str, Any]:
        with engine.connect() as connection:
            return export.everything(connection, settings, anna)

    with installed(tmp_path, "export={'loud_songs': fail}"):
        found = exported()
        assert found["account"]["name"] == "anna"
        assert found["missing"] == [{"app": NAME, "part": "loud_songs"}]
    with installed(tmp_path / "again", "", "1 / 0"):
        assert exported()["missing"] == [{"app": NAME, "part": None}]
    assert exported()["missing"] == []


HALF_DONE = """
from sqlalchemy import text
def half(connection, *_):
    connection.execute(text("UPDATE accounts SET name = 'half done'"))
    fail()
"""


def test_a_person_is_forgotten_for_good_when_every_app_has_done_its_part(
    tmp_path: Path, settings: Settings, engine: Engine, anna: str
) -> None:
    def still() -> list[str]:
        forgetting.sweep(engine, settings)
        with engine.connect() as connection:
            return list(connection.scalars(select(ForgettingRow.user)))

    with engine.begin() as connection:
        other = accounts.create(connection, "ben", "three small boats at sea", ("admin",)).id
    with installed(tmp_path, "forgotten=half", HALF_DONE):
        forgetting.forget(engine, settings, anna)
        with engine.begin() as connection:
            connection.execute(delete(InletRow))  # as the ingest does when it has them
        with engine.connect() as connection:
            left = {row.id: row.name for row in connection.execute(select(AccountRow.__table__))}
        assert left == {other: "ben"}, "the rest is done, and what the app began is undone"
        assert [fault.part for fault in broken.known()] == ["forgotten"]
        assert still() == [anna]
    with installed(tmp_path / "unusable", "", "1 / 0"):
        assert still() == [anna]
    with installed(tmp_path / "mended", "forgotten=lambda *_: None"):
        assert anna not in still()
        assert "forgotten" not in [fault.part for fault in broken.known()]


def test_a_consent_is_withdrawn_though_an_app_fails(
    tmp_path: Path, settings: Settings, engine: Engine, anna: str
) -> None:
    with installed(tmp_path, "withdrawn=half", HALF_DONE), engine.begin() as connection:
        begin(connection)
        consenting.change(connection, settings, anna, "position", given=False)
        assert accounts.known(connection, "anna").id == anna
    assert [fault.part for fault in broken.known()] == ["withdrawn"]


def test_devices_of_others_keep_their_rights_where_an_app_fails(
    tmp_path: Path, settings: Settings, engine: Engine
) -> None:
    with installed(tmp_path, "devices=fail"):
        broker_rights.write(engine, settings)
    assert broker_rights.path(settings).read_text() == "{}"
    assert [fault.part for fault in broken.known()] == ["devices"]


def test_our_own_apps_are_sound(settings: Settings) -> None:
    assert brought_to(settings).unusable == ()
