"""`citywise user`: what whoever owns the machine can do about accounts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from click.testing import CliRunner, Result
from sqlalchemy import Engine, inspect, select

from citywise.backend import cli
from citywise.backend.network import broker_rights
from citywise.backend.people import accounts, passwords, two_factor
from citywise.backend.people_commands import invited
from citywise.backend.settings import People, Settings, Web
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import AuditRow, InvitationRow, LoginRow

pytestmark = pytest.mark.slow
PASSWORD = "a horse with a battery"


@pytest.fixture(autouse=True)
def cheap_passwords() -> Iterator[None]:
    strong = passwords._hasher
    passwords.use(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    yield
    passwords.use(strong)


class Machine:
    """A folder of a system, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = Settings(data_dir=folder)

    def run(self, *arguments: str, says: str | None = None) -> Result:
        command = ["user", *arguments, "--state", str(self.folder)]
        return CliRunner().invoke(cli.cli, command, input=says)

    def user(self, *arguments: str, says: str | None = None) -> str:
        result = self.run(*arguments, says=says)
        assert result.exit_code == 0, result.output
        return result.output

    def add(self, name: str, *more: str) -> str:
        """The id of a new account."""
        said = self.user("add", name, "--password-stdin", *more, says=f"{PASSWORD}\n")
        return said.split("(")[1].split(")")[0]

    def engine(self) -> Engine:
        return create_engine_for(self.settings.database_url)

    def audited(self) -> list[tuple[str, str]]:
        engine = self.engine()
        with engine.connect() as connection:
            rows = connection.execute(select(AuditRow.actor, AuditRow.action).order_by(AuditRow.id))
            found = [(row.actor, row.action) for row in rows]
        engine.dispose()
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_account_is_made_and_listed_with_its_roles(machine: Machine) -> None:
    identity = machine.add("Anna", "--role", "admin", "--role", "host")
    (line,) = machine.user("list").splitlines()
    assert line.split("\t")[:3] == [identity, "Anna", "user, host, admin"]
    engine = machine.engine()
    with engine.connect() as connection:
        found = accounts.log_in(connection, "anna", PASSWORD)
    engine.dispose()
    assert found is not None
    assert found.id == identity
    assert machine.audited() == [("command", "account.created")]


