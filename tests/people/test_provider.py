"""What a provider says of somebody is believed only where it is proven."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

pytest.importorskip("joserfc")

from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from citywise.backend.people.identities import name_of, roles_of
from citywise.backend.people.names import checked
from citywise.backend.people.provider import Pending, Provider, SignInError, claims_of, code_of
from citywise.backend.settings import Settings, SignIn

ISSUER = "https://id.example"
NOW = 1_700_000_000.0
DESCRIBED = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/auth",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
    "authorization_response_iss_parameter_supported": True,
}
PROVIDER = Provider.of(ISSUER, DESCRIBED)
KEY = RSAKey.generate_key(2048, parameters={"kid": "a"})
OTHER = RSAKey.generate_key(2048, parameters={"kid": "a"})
PUBLISHED: Any = KeySet([KEY]).as_dict(private=False)
CLAIMS = {"iss": ISSUER, "sub": "anna", "aud": "us", "exp": NOW + 300, "iat": NOW, "nonce": "n"}


def token(claims: dict[str, Any], key: Any = KEY, **header: Any) -> str:
    algorithms = ["RS256", "ES256", "HS256"]
    return jwt.encode({"alg": "RS256", "kid": "a", **header}, claims, key, algorithms=algorithms)


def told(text: str, keys: Any = None) -> dict[str, Any]:
    return claims_of(text, keys or PUBLISHED, PROVIDER, "us", "n", NOW)


def refusal(work: Callable[[], object]) -> str:
    with pytest.raises(SignInError) as caught:
        work()
    return caught.value.code


def test_what_is_proven_is_believed() -> None:
    assert told(token(CLAIMS))["sub"] == "anna"
    assert told(token(CLAIMS | {"aud": ["us"]}))["sub"] == "anna"
    assert told(token(CLAIMS | {"aud": ["us", "them"], "azp": "us"}))["sub"] == "anna"


@pytest.mark.parametrize("skew", [-60, 60])
def test_clocks_may_differ_by_a_minute(skew: float) -> None:
    assert told(token(CLAIMS | {"iat": NOW + skew, "exp": NOW + skew}))


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"iss": "https://evil.example"}, "issuer"),
        ({"iss": f"{ISSUER}/"}, "issuer"),
        ({"aud": "them"}, "audience"),
        ({"aud": []}, "audience"),
        ({"aud": ["us", "them"]}, "audience"),
        ({"azp": "them"}, "audience"),
        ({"exp": NOW - 61}, "time"),
        ({"iat": NOW + 61}, "time"),
        ({"exp": "soon"}, "time"),
        ({"iat": None}, "time"),
        ({"exp": True}, "time"),
        ({"nonce": "m"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"sub": ""}, "subject"),
        ({"sub": 7}, "subject"),
    ],
)
def test_what_is_not_meant_for_us_now_is_refused(changed: dict[str, Any], code: str) -> None:
    assert refusal(lambda: told(token(CLAIMS | changed))) == code


def test_a_token_of_another_key_or_none_is_refused() -> None:
    plain = token(CLAIMS).split(".")
    unsigned = f"eyJhbGciOiJub25lIn0.{plain[1]}."
    head = encoded(json.dumps({"alg": "HS256", "kid": "a"}).encode())
    made = hmac.digest(KEY.as_pem(private=False), f"{head}.{plain[1]}".encode(), "sha256")
    elliptic = ECKey.generate_key("P-256", parameters={"kid": "a"})
    texts = [
        token(CLAIMS, OTHER),
        token(CLAIMS, elliptic, alg="ES256"),
        f"{plain[0]}.{plain[1]}.{plain[2][:-4]}AAAA",
        unsigned,
        f"{head}.{plain[1]}.{encoded(made)}",
        *("", "a.b.c", "å"),
    ]
    assert [refusal(partial(told, text)) for text in texts] == ["key"] * len(texts)
    rings: list[Any] = [{"keys": []}, {"keys": "x"}, {"x": 1}, {"keys": [{"kty": "RSA"}]}]
    assert [refusal(partial(told, token(CLAIMS), ring)) for ring in rings] == ["key"] * 4


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


PENDING = Pending.begun("https://city/sign-in/done", "/list", None, NOW)
BACK = {"state": PENDING.state, "code": "c", "iss": ISSUER}


def code(answer: dict[str, str], pending: Pending | None = PENDING, now: float = NOW) -> str:
    return code_of(answer, pending, PROVIDER, now)


def test_a_code_is_taken_from_the_browser_that_was_sent() -> None:
    assert code(BACK) == "c"


@pytest.mark.parametrize(
    ("answer", "pending", "late", "why"),
    [
        (BACK, None, 0, "state"),
        ({**BACK, "state": "other"}, PENDING, 0, "state"),
        ({"code": "c", "iss": ISSUER}, PENDING, 0, "state"),
        ({**BACK, "state": "å"}, PENDING, 0, "state"),
        (BACK, PENDING, 601, "late"),
        ({**BACK, "iss": "https://evil.example"}, PENDING, 0, "issuer"),
        ({"state": PENDING.state, "code": "c"}, PENDING, 0, "issuer"),
        ({**BACK, "error": "access_denied"}, PENDING, 0, "refused"),
        ({"state": PENDING.state, "iss": ISSUER}, PENDING, 0, "refused"),
    ],
)
def test_a_code_that_another_brings_is_refused(
    answer: dict[str, str], pending: Pending | None, late: float, why: str
) -> None:
    assert refusal(lambda: code(answer, pending, NOW + late)) == why


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://id.example/"},
        {"token_endpoint": "http://id.example/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": None},
        {"code_challenge_methods_supported": ["plain"]},
    ],
)
def test_a_provider_that_is_another_or_insecure_is_refused(changed: dict[str, Any]) -> None:
    assert refusal(lambda: Provider.of(ISSUER, DESCRIBED | changed)) == "provider"


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({}, ["user"]),
        ({"realm": {"roles": ["staff"]}}, ["user", "host"]),
        ({"realm": {"roles": "chiefs"}}, ["user", "admin"]),
        ({"realm": {"roles": ["staff", "chiefs", "x", 7, None]}}, ["user", "host", "admin"]),
        ({"realm": ["staff"]}, ["user"]),
        ({"realm": {"roles": {"staff": True}}}, ["user"]),
    ],
)
def test_roles_come_from_the_claim_that_is_named(claims: Any, roles: list[str]) -> None:
    settings = SignIn(
        issuer=ISSUER,
        client_id="us",
        roles_claim="realm.roles",
        roles=("staff=host", "chiefs=admin"),
    )
    assert roles_of(claims, settings) == roles
    assert roles_of(claims, settings.model_copy(update={"roles": ()})) is None


@given(
    st.dictionaries(st.sampled_from(["preferred_username", "name", "email"]), st.text() | st.none())
)
def test_whatever_somebody_is_called_there_is_a_name_for_them(claims: dict[str, Any]) -> None:
    assert checked(name_of(claims)) == name_of(claims)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"issuer": "http://id.example", "client_id": "us"}, "expected https"),
        ({"issuer": ISSUER}, "client_id"),
        ({"issuer": ISSUER, "client_id": "us", "scopes": ["profile"]}, "openid"),
        ({"issuer": ISSUER, "client_id": "us", "roles": ["a=host"]}, "roles_claim"),
        ({"issuer": ISSUER, "client_id": "us", "roles_claim": "r", "roles": ["a=king"]}, "a=king"),
        ({"passwords": False}, "no sign_in.issuer"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Settings.model_validate({"sign_in": json.loads(json.dumps(changed))}, strict=False)
