"""The app's table: which types of events somebody has pinned, and since when."""

from typing import Any

from sqlalchemy import BigInteger, Column, MetaData, String, Table

from citywise.backend.app import Tables


def first(op: Any) -> None:
    key = [Column(name, String(64), primary_key=True) for name in ("user", "type")]
    op.create_table("pulse_pins", *key)


def second(op: Any) -> None:
    op.add_column("pulse_pins", Column("since_ms", BigInteger, server_default="0"))


TABLES = Tables([first, second], personal={"pulse_pins": "user"})
PINS = Table("pulse_pins", MetaData(), *(Column(name) for name in ("user", "type", "since_ms")))
