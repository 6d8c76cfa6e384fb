"""Where the requests of a running system are found."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from citywise.backend.errors import CitywiseError
from citywise.backend.kinds import Kinds
from citywise.backend.pipeline.prepared import observed, prepared
from citywise.reasoning import Choice, Limits, RequestError, engine_for

LOG = logging.getLogger("citywise.requests")
OWN = Path(__file__).resolve().parent.parent / "city" / "requests"


class UnknownRequestError(CitywiseError):
    """A configured request does not exist."""


def find(name: str) -> Path:
    """The file of a request: one of ours by name, or any by path."""
    own = OWN / f"{name}.casp"
    if own.exists():
        return own
    path = Path(name)
    if path.suffix == ".casp" and path.exists():
        return path.resolve()
    known = ", ".join(sorted(p.stem for p in OWN.glob("*.casp")))
    raise UnknownRequestError(
        f"pipeline.requests: no request `{name}`; give the path of a .casp file or one of {known}"
    )


def possible(paths: Iterable[Path], kinds: Kinds) -> Iterator[Path]:
    """The requests whose streams are of some kinds; of those that cannot be read, all."""
    for path in paths:
        try:
            observed(path, kinds)
        except RequestError as error:
            if error.code == "stream":
                LOG.warning("request `%s` is left out: %s", path.stem, error.message)
                continue
        yield path


def check(path: Path, kinds: Kinds, limits: Limits, engine: Choice = "auto") -> None:
    """Read a request and see that the pipeline can run it.

    Raises `RequestError` for its text and its knowledge bases, `LimitError` for what takes too
    much to read, `UnsupportedError` if it has to be evaluated incrementally and cannot be.
    """
    found = prepared(path, kinds, limits, engine=engine)
    if engine == "incremental":
        engine_for(found.request, found.knowledge, choice=engine)
