"""`citywise run --host`: the settings with which a system serves a network over HTTPS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from citywise.backend import machine
from citywise.backend.network import addresses, certificates
from citywise.backend.network.authority import Authority
from citywise.backend.settings import Settings, SettingsError

WEB_PORT, BROKER_PORT, WEBSOCKET_PORT = 8443, 8883, 8884


@dataclass(frozen=True)
class Hosting:
    """A system that serves a network: its settings, and what is said of it."""

    settings: Settings
    authority: Authority | None
    """Whose certificate devices must trust; None: the settings name a certificate."""

    @property
    def url(self) -> str:
        """Where people find the pages."""
        assert self.settings.web.public_url is not None
        return self.settings.web.public_url

    def lines(self, way_in: str) -> Sequence[str]:
        """What to tell whoever started it; `way_in` is the page that says how to trust us."""
        said = [f"Phones and computers of this network: {way_in}"]
        if self.authority is not None:
            said += [f"Fingerprint of the certificate to trust: {self.authority.fingerprint}"]
        if port := self.settings.broker.devices_port:
            said += [f"Devices with a token, by MQTT over TLS: port {port}"]
        return said


def hosted(settings: Settings, host: str, port: int | None) -> Hosting:
    """The settings for serving at `host`, with a certificate of our own unless they name one.

    Raises `AddressError` for a host that is not this machine, `SettingsError` where something
    in the settings must not be served to a network.
    """
    where = addresses.of(host)
    chosen = port or settings.web.port or _free(where.listen, WEB_PORT)
    web: dict[str, Any] = {"host": where.listen, "port": chosen}
    if settings.web.public_url is None:
        web["public_url"] = f"https://{where.in_url}:{chosen}"
    authority = None
    if settings.web.certificate is None:
        issued = certificates.issued(certificates.folder_of(settings.data_dir), where.names)
        authority = issued.authority
        web |= {"certificate": issued.certificate, "private_key": issued.private_key}
    broker: dict[str, Any] = {}
    if settings.broker.embedded and not settings.broker.devices_port:
        broker["devices_port"] = _free(where.listen, BROKER_PORT)
    if settings.broker.embedded and not settings.broker.websocket_port:
        broker["websocket_port"] = _free(where.listen, WEBSOCKET_PORT)
    return Hosting(_with(settings, web=web, broker=broker), authority)


def _free(listen: str, port: int) -> int:
    return port if machine.is_free(listen, port) else machine.free_port()


def _with(settings: Settings, **sections: dict[str, Any]) -> Settings:
    values = settings.model_dump()
    for name, changes in sections.items():
        values[name] |= changes
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(f"--host: {error.errors()[0]['msg']}") from error
