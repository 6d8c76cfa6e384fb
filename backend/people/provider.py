"""A provider of identities: what it says of itself, and whether what it says of somebody is true
(OpenID Connect Core 1.0, code flow; PKCE, RFC 7636; issuer identification, RFC 9207).

No I/O: documents, keys and times go in; claims come out, or `SignInError` says what is wrong.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from citywise.backend.errors import CitywiseError

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
"""With keys that the provider publishes: never `none`, and nothing that our secret could sign."""
LEEWAY_S = 60
"""By which its clock and ours may differ."""
PENDING_S = 600
"""How long somebody may take at the provider."""


class SignInError(CitywiseError):
    """Somebody cannot be let in; `code` says why in a word, for pages."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Provider:
    """What is needed of a provider's description of itself."""

    issuer: str
    authorization: str
    token: str
    jwks: str
    userinfo: str | None
    end_session: str | None
    names_itself: bool
    """Whether its answers say whose they are (`iss`)."""

    @classmethod
    def of(cls, issuer: str, described: Mapping[str, Any]) -> Provider:
        """From the document at `/.well-known/openid-configuration`; raises `SignInError` where it
        is another's, or lacks what is needed."""
        if described.get("issuer") != issuer:
            raise SignInError(
                "provider",
                f"the provider at {issuer} calls itself {described.get('issuer')!r}; set "
                "sign_in.issuer to that, if it is meant",
            )
        if "S256" not in (described.get("code_challenge_methods_supported") or ["S256"]):
            raise SignInError("provider", f"{issuer} does not offer PKCE with S256")
        return cls(
            issuer,
            _address(described, "authorization_endpoint", issuer),
            _address(described, "token_endpoint", issuer),
            _address(described, "jwks_uri", issuer),
            _optional(described, "userinfo_endpoint", issuer),
            _optional(described, "end_session_endpoint", issuer),
            bool(described.get("authorization_response_iss_parameter_supported")),
        )


def _optional(described: Mapping[str, Any], name: str, issuer: str) -> str | None:
    return _address(described, name, issuer) if described.get(name) else None


def _address(described: Mapping[str, Any], name: str, issuer: str) -> str:
    found = str(described.get(name) or "")
    secure = urlsplit(issuer).scheme
    if urlsplit(found).scheme not in ("https", secure) or not urlsplit(found).hostname:
        raise SignInError("provider", f"{issuer} says `{name}` is `{found}`: no address to use")
    return found


@dataclass(frozen=True)
class Pending:
    """Somebody whose browser was sent to the provider, and is to come back."""

    state: str
    nonce: str
    verifier: str
    redirect: str
    """Where the provider sends the browser back to."""
    next: str
    """The page that was wanted."""
    login: str | None
    """The login of who links an identity to their account."""
    until_s: float

    @classmethod
    def begun(cls, redirect: str, wanted: str, login: str | None, now_s: float) -> Pending:
        """For a browser that is sent now."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, redirect, wanted, login, now_s + PENDING_S)


def code_of(
    answer: Mapping[str, str], pending: Pending | None, provider: Provider, now_s: float
) -> str:
    """The code in what a browser brings back; `pending` is what was begun in this very browser.

    Raises `SignInError` where it was not begun here, has been used, took too long, is another
    provider's, or the provider says no.
    """
    state = answer.get("state", "")
    if pending is None or not hmac.compare_digest(state.encode(), pending.state.encode()):
        raise SignInError(
            "state", "this was not begun in this browser, or has been used; begin again"
        )
    if now_s > pending.until_s:
        raise SignInError("late", "this took longer than ten minutes; begin again")
    said = answer.get("iss")
    if said != provider.issuer and (said is not None or provider.names_itself):
        raise SignInError("issuer", f"the answer is {said!r}'s, not {provider.issuer}'s")
    if "error" in answer:
        why = answer.get("error_description") or answer["error"]
        raise SignInError("refused", f"the provider says: {why[:300]}")
    if not answer.get("code"):
        raise SignInError("refused", "the provider gave no code")
    return answer["code"]


def claims_of(
    token: str, keys: Mapping[str, Any], provider: Provider, client: str, nonce: str, now_s: float
) -> dict[str, Any]:
    """What an ID token says of somebody, once it is proven; `keys` are those that the provider
    publishes. Raises `SignInError`, with the code `key` where the key is none of them."""
    # Here, as few systems have a provider, and every web process would wait for it.
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    published: Any = dict(keys)
    try:
        found = jwt.decode(token, KeySet.import_key_set(published), algorithms=ALGORITHMS)
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise SignInError("key", f"its ID token is not proven: {error}") from error
    claims = dict(found.claims)
    _check(claims, provider, client, nonce, now_s)
    return claims


def _check(
    claims: Mapping[str, Any], provider: Provider, client: str, nonce: str, now_s: float
) -> None:
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if claims.get("iss") != provider.issuer:
        raise SignInError("issuer", f"its ID token is {claims.get('iss')!r}'s")
    if client not in audiences or claims.get("azp", client) != client:
        raise SignInError("audience", "its ID token is for somebody else")
    if len(audiences) > 1 and "azp" not in claims:
        raise SignInError("audience", "its ID token is for several, and does not say for whom")
    ends, made = _time(claims.get("exp")), _time(claims.get("iat"))
    if ends is None or made is None:
        raise SignInError("time", "its ID token does not say when it was made, and until when")
    if now_s > ends + LEEWAY_S:
        raise SignInError("time", "its ID token is over; are both clocks right?")
    if made > now_s + LEEWAY_S:
        raise SignInError("time", "its ID token is of the future; are both clocks right?")
    if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise SignInError("nonce", "its ID token was made for another attempt")
    if not isinstance(claims.get("sub"), str) or not claims["sub"]:
        raise SignInError("subject", "its ID token does not say who it is about")


def _time(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def with_userinfo(claims: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Claims with what the provider tells beside them, if it is about the same person."""
    if more.get("sub") != claims["sub"]:
        raise SignInError("subject", "what it tells beside its ID token is about somebody else")
    return {**more, **claims}
