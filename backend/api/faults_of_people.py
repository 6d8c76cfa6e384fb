"""What is wrong with an account, as problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from citywise.backend.api.problems import ProblemError, fault, invalid
from citywise.backend.people.audit import NotUndoableError
from citywise.backend.people.errors import NameTakenError, PeopleError


@contextmanager
def as_problems() -> Iterator[None]:
    """Turn what `backend.people` raises in the block into problems."""
    try:
        yield
    except NameTakenError as error:
        raise ProblemError(409, "name-taken", "Name taken", f"{error.field}: {error}") from None
    except NotUndoableError as error:
        raise ProblemError(409, "not-undoable", "Not undoable", str(error)) from None
    except PeopleError as error:
        raise invalid([fault(error.field, str(error), error.code)]) from None
