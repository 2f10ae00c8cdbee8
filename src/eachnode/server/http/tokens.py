"""Tokens that say who their bearer is, without asking anybody.

A service account's token is a JSON web token (RFC 7519) signed with HMAC-SHA256 by a key that only the server knows. It
names the account and its uid, so that a token of an account that was deleted and made again is worth nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

ISSUER = "https://kubernetes.default.svc.cluster.local"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
_HEADER = {"alg": "HS256", "typ": "JWT"}
_LEEWAY = 10.0  # Seconds by which two clocks may differ.


class BadToken(ValueError):
    """The token is not ours, or no longer valid."""


@dataclass(frozen=True, slots=True)
class AccountClaims:
    """What a service account's token says."""

    namespace: str
    name: str
    uid: str
    audiences: tuple[str, ...]
    expires: float
    bound_kind: str = ""  # The object whose deletion ends the token, if any.
    bound_name: str = ""
    bound_uid: str = ""
    token_id: str = ""

    @property
    def user(self) -> str:
        """The user name that stands for the account."""
        return f"{SERVICE_ACCOUNT_PREFIX}{self.namespace}:{self.name}"


class AccountTokens:
    """Issues tokens for service accounts and reads them back."""

    def __init__(self, key: bytes, *, issuer: str = ISSUER) -> None:
        self._key = key
        self.issuer = issuer

    def issue(self, claims: AccountClaims, *, now: float) -> str:
        """A token with these claims, valid from now on."""
        about: dict[str, Any] = {
            "namespace": claims.namespace,
            "serviceaccount": {"name": claims.name, "uid": claims.uid},
        }
        if claims.bound_kind:
            about[claims.bound_kind.lower()] = {"name": claims.bound_name, "uid": claims.bound_uid}
        payload: dict[str, Any] = {
            "aud": list(claims.audiences or (self.issuer,)),
            "exp": int(claims.expires),
            "iat": int(now),
            "iss": self.issuer,
            "kubernetes.io": about,
            "nbf": int(now),
            "sub": claims.user,
        }
        if claims.token_id:
            payload["jti"] = claims.token_id
        signed = f"{_packed(_HEADER)}.{_packed(payload)}"
        return f"{signed}.{self._signature(signed)}"

    def read(self, token: str, *, now: float, audiences: Sequence[str] = ()) -> AccountClaims:
        """The claims of a token meant for one of these audiences (ours by default); raises BadToken."""
        payload = self._payload(token)
        if payload.get("iss") != self.issuer:
            raise BadToken("issued by somebody else")
        expires, begins = payload.get("exp"), payload.get("nbf", 0)
        if not isinstance(expires, int) or now > expires + _LEEWAY:
            raise BadToken("the token has expired")
        if not isinstance(begins, int) or now < begins - _LEEWAY:
            raise BadToken("the token is not valid yet")
        claims = _claims(payload, float(expires))
        if not set(audiences or (self.issuer,)) & set(claims.audiences):
            raise BadToken(f"the token is meant for {', '.join(claims.audiences)}")
        return claims

    def _payload(self, token: str) -> dict[str, Any]:
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(signed).encode()):
            raise BadToken("the signature is wrong")
        header, _, body = signed.partition(".")
        if _unpacked(header) != _HEADER:
            raise BadToken("signed in a way this server does not use")
        return _unpacked(body)

    def _signature(self, signed: str) -> str:
        return _base64(hmac.new(self._key, signed.encode(), hashlib.sha256).digest())


def looks_like_jwt(token: str) -> bool:
    """Whether it has the three parts of a JSON web token."""
    return token.count(".") == 2


def _claims(payload: dict[str, Any], expires: float) -> AccountClaims:
    about = payload.get("kubernetes.io")
    account = about.get("serviceaccount") if isinstance(about, dict) else None
    if not isinstance(about, dict) or not isinstance(account, dict):
        raise BadToken("it names no service account")
    bound = next((kind for kind in ("pod", "secret", "node") if isinstance(about.get(kind), dict)), "")
    holder = about[bound] if bound else {}
    audiences = payload.get("aud")
    return AccountClaims(
        namespace=str(about.get("namespace", "")),
        name=str(account.get("name", "")),
        uid=str(account.get("uid", "")),
        audiences=tuple(str(item) for item in audiences) if isinstance(audiences, list) else (),
        expires=expires,
        bound_kind=bound.capitalize(),
        bound_name=str(holder.get("name", "")),
        bound_uid=str(holder.get("uid", "")),
        token_id=str(payload.get("jti", "")),
    )


def _packed(tree: dict[str, Any]) -> str:
    return _base64(msgspec.json.encode(tree))


def _unpacked(text: str) -> dict[str, Any]:
    try:
        tree = msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (BadBase64, msgspec.DecodeError, ValueError):
        raise BadToken("it cannot be read") from None
    if not isinstance(tree, dict):
        raise BadToken("it cannot be read")
    return tree


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
