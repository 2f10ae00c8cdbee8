"""Who asks: a bearer token, a client certificate of our own authority, or nobody in particular.

A request that shows nothing is anonymous and may see health and version; one that shows a token nobody knows is a 401.
Whoever may `impersonate` can act as somebody else by the Impersonate-* headers.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from eachnode.objects.clock import Clock
from eachnode.objects.status import BadRequest, Unauthorized
from eachnode.server.http.authorization import Authorizer
from eachnode.server.http.rbac import EVERYTHING, Ask
from eachnode.server.http.tokens import SERVICE_ACCOUNT_PREFIX, AccountClaims, AccountTokens, BadToken, looks_like_jwt
from eachnode.server.kind import Caller

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ANONYMOUS = Caller("system:anonymous", (UNAUTHENTICATED,))
ADMIN = Caller("admin", (EVERYTHING, AUTHENTICATED))
MOST_REMEMBERED = 1000  # Tokens whose signature need not be checked again.

PeerCertificate = Mapping[str, Any]


class Headers(Protocol):
    """The request headers, as far as authentication reads them."""

    def get(self, name: str, /) -> str | None:
        """The first value of a header."""
        ...

    def getall(self, name: str, default: Sequence[str], /) -> Sequence[str]:
        """All values of a header."""
        ...

    def keys(self) -> Any:
        """The names of all headers."""
        ...


class Authenticator:
    """Turns what a request shows into a caller."""

    def __init__(
        self,
        *,
        admin_token: str,
        clock: Clock,
        known: Mapping[str, Caller] | None = None,
        accounts: AccountTokens | None = None,
        still_there: Callable[[AccountClaims], bool] = lambda _claims: True,
    ) -> None:
        """`known` are further fixed tokens; `still_there` tells whether a token's account (and pod) still exists."""
        self._admin = f"Bearer {admin_token}".encode() if admin_token else None
        self._clock = clock
        self._known = dict(known or {})
        self._accounts = accounts
        self._still_there = still_there
        self._read: dict[str, AccountClaims] = {}

    def caller(self, authorization: str | None, certificate: PeerCertificate | None = None) -> Caller:
        """Who that is; raises Unauthorized when what was shown is worth nothing."""
        if authorization is None:
            return caller_of_certificate(certificate) if certificate else ANONYMOUS
        if self._admin is not None and hmac.compare_digest(authorization.encode("utf-8", "replace"), self._admin):
            return ADMIN
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return caller_of_certificate(certificate) if certificate else ANONYMOUS
        found = self.caller_of_token(token.strip())
        if found is None:
            raise Unauthorized("Unauthorized")
        return found

    def caller_of_token(self, token: str, audiences: Sequence[str] = ()) -> Caller | None:
        """Who bears this token, or None when nobody does."""
        if self._admin is not None and hmac.compare_digest(f"Bearer {token}".encode("utf-8", "replace"), self._admin):
            return ADMIN
        known = self._known.get(token)
        if known is not None:
            return known
        if self._accounts is None or not looks_like_jwt(token):
            return None
        claims = self._claims(token, self._accounts, audiences)
        return caller_of_account(claims) if claims is not None and self._still_there(claims) else None

    def _claims(self, token: str, accounts: AccountTokens, audiences: Sequence[str]) -> AccountClaims | None:
        now = self._clock.now()
        remembered = self._read.get(token) if not audiences else None
        if remembered is not None and now < remembered.expires:
            return remembered
        try:
            claims = accounts.read(token, now=now, audiences=audiences)
        except BadToken:
            return None
        if not audiences:
            if len(self._read) >= MOST_REMEMBERED:
                self._read.clear()
            self._read[token] = claims
        return claims


def caller_of_account(claims: AccountClaims) -> Caller:
    """The service account as a user."""
    extra: dict[str, tuple[str, ...]] = {}
    if claims.bound_kind == "Pod":
        extra["authentication.kubernetes.io/pod-name"] = (claims.bound_name,)
        extra["authentication.kubernetes.io/pod-uid"] = (claims.bound_uid,)
    return Caller(claims.user, account_groups(claims.namespace), claims.uid, extra)


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups every service account of a namespace is in."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)


def caller_of_certificate(certificate: PeerCertificate) -> Caller:
    """The user a client certificate names: its common name, in its organisations as groups."""
    parts = [pair for names in certificate.get("subject", ()) for pair in names]
    name = next((value for key, value in parts if key == "commonName"), "")
    groups = tuple(value for key, value in parts if key == "organizationName")
    return Caller(name, (*groups, AUTHENTICATED)) if name else ANONYMOUS


def tokens_from_file(text: str) -> dict[str, Caller]:
    """Fixed tokens from lines of `token,user,uid,"group1,group2"`; raises ValueError for a line that is none."""
    import csv  # few servers have such a file

    known: dict[str, Caller] = {}
    for number, row in enumerate(csv.reader(text.splitlines(), skipinitialspace=True), 1):
        if not row or row[0].startswith("#"):
            continue
        if len(row) < 3 or not row[0] or not row[1]:
            raise ValueError(f'line {number} of the token file is not: token,user,uid,"group1,group2"')
        groups = tuple(part.strip() for part in row[3].split(",")) if len(row) > 3 and row[3] else ()
        known[row[0]] = Caller(row[1], (*groups, AUTHENTICATED), row[2])
    return known


def acting_as(caller: Caller, headers: Headers, authorizer: Authorizer) -> Caller:
    """The caller, or whom the headers say to act as; raises Forbidden when the caller may not."""
    user = headers.get("Impersonate-User") or ""
    groups = tuple(headers.getall("Impersonate-Group", ()))
    uid = headers.get("Impersonate-Uid") or ""
    extra = _extra(headers)
    if not user:
        if groups or uid or extra:
            raise BadRequest("requested to act with groups, a uid or extra values without a user to act as")
        return caller
    _require_impersonation(caller, user, groups, uid, extra, authorizer)
    if not groups and user.startswith(SERVICE_ACCOUNT_PREFIX):
        groups = account_groups(user.split(":")[2])
    if user == ANONYMOUS.name:
        groups = groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return Caller(user, groups, uid, extra)


def _require_impersonation(
    caller: Caller,
    user: str,
    groups: Sequence[str],
    uid: str,
    extra: Mapping[str, tuple[str, ...]],
    authorizer: Authorizer,
) -> None:
    account = user.removeprefix(SERVICE_ACCOUNT_PREFIX).split(":") if user.startswith(SERVICE_ACCOUNT_PREFIX) else []
    if len(account) == 2:
        ask = Ask("impersonate", resource="serviceaccounts", namespace=account[0], name=account[1])
        authorizer.require(caller, ask)
    else:
        authorizer.require(caller, Ask("impersonate", resource="users", name=user))
    for group in groups:
        authorizer.require(caller, Ask("impersonate", resource="groups", name=group))
    if uid:
        authorizer.require(caller, Ask("impersonate", "authentication.k8s.io", "uids", name=uid))
    for key, values in extra.items():
        for value in values:
            authorizer.require(caller, Ask("impersonate", "authentication.k8s.io", "userextras", key, name=value))


def _extra(headers: Headers) -> dict[str, tuple[str, ...]]:
    prefix = "impersonate-extra-"
    names = [name for name in headers.keys() if name.lower().startswith(prefix)]  # noqa: SIM118  # a multidict's own keys
    return {name[len(prefix) :].lower(): tuple(headers.getall(name, ())) for name in names}