def test_a_password_is_asked_for_twice_and_is_no_argument(machine: Machine) -> None:
    asked = machine.run("add", "Anna", says=f"{PASSWORD}\n{PASSWORD}\n")
    assert asked.exit_code == 0
    assert PASSWORD not in asked.output
    assert machine.run("add", "Ben", PASSWORD).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "Anna", "--password-stdin"), "is taken"),
        (("add", "Ben", "--role", "king", "--password-stdin"), "king"),
        (("roles", "Nobody", "admin"), "no account `Nobody`"),
        (("roles", "Anna"), "last admin"),
        (("disable", "Anna"), "last admin"),
        (("token", "Anna", "phone", "--right", "fly"), "fly"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(
    machine: Machine, arguments: tuple[str, ...], says: str
) -> None:
    machine.add("Anna", "--role", "admin")
    before, audited = machine.user("list"), machine.audited()
    result = machine.run(*arguments, says=f"{PASSWORD}\n")
    assert result.exit_code != 0
    assert says in result.output + str(result.exception)
    assert (machine.user("list"), machine.audited()) == (before, audited)


def test_roles_are_given_and_taken(machine: Machine) -> None:
    machine.add("Anna", "--role", "admin")
    machine.add("Ben")
    assert "user, host, admin" in machine.user("roles", "ben", "host", "admin")
    assert machine.user("roles", "anna").endswith(": user\n")
    assert machine.audited()[-2:] == [("command", "account.changed")] * 2


def test_a_disabled_account_has_no_devices_at_the_broker_until_it_is_let_in_again(
    machine: Machine,
) -> None:
    machine.add("Anna", "--role", "admin")
    machine.add("Ben")
    device, _, secret = machine.user("token", "Ben", "a phone", "--right", "all").partition(".")

    def known() -> dict[str, dict[str, object]]:
        return dict(json.loads(broker_rights.path(machine.settings).read_text()))

    assert known()[device]["rights"] == ["all"]
    assert secret.strip() not in broker_rights.path(machine.settings).read_text()
    machine.user("disable", "Ben")
    assert known() == {}
    machine.user("disable", "Ben", "--undo")
    assert set(known()) == {device}


def test_another_password_ends_the_logins(machine: Machine) -> None:
    machine.add("Anna")
    engine = machine.engine()
    with engine.begin() as connection:
        from citywise.backend.people import logins

        anna = accounts.known(connection, "Anna")
        logins.open_login(connection, anna.id, 1, "a browser")
    machine.user("token", "Anna", "a phone", "--right", "all")
    again = ("password", "Anna", "--password-stdin")
    assert "1 of its devices" in machine.user(*again, says="another long password\n")
    with engine.connect() as connection:
        assert connection.execute(select(LoginRow.id)).all() == []
        assert accounts.log_in(connection, "Anna", "another long password") is not None
    assert "devices" not in machine.user(*again, "--tokens", says=f"{PASSWORD}\n")
    assert json.loads(broker_rights.path(machine.settings).read_text()) == {}
    engine.dispose()


def test_forgetting_asks_first_and_then_leaves_no_account(machine: Machine) -> None:
    machine.add("Anna", "--role", "admin")
    ben = machine.add("Ben")
    assert machine.run("forget", "Ben", says="n\n").exit_code != 0
    assert ben in machine.user("list")
    machine.user("forget", "Ben", "--yes")
    assert ben not in machine.user("list")
    assert ("command", "account.forgotten") in machine.audited()


def test_an_invitation_is_a_link_that_is_good_once(machine: Machine) -> None:
    link = machine.user("invite", "--role", "host", "--hours", "2")
    assert "/sign-up?invitation=" in link
    engine = machine.engine()
    with engine.connect() as connection:
        (row,) = connection.execute(select(InvitationRow.__table__)).all()
    engine.dispose()
    assert row.roles == ["user", "host"]
    assert row.id not in link


def test_the_first_start_invites_an_admin_until_there_is_one(machine: Machine) -> None:
    (line,) = invited(machine.settings, "https://city.example:8443")
    assert "https://city.example:8443/sign-up?invitation=" in line
    machine.user("invite", "--role", "admin")
    machine.add("Anna", "--role", "admin")
    assert invited(machine.settings, "https://city.example:8443") == []
    engine = machine.engine()
    with engine.connect() as connection:
        (left,) = connection.execute(select(InvitationRow.__table__)).all()
    engine.dispose()
    assert left.roles == ["user", "admin"], "what was given by hand stays"


def test_where_nobody_can_sign_up_the_first_admin_is_made_by_command(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, people=People(sign_up="closed"))
    assert invited(settings, "http://x") == [
        "Nobody is an admin yet: citywise user add NAME --role admin"
    ]
    demo = Settings(data_dir=tmp_path, people=People(demo_user=True), web=Web())
    assert invited(demo, "http://x") == []


def test_two_systems_cannot_be_meant_at_once(tmp_path: Path) -> None:
    config = tmp_path / "city.toml"
    config.write_text("")
    result = CliRunner().invoke(
        cli.cli, ["user", "list", "--state", str(tmp_path), "--config", str(config)]
    )
    assert result.exit_code == 2
    assert "two systems" in result.output


def test_before_a_first_start_there_are_the_tables_of_apps_too(tmp_path: Path) -> None:
    """What is written for a broker's rights asks the apps, such as who hosts a meeting."""
    machine = Machine(tmp_path)
    machine.add("Ann")
    assert "meeting_mgr_meetings" in inspect(machine.engine()).get_table_names()


def test_two_factor_sign_in_of_who_lost_phone_and_codes_is_turned_off(machine: Machine) -> None:
    anna = machine.add("Anna")
    assert "two-factor sign-in is off" in machine.user("two-factor", "Anna", "--off")
    assert machine.audited()[-1][1] != "account.two-factor-off"
    engine = machine.engine()
    with engine.begin() as connection:
        secret = two_factor.begin(connection, anna)
        assert two_factor.confirm(connection, anna, two_factor.code_at(secret, time.time()))
    assert "is on, 10 recovery codes left" in machine.user("two-factor", "Anna")
    assert "is off now" in machine.user("two-factor", "anna", "--off")
    assert machine.audited()[-1][1] == "account.two-factor-off"
    with engine.connect() as connection:
        assert two_factor.standing(connection, anna) == two_factor.Standing(None, 0)
    engine.dispose()
