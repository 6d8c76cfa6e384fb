"""A device with passkeys, as WebAuthn (Level 3) describes one; it may be made to lie."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

ORIGIN = "http://localhost"
PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class Key:
    """One passkey of the device."""

    handle: str
    private: ec.EllipticCurvePrivateKey
    count: int = 0


@dataclass
class Device:
    """Makes passkeys and signs with them, on pages of `origin`, whose rules the browser keeps."""

    origin: str = ORIGIN
    host: str = "localhost"
    flags: int = PRESENT | VERIFIED
    steps: int = 1
    """How much its counter goes up with each signature."""
    keys: dict[str, Key] = field(default_factory=dict)

    def make(self, asked: Any) -> dict[str, Any]:
        """A new passkey for what a page asks (`navigator.credentials.create`)."""
        credential = secrets.token_bytes(32)
        key = Key(asked["user"]["id"], ec.generate_private_key(ec.SECP256R1()))
        self.keys[text(credential)] = key
        numbers = key.private.public_key().public_numbers()
        point = {-2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        public = cbor2.dumps({1: 2, 3: -7, -1: 1, **point})
        told = bytes(16) + len(credential).to_bytes(2) + credential + public
        data = self._data(self.flags | ATTESTED, key.count) + told
        attested = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        answer = {"attestationObject": text(attested)}
        return self._answer("webauthn.create", asked, text(credential), answer)

    def sign(self, asked: Any, credential: str | None = None) -> dict[str, Any]:
        """What a passkey signs of what a page asks (`navigator.credentials.get`): one of those that
        are allowed, or any."""
        allowed = [each["id"] for each in asked["allowCredentials"]] or list(self.keys)
        named = credential or next(each for each in allowed if each in self.keys)
        key = self.keys[named]
        key.count += self.steps
        data, client = self._data(self.flags, key.count), self._client("webauthn.get", asked)
        signature = key.private.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
        answer = {
            "authenticatorData": text(data),
            "signature": text(signature),
            "userHandle": key.handle,
        }
        return self._answer("webauthn.get", asked, named, answer)

    def _data(self, flags: int, count: int) -> bytes:
        return sha256(self.host.encode()).digest() + bytes([flags]) + count.to_bytes(4)

    def _client(self, kind: str, asked: Any) -> bytes:
        told = {"type": kind, "challenge": asked["challenge"], "origin": self.origin}
        return json.dumps({**told, "crossOrigin": False}).encode()

    def _answer(
        self, kind: str, asked: Any, credential: str, answer: dict[str, Any]
    ) -> dict[str, Any]:
        response = {"clientDataJSON": text(self._client(kind, asked)), **answer}
        named = {"id": credential, "rawId": credential, "type": "public-key"}
        return {**named, "response": response, "clientExtensionResults": {}}
