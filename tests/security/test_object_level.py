"""API1:2023, broken object level authorization: another's id tells no more than nobody's."""

from __future__ import annotations

from typing import Any

import pytest
from werkzeug.test import TestResponse

from citywise.backend.api import access
from citywise.backend.settings import People, Settings
from tests.api.browsers import Browser
from tests.security.attempts import IDS, NOBODYS, NOT_OF_PEOPLE, Attempt, attempts, parts
from tests.security.cast import SECRET, Cast


@pytest.fixture(scope="module", params=[False, True], ids=["public", "private"])
def settings(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Settings:
    """A city that answers however often it is asked, so that a test can be tried again."""
    people = People(rate_limits=False, private=request.param)
    return Settings(data_dir=tmp_path_factory.mktemp("city"), people=people)


WHO = ("bert", "developer", "admin", "device", "nobody", "olga", "meter")


def told(answer: TestResponse, *ids: str) -> tuple[int, str]:
    """What an answer says, without the ids that were asked about."""
    text = answer.get_data(as_text=True)
    for each in sorted(ids, key=len, reverse=True):
        text = text.replace(each, "ID")
    return answer.status_code, text


def both(browser: Browser, attempt: Attempt, cast: Cast) -> tuple[tuple[int, str], tuple[int, str]]:
    """What is answered about what is Anna's, and about what is nobody's."""
    pairs = [ids(cast) for ids in IDS.values()]
    ids = [each for pair in pairs for each in pair]
    hers = browser.open(attempt.method, attempt.hers, attempt.body)
    nobodys = browser.open(attempt.method, attempt.nobodys, attempt.body)
    return told(hers, *ids), told(nobodys, *ids)


def test_every_part_of_an_address_is_known_to_be_somebodys_or_not(cast: Cast) -> None:
    known = IDS.keys() | NOT_OF_PEOPLE
    assert {(endpoint, part) for endpoint, _, part in parts(cast.app) if part not in known} == set()


@pytest.mark.parametrize("who", WHO)
def test_an_id_of_annas_is_answered_as_one_that_nobody_has(cast: Cast, who: str) -> None:
    before, tried = cast.everything(), 0
    for attempt in attempts(cast):
        if who == "admin" and attempt.endpoint == "api.accounts.change_account":
            continue  # It is what admins are for.
        hers, nobodys = both(cast.others[who], attempt, cast)
        assert hers == nobodys, attempt
        is_key = access.of(cast.app, attempt.endpoint).kind == "key"
        refused = (404,) if is_key else (401,) if who == "nobody" else (403, 404, 422)
        assert hers[0] in refused, (attempt, hers)
        assert SECRET not in hers[1]
        tried += 1
    assert tried >= 14
    assert cast.everything() == before


def test_what_is_refused_to_others_is_granted_to_anna(cast: Cast) -> None:
    """Or the test before this one would show nothing."""
    for attempt in attempts(cast):
        if attempt.method == "GET":
            assert cast.anna.get(attempt.granted(cast)).status_code == 200, attempt


def test_who_takes_part_in_a_meeting_is_no_more_than_that(cast: Cast) -> None:
    """Carl is answered as nobody wherever it is not about his own seat."""
    before = cast.everything()
    for attempt in attempts(cast):
        if access.of(cast.app, attempt.endpoint).kind != "key":
            answer = cast.carl.open(attempt.method, attempt.hers, attempt.body)
            assert answer.status_code == 401, attempt
    assert cast.everything() == before


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(
    "query",
    [
        "/notices?user={user}",
        "/notices?instance={instance}",
        "/instances?user={user}",
        "/why?instance={instance}",
        "/why?instance={instance}&about=jam-1",
        "/events/stream?user={user}",
        "/me/wishes?user={user}",
    ],
)
def test_a_query_about_anna_is_answered_as_one_about_nobody(
    cast: Cast, who: str, query: str
) -> None:
    ids = cast.instance, f"{NOBODYS}.jam_ahead", cast.anna.user, NOBODYS
    hers = query.format(user=cast.anna.user, instance=cast.instance)
    nobodys = query.format(user=NOBODYS, instance=f"{NOBODYS}.jam_ahead")
    answers = [told(cast.others[who].get(address), *ids) for address in (hers, nobodys)]
    assert answers[0] == answers[1]
    assert SECRET not in answers[0][1]
    if "/notices?instance" not in query:
        # A meter's token is for no person's affairs, whoever they are.
        assert answers[0][0] in ((403,) if who == "meter" else (401, 404))


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("address", ["/instances", "/instances/check"])
@pytest.mark.parametrize("name", ["user", "id"])
def test_a_body_about_anna_is_answered_as_one_about_nobody(
    cast: Cast, who: str, address: str, name: str
) -> None:
    before = cast.everything()
    wish = {"app": "jam_watch", "template": "jam_ahead"}
    pair = {
        "user": (cast.anna.user, NOBODYS),
        "id": (cast.instance, f"{NOBODYS}.jam_ahead"),
    }[name]
    answers = [
        told(cast.others[who].post(address, {**wish, name: value}), cast.anna.user, NOBODYS)
        for value in pair
    ]
    assert answers[0] == answers[1]
    if (name, address) != ("id", "/instances/check"):  # The id of what is tried does not count.
        assert answers[0][0] in (401, 403, 404, 422)
    assert cast.everything() == before


# --- Lists --------------------------------------------------------------------------------------

LISTS = (
    "/instances",
    "/instances?limit=1000",
    "/meetings",
    "/notices",
    "/traces",
    "/traces/1",
    "/dead-letters",
    "/audit",
    "/operator/requests",
    "/operator/sources",
    "/operator/events",
    "/apps/jam_watch",
    "/me/export",
    "/me/tokens",
    "/me/logins",
    "/me/passkeys",
    "/me/push",
    "/me/mail",
    "//metrics",
    "//readyz",
)


@pytest.mark.parametrize("who", WHO)
def test_no_list_tells_anything_of_anna_or_of_a_session(cast: Cast, who: str) -> None:
    for address in LISTS:
        answer = cast.others[who].get(address)
        text = answer.get_data(as_text=True)
        assert answer.status_code in (200, 401, 403, 503), address
        for hidden in (SECRET, cast.anna.user, cast.session, cast.token):
            assert hidden not in text, (address, hidden)


def test_only_admins_see_who_there_is_and_nothing_of_what_they_do(cast: Cast) -> None:
    text = cast.admin.get("/accounts").get_data(as_text=True)
    assert cast.anna.user in text
    assert SECRET not in text
    for who in set(WHO) - {"admin"}:
        assert cast.others[who].get("/accounts").status_code in (401, 403)


def test_developers_see_test_persons_and_nobody_else(cast: Cast) -> None:
    found = cast.developer.get("/instances").json["instances"]
    assert [each["user"] for each in found] == ["alice"]
    assert cast.developer.get("/why?instance=alice.jam_ahead").status_code == 200
    assert cast.developer.get("/notices?user=alice").json["notices"] != []
    assert cast.bert.get("/instances?user=alice").status_code == 404
    assert cast.bert.get("/why?instance=alice.jam_ahead").status_code == 404


def test_traces_name_only_what_a_developer_may_know_of(cast: Cast) -> None:
    trace: Any = cast.developer.get("/traces/1").json
    assert trace["changed"]["instances"] == ["alice.jam_ahead"]
    assert [each["instance"] for each in trace["changed"]["notices"]] == ["alice.jam_ahead"]
    assert trace["error"] == "instance 'somebody.jam_ahead' and instance 'somebody': too many atoms"


def test_an_export_tells_what_the_token_of_a_device_is_for(cast: Cast) -> None:
    (token,) = cast.admin.get("/me/export").json["tokens"]
    assert token["scope"] == {"kinds": ["noise"], "places": ["n1*"]}


# --- Sessions -----------------------------------------------------------------------------------


def test_the_id_of_a_session_is_the_key_to_it_where_the_city_is_not_private(
    cast: Cast, settings: Settings
) -> None:
    address = f"/notices?user={cast.session}"
    if settings.people.private:
        assert cast.nobody.get(address).status_code == 401
        return
    [notice] = cast.nobody.get(address).json["notices"]
    assert cast.nobody.get(f"/notices/{notice['id']}").status_code == 200
    assert cast.nobody.get(f"/instances/{cast.session}").status_code == 200
    assert cast.nobody.get(f"/users/{cast.session}/context").status_code == 200
    other = "citypulse-" + "f" * 32
    assert cast.nobody.get(f"/notices?user={other}").status_code == 404
    assert cast.nobody.get(f"/instances/{other}").status_code == 401
