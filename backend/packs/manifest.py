"""An app's manifest, `app.toml`, and the pack that its folder holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from citywise.backend.errors import CitywiseError
from citywise.backend.ingest.standing import Context, PackName
from citywise.backend.kinds import Kinds
from citywise.backend.kinds.kind import NAME as KIND_NAME
from citywise.backend.packs.forms import AnyForm
from citywise.backend.packs.ontology import Ontology
from citywise.backend.packs.parameters import AnyParameter
from citywise.backend.packs.template import RECIPIENT, Missed, NoticeText, Switch, TemplateVersion
from citywise.reasoning import Finding

VERSION = r"^\d+\.\d+\.\d+$"
Name = PackName
Stream = Annotated[str, Field(pattern=KIND_NAME)]
"""`events`, `places`, or a kind of observations."""
Permission = Context


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TemplateEntry(_Entry):
    """What the manifest says of a template; its rules are in `templates/<name>.casp`."""

    version: int = Field(ge=1, le=2**31 - 1)
    title: str = Field(min_length=1)
    help: str = ""
    recipient: str | None = Field(default=None, pattern=RECIPIENT)
    """Who gets an instance without making one: a role, at each place of a parameter."""
    missed: Missed = "late"
    """What becomes of what its rules say of times at which the system was away."""
    parameters: dict[Name, AnyParameter] = {}
    switch: Switch | None = None
    forms: dict[Name, AnyForm] = {}
    """Ready-made forms of time and change; each concludes an atom that is called as it is."""


class Manifest(_Entry):
    """The content of `app.toml`."""

    name: Name
    version: str = Field(pattern=VERSION)
    title: str = Field(min_length=1)
    description: str = ""
    streams: tuple[Stream, ...] = Field(default=(), strict=False)
    roles: tuple[Name, ...] = Field(default=(), strict=False)
    """Kinds with a field of one of these are on the streams, too, whatever they are called."""
    permissions: tuple[Permission, ...] = Field(default=(), strict=False)
    ontology: str | None = None
    python: str | None = Field(default=None, pattern=r"^[a-z_][a-z0-9_]*$")
    """The module with what the app brings in Python (`backend.packs.parts`)."""
    requests: tuple[str, ...] = Field(default=(), strict=False)
    templates: dict[Name, TemplateEntry] = {}
    notices: dict[Name, NoticeText] = {}
    settings: dict[Name, AnyParameter] = {}
    """What holds for the whole app: each is typed as a parameter, its default is its value."""


class PackError(CitywiseError):
    """A folder holds no sound app pack; says all that is wrong with it."""

    def __init__(self, folder: Path, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join([f"{folder} is no sound app:", *map(str, findings)]))
        self.folder = folder
        self.findings = tuple(findings)


@dataclass(frozen=True)
class Pack:
    """An app as its folder holds it."""

    folder: Path
    manifest: Manifest
    templates: tuple[TemplateVersion, ...]
    strings: Mapping[str, Mapping[str, str]]
    """Translations by language and dotted path."""
    ontology: Ontology
    """Our terms and the pack's own."""
    kinds: Kinds = field(default_factory=Kinds)
    """All kinds there are for it, its own included."""
    own_kinds: Kinds = field(default_factory=Kinds)
    """Those that it brings."""

    @property
    def name(self) -> str:
        """The app's name."""
        return self.manifest.name

    @property
    def requests(self) -> tuple[Path, ...]:
        """Files of the city-level requests that the app brings."""
        return tuple(self.folder / name for name in self.manifest.requests)

    def template(self, name: str) -> TemplateVersion:
        """The template of a name; raises `KeyError`."""
        return {template.name: template for template in self.templates}[name]


def load(folder: Path, kinds: Kinds | None = None) -> Pack:
    """Read a pack; raises `PackError` with all problems.

    `kinds` are those there are beside its own; if left out, those that come with Citywise.

    What the rules say is not judged here, but that they can be read: see `check.check_pack`.
    """
    from citywise.backend.packs.loading import Loading

    return Loading(folder, kinds).pack()
