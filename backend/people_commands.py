"""The commands about people and their devices: `citywise user`.

Whoever can run them owns the machine; what they change is audited under the name `command`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click
from sqlalchemy import Connection, Engine

from citywise.backend import own_files
from citywise.backend.network import broker_rights as rights
from citywise.backend.people import (
    accounts,
    administration,
    audit,
    first_admin,
    invitations,
    logins,
    tokens,
    two_factor,
)
from citywise.backend.people.accounts import ROLES, Account
from citywise.backend.people.scopes import Scope
from citywise.backend.people.secret import digest
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.system_option import of_a_system
from citywise.backend.times import from_ms, wall_ms

ACTOR = "command"
_ROLE = click.Choice(ROLES)


def with_password(command: Callable[..., None]) -> Callable[..., None]:
    """Ask for a password twice, or read it from standard input; never an argument."""

    @click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
    @wraps(command)
    def asking(*, password_stdin: bool, **given: Any) -> None:
        if password_stdin:
            password = sys.stdin.readline().rstrip("\r\n")
        else:
            password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        command(password=password, **given)

    return asking


@click.group()
def user() -> None:
    """Make, list, change and remove accounts (docs/deployment.md)."""


@user.command()
@click.argument("name")
@click.option("--role", "roles", type=_ROLE, multiple=True, help="Beside `user`; repeatable.")
@with_password
@of_a_system
def add(settings: Settings, name: str, roles: tuple[str, ...], password: str) -> None:
    """Make an account called NAME."""
    with _changing(settings) as connection:
        made = accounts.create(connection, name, password, roles)
        audit.record(
            connection, ACTOR, "account.created", made.id, None, administration.rights(made)
        )
    click.echo(f"{made.name} ({made.id}): {_roles(made)}")


@user.command("list")
@of_a_system
def list_accounts(settings: Settings) -> None:
    """List the accounts: id, name, roles, since when, and whether they are disabled."""
    with database(settings) as engine, engine.connect() as connection:
        for each in accounts.listed(connection):
            shut = "" if each.disabled_ms is None else "\tdisabled"
            since = f"{from_ms(each.created_ms):%Y-%m-%d}"
            click.echo(f"{each.id}\t{each.name}\t{_roles(each)}\t{since}{shut}")


@user.command("roles")
@click.argument("name")
@click.argument("roles", nargs=-1, type=_ROLE)
@of_a_system
def change_roles(settings: Settings, name: str, roles: tuple[str, ...]) -> None:
    """Give the account NAME the ROLES host, developer, admin, and no others beside user."""
    with _changing(settings) as connection:
        after = administration.change(connection, ACTOR, name, roles=roles)
    click.echo(f"{after.name} ({after.id}): {_roles(after)}")


@user.command()
@click.argument("name")
@click.option("--undo", is_flag=True, help="Let them in again.")
@of_a_system
def disable(settings: Settings, name: str, undo: bool) -> None:
    """Shut the account NAME out, with its devices; nothing of it is removed."""
    with _changing(settings) as connection:
        after = administration.change(connection, ACTOR, name, disabled=not undo)
    click.echo(f"{after.name} ({after.id}) is {'let in again' if undo else 'disabled'}")


@user.command("password")
@click.argument("name")
@click.option("--tokens", "devices", is_flag=True, help="Take the devices' tokens back, too.")
@with_password
@of_a_system
def change_password(settings: Settings, name: str, devices: bool, password: str) -> None:
    """Give the account NAME another password, and end its logins; devices go on, unless told
    otherwise."""
    with _changing(settings) as connection:
        found = accounts.known(connection, name)
        accounts.change_password(connection, found.id, password)
        logins.close_all(connection, found.id)
        if devices:
            tokens.revoke_all(connection, found.id)
        left = len(tokens.of(connection, found.id))
        audit.record(connection, ACTOR, "account.password-set", found.id, None, {"tokens": left})
    click.echo(f"{found.name} ({found.id}) has another password, and is logged in nowhere")
    if left:
        click.echo(f"{left} of its devices go on with their tokens; --tokens takes them back")


@user.command("two-factor")
@click.argument("name")
@click.option(
    "--off",
    is_flag=True,
    help="Turn it off, for who lost phone, passkeys and codes.",
)
@of_a_system
def change_two_factor(settings: Settings, name: str, off: bool) -> None:
    """Say whether the account NAME logs in with two steps; with --off it does not any more, and
    is logged in nowhere."""
    with _changing(settings) as connection:
        found = accounts.known(connection, name)
        before = two_factor.standing(connection, found.id)
        if off and two_factor.end_all(connection, found.id):
            logins.close_all(connection, found.id)
            audit.record(connection, ACTOR, "account.two-factor-off", found.id)
    left = f"{before.recovery_left} recovery codes left"
    after = "off now" if off else f"on, {left}"
    click.echo(
        f"{found.name} ({found.id}): two-factor sign-in is "
        f"{after if found.has_two_factor else 'off'}"
    )


@user.command()
@click.option("--role", "roles", type=_ROLE, multiple=True, help="Beside `user`; repeatable.")
@click.option(
    "--hours",
    type=click.FloatRange(0, 24 * 365, min_open=True),
    default=invitations.HOURS,
    show_default=True,
    help="How long it is good for.",
)
@of_a_system
def invite(settings: Settings, roles: tuple[str, ...], hours: float) -> None:
    """Print a link with which one person can sign up, once."""
    with _changing(settings) as connection:
        secret = invitations.issue(connection, roles, hours)
        after = {"roles": list(roles), "hours": hours}
        audit.record(connection, ACTOR, "invitation.issued", digest(secret), None, after)
    click.echo(_link(settings, secret))


@user.command()
@click.argument("name")
@click.argument("label")
@click.option(
    "--right",
    "wanted",
    type=click.Choice(tokens.RIGHTS),
    multiple=True,
    required=True,
    help="What it may; `sensors` is to send readings and events, `places` to send and remove "
    "places; repeatable.",
)
@click.option("--kind", "kinds", multiple=True, help="Only this kind of observation; repeatable.")
@click.option(
    "--sensor", "sensors", multiple=True, help="Only these sensors, e.g. `n1*`; repeatable."
)
@click.option("--place", "places", multiple=True, help="Only these places; repeatable.")
@click.option(
    "--source", "sources", multiple=True, help="Only at the topics of these sources; repeatable."
)
@click.option("--remove", is_flag=True, help="It may remove these places, too.")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="It ends after so long.")
@of_a_system
def token(
    settings: Settings,
    name: str,
    label: str,
    wanted: tuple[str, ...],
    days: float | None,
    **only: Any,
) -> None:
    """Print a token of the account NAME for a device or a sensor, called LABEL.

    At the broker, what is before the point is the user name, and what is after it the password.
    With `-` as LABEL there is a token for each line of standard input: a label and, after a
    blank, the sensor that it is for. A line with label, sensor and token is printed for each.
    """
    many = [line.split() for line in sys.stdin if line.strip()] if label == "-" else [[label]]
    until = None if days is None else wall_ms() + round(days * 86_400_000)
    lines = []
    with _changing(settings) as connection:
        found = accounts.known(connection, name)
        for title, *own in many:
            told = {**only, "sensors": tuple(own) or only["sensors"]}
            scope = Scope.of(told) if any(told.values()) else None
            made, secret = tokens.issue(connection, found.id, title, wanted, until, scope=scope)
            limits = {"scope": scope.model_dump(mode="json")} if scope else {}
            after = {"label": made.label, "rights": sorted(made.rights), **limits}
            audit.record(connection, ACTOR, "token.issued", made.id, None, after)
            which = [title, *own] if label == "-" else []
            lines.append(" ".join([*which, f"{made.id}.{secret}"]))
    click.echo("\n".join(lines))


@user.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@of_a_system
def forget(settings: Settings, name: str, yes: bool) -> None:
    """Forget the account NAME and everything that is theirs; it cannot be undone."""
    from citywise.backend.privacy.forgetting import forget as forget_all

    with database(settings) as engine:
        with engine.connect() as connection:
            found = accounts.known(connection, name)
        if not yes:
            click.confirm(f"Forget {found.name} ({found.id}) and all that is theirs?", abort=True)
        with engine.begin() as connection:
            audit.record(connection, ACTOR, "account.forgotten", found.id)
        forget_all(engine, settings, found.id)
    click.echo(f"{found.name} is forgotten; what the log held follows while the system runs")


def invited(settings: Settings, url: str) -> list[str]:
    """What to say at a start where nobody is an admin yet: how to become it, once."""
    if settings.people.demo_user:
        return []
    with database(settings) as engine, engine.begin() as connection:
        if settings.people.sign_up == "closed":
            no_admin = not accounts.has_admin(connection)
            return ["Nobody is an admin yet: citywise user add NAME --role admin"] * no_admin
        secret = first_admin.invite(connection, ACTOR)
    if secret is None:
        return []
    link = _link(settings, secret, url)
    return [f"Nobody is an admin yet. Who signs up here, once, will be: {link}"]


def _link(settings: Settings, secret: str, url: str | None = None) -> str:
    """Where whoever has an invitation signs up."""
    web = settings.web
    root = web.public_url or url or f"http://{web.host}:{web.port or 'PORT'}"
    return f"{root}/sign-up?invitation={secret}"


@contextmanager
def database(settings: Settings) -> Iterator[Engine]:
    """The system's database with the tables of its apps; made if there is none yet."""
    from citywise.backend.packs.parts import upgrade_tables  # It loads the apps.

    own_files.keep_from_others()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    engine = create_engine_for(settings.database_url)
    try:
        migrate(engine)
        upgrade_tables(engine, settings)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _changing(settings: Settings) -> Iterator[Connection]:
    """A transaction, after which the broker knows of it."""
    with database(settings) as engine:
        with engine.begin() as connection:
            yield connection
        rights.write(engine, settings)


def _roles(account: Account) -> str:
    return ", ".join(role for role in ROLES if role in account.roles)
