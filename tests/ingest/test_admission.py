"""Of a person only what the person consents to is taken, and nothing of one who has left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, event, insert

from citywise.backend.ingest import admission, inlet
from citywise.backend.ingest.acceptance import Verdict
from citywise.backend.ingest.inlet import Inlet
from citywise.backend.ingest.standing import CONTEXT, Entry
from citywise.backend.people import consents
from citywise.backend.people.ids import new_id
from citywise.backend.store.models import AccountRow
from tests.databases import begun

PLACE = {"lat": 56.0, "lon": 10.0}
BODIES: dict[str, Any] = {
    "position": PLACE, "route": {"coordinates": [[10.0, 56.0], [10.1, 56.0]]},
    "activity": {"activity": "OnFoot"}, "preferences": {"distance": 3},
}  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = begun(f"sqlite:///{tmp_path / 'citywise.db'}")
    yield engine
    engine.dispose()


def person(engine: Engine, name: str, *subjects: str) -> str:
    """An account that consents to some kinds of context."""
    user = new_id()
    row = {"id": user, "name": name, "name_key": name, "roles": ["user"], "created_ms": 0}
    with engine.begin() as connection:
        connection.execute(insert(AccountRow), row)
        for subject in subjects:
            consents.write(connection, user, subject, given=True)
    return user


def told(user: str) -> Verdict:
    return Verdict(standing=[Entry(s, user, BODIES[s]) for s in CONTEXT], user=user)


def taken(engine: Engine, user: str) -> tuple[list[str], list[str]]:
    """Kinds of context that are taken of a message that has all, and reasons of what is not."""
    verdict = admission.read(engine, [user]).screened(told(user), 123)
    return [e.subject for e in verdict.standing], [letter.reason for letter in verdict.dead]


def test_what_a_person_consents_to_is_taken_and_the_rest_is_one_dead_letter(engine: Engine) -> None:
    user = person(engine, "alice", "position", "activity")
    verdict = admission.read(engine, [user]).screened(told(user), 123)
    assert [entry.subject for entry in verdict.standing] == ["position", "activity"]
    (letter,) = verdict.dead
    assert (letter.reason, letter.size) == ("no-consent", 123)
    assert "route, preferences" in letter.detail
    assert "PUT /api/v1/me/consents/<kind>" in letter.detail
    assert letter.payload == b"(123 bytes, not kept: context of a person)"


def test_a_consent_that_was_withdrawn_counts_no_more(engine: Engine) -> None:
    user = person(engine, "alice", *CONTEXT)
    assert taken(engine, user) == (list(CONTEXT), [])
    with engine.begin() as connection:
        consents.write(connection, user, "route", given=False)
    assert taken(engine, user) == (["position", "activity", "preferences"], ["no-consent"])


def test_what_only_removes_is_taken_without_consent(engine: Engine) -> None:
    user = person(engine, "alice")
    gone = Verdict(standing=[Entry(s, user, None) for s in CONTEXT], user=user)
    assert admission.read(engine, [user]).screened(gone, 0) == gone


def test_of_an_account_that_does_not_exist_nothing_is_taken(engine: Engine) -> None:
    user = person(engine, "alice", *CONTEXT)
    with engine.begin() as connection:
        connection.execute(delete(AccountRow))
    assert taken(engine, user) == ([], ["unknown-user"])
    assert taken(engine, "demo") == ([], ["unknown-user"])


@pytest.mark.parametrize("user", ["bob", "citypulse-" + "0" * 32, "u-bob"])
def test_test_persons_and_sessions_need_no_consent(engine: Engine, user: str) -> None:
    assert taken(engine, user) == (list(CONTEXT), [])


def test_a_group_of_messages_is_looked_up_at_once_and_only_where_it_is_about_people(
    engine: Engine,
) -> None:
    users = [person(engine, f"person{n}", "route") for n in range(20)]
    asked: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda _c, _d, text, *_: asked.append(text))
    admitted = admission.read(engine, [*users, "bob"])
    assert len(asked) == 1
    assert {len(admitted.screened(told(user), 1).standing) for user in users} == {1}
    asked.clear()
    admission.read(engine, ["bob"])
    assert asked == []


def test_rows_of_the_inlet_are_looked_at_again_and_removals_of_those_who_left_are_taken(
    engine: Engine,
) -> None:
    user, other = person(engine, "alice", "position"), person(engine, "bob")
    values = {"app": "a", "template": "t", "version": 1, "values": {}}
    with engine.begin() as connection:
        connection.execute(delete(AccountRow).where(AccountRow.id == other))
        rows: list[tuple[str, str, Any]] = [
            ("position", user, PLACE),
            ("route", user, BODIES["route"]),
            ("instance", f"{user}.jam", values | {"user": user}),
            ("position", user, {"lat": 56.7654321, "lon": "?"}),
            ("position", other, PLACE),
            ("position", other, None),
            ("instance", f"{other}.jam", values | {"user": other}),
            ("instance", f"{other}.jam", None),
            ("activity", "carol", {"activity": "on foot 7654321"}),
        ]
        inlet.write(connection, rows)
    found = Inlet(engine).take()
    assert [(e.subject, e.key, e.body is None) for e in found.entries] == [
        ("position", user, False), ("instance", f"{user}.jam", False),
        ("position", other, True), ("instance", f"{other}.jam", True),
    ]  # fmt: skip
    assert len(found.entry_ids) == 4
    assert len(found.ids) == len(rows)
    letters = [(entry.topic, entry.verdict.dead[0]) for entry in found.dead]
    assert sorted((topic, letter.reason) for topic, letter in letters) == [
        ("inlet/activity/carol", "schema"),
        ("inlet/instance/(a person)", "unknown-user"),
        ("inlet/position/(a person)", "schema"),
        ("inlet/position/(a person)", "unknown-user"),
        ("inlet/route/(a person)", "no-consent"),
    ]
    for topic, letter in letters:
        everything = f"{topic} {letter}"
        assert not any(part in everything for part in (user, other, "7654321"))
