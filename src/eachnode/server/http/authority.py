"""Answers the kinds that ask about callers: what they may do, who they are, and tokens for service accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eachnode.server.http.authentication import Authenticator
from eachnode.server.http.authorization import Authorizer
from eachnode.server.http.rbac import Ask, Rule
from eachnode.server.http.tokens import AccountClaims, AccountTokens
from eachnode.server.kind import Caller
from eachnode.server.kinds.token_requests import Grant


class FrontAuthority:
    """The front's own knowledge of callers, as reviews ask for it."""

    def __init__(self, authorizer: Authorizer, authenticator: Authenticator, accounts: AccountTokens) -> None:
        self._authorizer = authorizer
        self._authenticator = authenticator
        self._accounts = accounts

    @property
    def audiences(self) -> tuple[str, ...]:
        """Whom tokens are for unless they say otherwise: this server."""
        return (self._accounts.issuer,)

    def allowed(self, caller: Caller, deed: Mapping[str, str]) -> tuple[bool, str]:
        """Whether the caller may do it, and what else there is to say."""
        decision = self._authorizer.allowed(caller, Ask(**deed))
        return decision.allowed, decision.reason

    def permissions(self, caller: Caller, namespace: str) -> tuple[Rule, ...]:
        """All rules that apply to the caller in a namespace."""
        return tuple(self._authorizer.book().rules_for(caller, namespace))

    def bearer(self, token: str, audiences: Sequence[str]) -> tuple[Caller, tuple[str, ...]] | None:
        """Who bears the token, and those of the audiences asked for that it is good for."""
        wanted = tuple(audiences) or self.audiences
        good = tuple(one for one in wanted if self._authenticator.caller_of_token(token, (one,)) is not None)
        caller = self._authenticator.caller_of_token(token, good) if good else None
        return (caller, good) if caller is not None else None

    def issue(self, grant: Grant, now: float) -> str:
        """A token that says what was granted."""
        claims = AccountClaims(
            namespace=grant.namespace,
            name=grant.name,
            uid=grant.uid,
            audiences=grant.audiences,
            expires=now + grant.seconds,
            bound_kind=grant.bound_kind,
            bound_name=grant.bound_name,
            bound_uid=grant.bound_uid,
        )
        return self._accounts.issue(claims, now=now)
