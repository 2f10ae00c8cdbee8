"""The server as the network sees it: puts connections, callers, permissions and verbs together."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from eachnode.objects.explained import Explained
from eachnode.server.api_server import ApiServer
from eachnode.server.http.aggregated_roles import AggregatedRoles
from eachnode.server.http.authentication import Authenticator, tokens_from_file
from eachnode.server.http.authority import FrontAuthority
from eachnode.server.http.authorization import Authorizer
from eachnode.server.http.certificates import Certificates, names_for
from eachnode.server.http.cluster_state import ClusterState
from eachnode.server.http.connections import Listener, Patience
from eachnode.server.http.discovery import Discovery
from eachnode.server.http.dispatch import Dispatch
from eachnode.server.http.escalation import NoEscalation
from eachnode.server.http.handling import Handler
from eachnode.server.http.kubeconfig import write_kubeconfig
from eachnode.server.http.metrics import Metrics
from eachnode.server.http.openapi import OpenApi
from eachnode.server.http.pages import RELEASE, Pages
from eachnode.server.http.private_files import kept_secret
from eachnode.server.http.tokens import AccountTokens
from eachnode.server.http.watches import Watches
from eachnode.server.kinds.absent import ABSENT
from eachnode.server.kinds.reviews import review_kinds
from eachnode.server.kinds.token_requests import service_account_kind

LOOKS_AT_CERTIFICATES_EVERY = 6 * 3600.0
_EVERYWHERE = ("", "*", "0.0.0.0", "::")  # noqa: S104  # compared with; TLS is a must there


class InvalidOptions(Explained, ValueError):
    """Options of the server that cannot be; the sentence says why, and what can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Where and how to listen."""

    host: str = "127.0.0.1"
    port: int = 6443  # 0: any free one.
    data_dir: Path | None = None  # Where certificates, keys and tokens are kept.
    token: str = ""  # The admin's; empty: one kept in the data directory.
    token_file: Path | None = None  # Further users: lines of token,user,uid,"group1,group2".
    insecure_http: bool = False  # Without TLS; refused beyond loopback.
    names: tuple[str, ...] = ()  # More names and addresses for the certificate.
    max_in_flight: int = 2_000
    patience: Patience = field(default_factory=Patience)

    def check(self) -> None:
        """Raises InvalidOptions for what cannot be."""
        if self.insecure_http and not is_loopback(self.host):
            raise InvalidOptions(
                f"refusing to listen at {self.host} without TLS: anybody on the network could read the admin's token; "
                "listen at 127.0.0.1 or leave TLS on"
            )
        if not self.insecure_http and self.data_dir is None:
            raise InvalidOptions("TLS needs a data directory to keep its certificates in")


class Front:
    """Serves an ApiServer over HTTP."""

    def __init__(self, api: ApiServer, options: HttpOptions) -> None:
        """Raises InvalidOptions for options that cannot be."""
        options.check()
        self.api = api
        self._state = state = ClusterState(api)
        self.options = options
        self.url = ""
        self.metrics = Metrics()
        self.authorizer = Authorizer(state.documents, state.changes)
        self.accounts = AccountTokens(_account_key(options.data_dir))
        self.admin_token = options.token or _admin_token(options.data_dir)
        self.authenticator = Authenticator(
            admin_token=self.admin_token,
            clock=api.registry.clock,
            known=tokens_from_file(options.token_file.read_text()) if options.token_file else None,
            accounts=self.accounts,
            still_there=state.still_there,
        )
        self._certificates = Certificates(options.data_dir) if options.data_dir and not options.insecure_http else None
        self._watches = Watches(options.patience, self.metrics)
        self._discovery = Discovery(
            lambda: (served.kind for served in api.registry if served.kind not in ABSENT),
            lambda: self.url.rpartition("/")[2],
        )
        self._context: ssl.SSLContext | None = None
        self._listener: Listener | None = None
        self._server: asyncio.Server | None = None
        self._upkeep: asyncio.Task[None] | None = None
        api.registry.admission = (*api.registry.admission, NoEscalation(self.authorizer))
        authority = FrontAuthority(self.authorizer, self.authenticator, self.accounts)
        for kind in (*review_kinds(authority), service_account_kind(authority.issue, authority.audiences), *ABSENT):
            api.registry.register(kind)

    @property
    def ca_pem(self) -> str:
        """What clients must trust; empty without TLS."""
        return self._certificates.authority_pem if self._certificates else ""

    def write_kubeconfig(self, path: Path) -> None:
        """A kubeconfig whose reader is the admin of this server, which must be running."""
        write_kubeconfig(path, self.url, self.ca_pem, self.admin_token)

    async def start(self) -> str:
        """Begins to listen; the URL says where. Raises OSError when the address cannot be had."""
        options = self.options
        context = self._context = self._tls()
        await self._state.ensure_default_roles()
        await AggregatedRoles(self.api).settled()
        self._listener = Listener(self._handler(), options.patience)
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._listener,
                None if options.host in _EVERYWHERE else options.host.strip("[]"),
                options.port,
                ssl=context,
                backlog=1024,
                ssl_handshake_timeout=options.patience.head if context else None,
            )
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise OSError(error.errno, f"cannot listen at {options.host}:{options.port}: {why}") from error
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if context else 'http'}://{_reachable(options.host)}:{port}"
        if context is not None:
            self._upkeep = asyncio.create_task(self._keep_certificates_young())
        return self.url

    async def stop(self, *, patience: float = 10.0) -> None:
        """Takes no more requests, ends all watches, and lets the others finish."""
        if self._upkeep is not None:
            self._upkeep.cancel()
        if self._server is not None:
            self._server.close()
        await self._watches.end_all()
        if self._listener is not None:
            self._listener.pre_shutdown()
            await self._listener.shutdown(patience)
        if self._server is not None:
            await self._server.wait_closed()

    def _handler(self) -> Handler:
        return Handler(
            authenticator=self.authenticator,
            authorizer=self.authorizer,
            pages=Pages(self.api, self._discovery, self._openapi(), self.metrics),
            dispatch=Dispatch(self.api, self._watches, self.options.patience),
            metrics=self.metrics,
            max_in_flight=self.options.max_in_flight,
        )

    def _openapi(self) -> OpenApi:
        return OpenApi(self._discovery, self._state, RELEASE)

    # Certificates -----------------------------------------------------------------------------------------------------

    def renew_certificates(self) -> bool:
        """Makes the server certificate anew if its time has come, for new connections; tells whether it had."""
        if self._certificates is None:
            return False
        names = [*names_for(self.options.host), *self.options.names]
        renewed = self._certificates.renew(names, self.api.registry.now())
        if renewed and self._context is not None:
            self._certificates.load_into(self._context)
        return renewed

    def _tls(self) -> ssl.SSLContext | None:
        if self._certificates is None:
            return None
        self.renew_certificates()
        return self._certificates.context()

    async def _keep_certificates_young(self) -> None:
        while True:
            await asyncio.sleep(LOOKS_AT_CERTIFICATES_EVERY)
            self.renew_certificates()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _reachable(host: str) -> str:
    """The address under which this machine reaches a server that listens there."""
    if host in _EVERYWHERE:
        return "127.0.0.1"
    return f"[{host.strip('[]')}]" if ":" in host else host


def _account_key(directory: Path | None) -> bytes:
    """The key that signs service accounts' tokens."""
    return kept_secret(directory / "service-accounts.key").encode() if directory else secrets.token_bytes(32)


def _admin_token(directory: Path | None) -> str:
    """The admin's token: the one kept, or one for this run."""
    return kept_secret(directory / "admin.token") if directory else secrets.token_urlsafe(32)
