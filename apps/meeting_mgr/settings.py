"""Settings of the meeting manager: `[meetings]` in the configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from citywise.backend.app import Section, Settings

SECTION = "meetings"
_PREFIX = re.compile(r"https?://[^\s/?#@,\\]+/([^\s?#,\\]*/)?")


class Meetings(Section):
    """Mail, and the conference systems of meetings."""

    smtp_host: str | None = None
    """Who delivers invitations; None: they can only be downloaded."""
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_security: Literal["none", "starttls", "tls"] = "starttls"
    smtp_ca: Path | None = None
    """Certificates (PEM) that the mail server's is checked against; default: the system's."""
    smtp_username: str | None = None
    smtp_password: str | None = None
    sender: str | None = Field(default=None, pattern=r"^[^@\s<>\"]+@[^@\s<>\"]+$")
    """The address that invitations come from."""
    jitsi: str | None = Field(default=None, pattern=r"^https://[A-Za-z0-9.\[\]:-]+$")
    """The server of Jitsi Meet whose rooms meetings may use."""
    webhooks: tuple[str, ...] = ()
    """Hosts may have other systems told of their meetings at addresses below these."""

    @field_validator("webhooks", mode="before")
    @classmethod
    def _list(cls, given: object) -> object:
        return given.split(",") if isinstance(given, str) else given

    @field_validator("webhooks")
    @classmethod
    def _addresses(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for text in given:
            if not _PREFIX.fullmatch(text):
                raise ValueError(
                    f"`{text}` is no address of a folder: expected one such as "
                    "https://conference.example/hooks/, with a path that ends with /"
                )
        return given

    @model_validator(mode="after")
    def _mail_has_a_sender(self) -> Meetings:
        if self.smtp_host is not None and self.sender is None:
            raise ValueError(
                "meetings.smtp_host is set but not meetings.sender: mail needs the address it "
                "comes from"
            )
        if (self.smtp_username is None) != (self.smtp_password is None):
            raise ValueError(
                "meetings.smtp_username and meetings.smtp_password belong together; set both"
            )
        if self.smtp_password is not None and self.smtp_security == "none":
            raise ValueError(
                "meetings.smtp_password would be sent unencrypted: set meetings.smtp_security to "
                "starttls or tls"
            )
        return self


def of(settings: Settings) -> Meetings:
    """What stands in the configuration of a system."""
    return settings.section(SECTION, Meetings)
