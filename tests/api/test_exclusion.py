"""What is told of one user reaches the log in the order in which it was committed."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, select

from citywise.backend.api.app import create_app
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.exclusion import CONTEXT_OF, exclude
from citywise.backend.store.models import Base, InletRow


@pytest.fixture
def shared(postgresql_url: str) -> Iterator[Engine]:
    """A database in which transactions run at the same time."""
    engine = create_engine_for(postgresql_url)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


def told(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(select(InletRow.key).order_by(InletRow.id)).scalars())


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_who_tells_of_a_user_waits_for_who_has_just_told(
    shared: Engine, settings: Settings, method: str
) -> None:
    app = create_app(settings, shared)

    def tell(user: str) -> None:
        body = {"position": {"lat": 56.15, "lon": 10.2}}
        answer = app.test_client().open(f"/api/v1/users/{user}/context", method=method, json=body)
        assert answer.status_code == 202

    second = threading.Thread(target=tell, args=("alice",))
    with shared.begin() as first:
        exclude(first, CONTEXT_OF, "alice")
        second.start()
        tell("bo")
        second.join(0.3)
        assert second.is_alive()
        assert "alice" not in told(shared)
    second.join(120)
    assert told(shared)[-1] == "alice"
    app.extensions["citywise"].hub.close()
