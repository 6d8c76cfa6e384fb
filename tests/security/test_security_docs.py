"""The documentation says who may call what, and how often, as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flask import Flask

from citywise.backend.api import access, limits
from citywise.backend.api.access import Access
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.parts import found
from tests.security.cast import Cast

DOCS = REPOSITORY / "docs"


def who(declared: Access) -> str:
    """Who may call a view, in words."""
    if declared.kind == "city":
        return "everybody"
    if declared.kind == "key":
        return "who has its key"
    if declared.kind == "own_rights":
        return "who is logged in, and no device"
    if declared.role is not None:
        roles = " or ".join(declared.role.split())
        by = "" if declared.right in ("all", None) else f" (device: `{declared.right}`)"
        return f"{roles}{by}" if declared.right else f"{roles}, and no device"
    device = "" if declared.right == "all" else f" (device: `{declared.right}`)"
    return f"the person{device}" + (", a session" if declared.session else "")


def rows(app: Flask) -> Iterator[str]:
    """The lines of the table."""
    for rule in sorted(app.url_map.iter_rules(), key=lambda rule: rule.rule):
        if not rule.endpoint.startswith("pages."):
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                address = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
                yield f"| `{method} {address}` | {who(access.of(app, rule.endpoint))} |"


def test_the_page_on_security_lists_who_may_call_what(cast: Cast) -> None:
    page = (DOCS / "security.md").read_text(encoding="utf-8").splitlines()
    listed = [line for line in page if re.match(r"\| `[A-Z]+ /", line)]
    assert listed == list(dict.fromkeys(rows(cast.app)))


def test_the_guide_to_the_api_says_how_often_one_may_ask() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    for kind in limits.LIMITS:
        assert f"| {kind} | {limits.said(kind)} |" in page
    for parts in found().values():
        for kind, limit in parts.limits.items():
            assert f"| {kind} | {limit.times} in {limit.seconds} s |" in page
