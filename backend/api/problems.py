"""Errors as RFC 9457 problem documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any

import orjson
from flask import Flask, Response, request
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from werkzeug.exceptions import HTTPException

from citywise.backend.errors import CitywiseError
from citywise.backend.packs import broken
from citywise.backend.store.outage import is_full as is_full

_OWNERS = "citywise-owners"
CONTENT_TYPE = "application/problem+json"
MOST_FAULTS = 100
"""Of a body that are told: one of 1 MB may have 140,000, and telling all is work for nothing."""


class FailedViewError(CitywiseError):
    """A view of an app failed; names the address and the error."""


class ProblemError(Exception):
    """An answer other than success.

    `slug` names the kind of problem in its `type` URI, `detail` says what was found, what
    was expected and what to do; `members` are further fields of the document, `headers` of
    the answer.
    """

    def __init__(self, status: int, slug: str, title: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.slug = slug
        self.title = title
        self.detail = detail
        self.members = members
        self.headers: dict[str, str] = {}


def bad_parameter(name: str, detail: str) -> ProblemError:
    """A 400 that names the query parameter or body field at fault."""
    return ProblemError(400, "bad-parameter", "Bad parameter", f"{name}: {detail}", parameter=name)


def not_found(what: str) -> ProblemError:
    """A 404; `what` is what there is not, as in "notice 'x'"."""
    return ProblemError(404, "not-found", "Not Found", f"there is no {what}")


def fault(path: str, message: str, code: str | None = None) -> dict[str, str]:
    """One thing that is wrong with a body; `code` says it to who words it otherwise."""
    found = {"path": path, "message": message}
    return found | {"code": code} if code else found


def invalid(errors: Sequence[Mapping[str, Any]]) -> ProblemError:
    """A 422 with all that is wrong with a body: `path`, `message` and what more is known."""
    count = len(errors)
    first = f"{errors[0]['path']}: {errors[0]['message']}"
    more = f"; and {count - 1} more (see `errors`)" if count > 1 else ""
    return ProblemError(
        422, "invalid", "Invalid", first + more, errors=list(errors[: MOST_FAULTS + 1])
    )


def too_much(reason: str) -> ProblemError:
    """A 503 for a question whose evaluation was stopped at a limit; `reason` says which."""
    advice = "ask for less, or raise pipeline.limits"
    return ProblemError(503, "too-much", "Too much", f"not answered: {reason}; {advice}")


def full() -> ProblemError:
    """A 507 where there is no room to keep what was sent."""
    detail = (
        "nothing can be kept now: the server's disk is full; try again later (who runs this system "
        "makes room where its data_dir and database are)"
    )
    return ProblemError(507, "disk-full", "Disk full", detail)


def log_unreadable(error: Exception) -> ProblemError:
    """A 503 where what stands in the log cannot be read now."""
    return ProblemError(503, "log-unreadable", "Log unreadable", f"{error}; try again later")


def faults(
    error: ValidationError, word: Callable[[ErrorDetails], str] = lambda found: found["msg"]
) -> list[dict[str, str]]:
    """What pydantic found wrong with a body, as `invalid` takes it: the first `MOST_FAULTS`, each
    worded by `word`, and how many more there are."""
    found = [
        fault(".".join(map(str, one["loc"])) or "body", word(one))
        for one in islice(error.errors(include_url=False), MOST_FAULTS)
    ]
    more = error.error_count() - len(found)
    return [*found, fault("body", f"{more} more faults are not shown")] if more else found


def response(problem: ProblemError) -> Response:
    """Render a problem for the current request."""
    document = {
        "type": f"urn:citywise:problem:{problem.slug}",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "instance": request.path,
        **problem.members,
    }
    answer = Response(orjson.dumps(document), status=problem.status, content_type=CONTENT_TYPE)
    answer.headers.update(problem.headers)
    return answer


def from_http(error: HTTPException) -> ProblemError:
    """The problem for one of Werkzeug's exceptions (404, 405, 413, …)."""
    status = HTTPStatus(error.code or 500)
    slug = status.phrase.lower().replace(" ", "-")
    return ProblemError(status.value, slug, status.phrase, error.description or status.description)


def own(app: Flask, name: str, blueprints: Iterable[str]) -> None:
    """Note failures in some blueprints as those of the app of others that brings them."""
    app.extensions.setdefault(_OWNERS, {}).update(dict.fromkeys(blueprints, name))


def _owner(app: Flask) -> str | None:
    owners: dict[str, str] = app.extensions.get(_OWNERS, {})
    return next((owners[name] for name in request.blueprints if name in owners), None)


def _part() -> str:
    return f"view {request.url_rule}"


def install(app: Flask) -> None:
    """Make every error of `app` a problem document."""

    @app.after_request
    def _mend(answer: Response) -> Response:
        if answer.status_code < HTTPStatus.BAD_REQUEST and (owner := _owner(app)) is not None:
            broken.mended(owner, _part())
        return answer

    @app.errorhandler(ProblemError)
    def _problem(error: ProblemError) -> Response:
        return response(error)

    @app.errorhandler(HTTPException)
    def _http(error: HTTPException) -> Response:
        rendered = response(from_http(error))
        for name, value in error.get_headers():
            if name.lower() in {"allow", "retry-after", "location"}:
                rendered.headers[name] = value
        return rendered

    @app.errorhandler(Exception)
    def _unexpected(error: Exception) -> Response:
        # Not the path: it may hold a session's id, which is a secret.
        if is_full(error):
            app.logger.warning("%s %s: the disk is full", request.method, request.url_rule)
            return response(full())
        app.logger.exception("%s %s failed", request.method, request.url_rule, exc_info=error)
        if (owner := _owner(app)) is not None:
            failed = f"{request.method} {request.url_rule}: {broken.reason_of(error)}"
            broken.note(owner, _part(), FailedViewError(failed))
        return response(
            ProblemError(
                500,
                "internal-server-error",
                "Internal server error",
                "Something failed on our side; the log of the web process says what.",
            )
        )
