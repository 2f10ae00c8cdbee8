"""The server as the network sees it: puts connections, callers, permissions and verbs together."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from eachnode.objects.document import Document
from eachnode.objects.resources import PODS, SERVICE_ACCOUNTS, Resource
from eachnode.objects.status import AlreadyExists, NotFound
from eachnode.server.api_server import ApiServer
from eachnode.server.http.authentication import Authenticator, tokens_from_file
from eachnode.server.http.authority import FrontAuthority
from eachnode.server.http.authorization import Authorizer
from eachnode.server.http.certificates import Certificates, names_for
from eachnode.server.http.connections import Listener, Patience
from eachnode.server.http.default_roles import default_roles
from eachnode.server.http.discovery import Discovery
from eachnode.server.http.dispatch import Dispatch
from eachnode.server.http.escalation import NoEscalation
from eachnode.server.http.handling import Handler
from eachnode.server.http.kubeconfig import write_kubeconfig
from eachnode.server.http.metrics import Metrics
from eachnode.server.http.pages import Pages
from eachnode.server.http.private_files import kept_secret
from eachnode.server.http.tokens import AccountClaims, AccountTokens
from eachnode.server.http.watches import Watches
from eachnode.server.kind import Tree
from eachnode.server.kinds.reviews import review_kinds
from eachnode.server.kinds.token_requests import service_account_kind

LOOKS_AT_CERTIFICATES_EVERY = 6 * 3600.0
_EVERYWHERE = ("", "*", "0.0.0.0", "::")  # noqa: S104  # compared with; TLS is a must there


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
        """Raises ValueError for what cannot be."""
        if self.insecure_http and not is_loopback(self.host):
            raise ValueError(
                f"refusing to listen at {self.host} without TLS: anybody on the network could read the admin's token; "
                "listen at 127.0.0.1 or leave TLS on"
            )
        if not self.insecure_http and self.data_dir is None:
            raise ValueError("TLS needs a data directory to keep its certificates in")


class Front:
    """Serves an ApiServer over HTTP."""

    def __init__(self, api: ApiServer, options: HttpOptions) -> None:
        """Raises ValueError for options that cannot be."""
        options.check()
        self.api = api
        self.options = options
        self.url = ""
        self.metrics = Metrics()
        self.authorizer = Authorizer(self._documents, self._newest)
        self.accounts = AccountTokens(_account_key(options.data_dir))
        self.admin_token = options.token or (kept_secret(options.data_dir / "admin.token") if options.data_dir else "")
        self.authenticator = Authenticator(
            admin_token=self.admin_token,
            clock=api.registry.clock,
            known=tokens_from_file(options.token_file.read_text()) if options.token_file else None,
            accounts=self.accounts,
            still_there=self._still_there,
        )
        self._certificates = Certificates(options.data_dir) if options.data_dir and not options.insecure_http else None
        self._watches = Watches(options.patience, self.metrics)
        self._discovery = Discovery(
            lambda: (served.kind for served in api.registry), lambda: self.url.rpartition("/")[2]
        )
        self._listener: Listener | None = None
        self._server: asyncio.Server | None = None
        self._upkeep: asyncio.Task[None] | None = None
        api.registry.admission = (*api.registry.admission, NoEscalation(self.authorizer))
        authority = FrontAuthority(self.authorizer, self.authenticator, self.accounts)
        for kind in (*review_kinds(authority), service_account_kind(authority.issue, authority.audiences)):
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
        options, context = self.options, self._tls()
        await self._ensure_default_roles()
        self._listener = Listener(self._handler(), options.patience)
        self._server = await asyncio.get_running_loop().create_server(
            self._listener,
            None if options.host in _EVERYWHERE else options.host.strip("[]"),
            options.port,
            ssl=context,
            backlog=1024,
            ssl_handshake_timeout=options.patience.head if context else None,
        )
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if context else 'http'}://{_reachable(options.host)}:{port}"
        if context is not None:
            self._upkeep = asyncio.create_task(self._renew(context))
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
            pages=Pages(self.api, self._discovery, self.metrics),
            dispatch=Dispatch(self.api, self._watches, self.options.patience),
            metrics=self.metrics,
            max_in_flight=self.options.max_in_flight,
        )

    # Certificates -----------------------------------------------------------------------------------------------------

    def _tls(self) -> ssl.SSLContext | None:
        if self._certificates is None:
            return None
        self._renew_now()
        return self._certificates.context()

    def _renew_now(self) -> bool:
        names = [*names_for(self.options.host), *self.options.names]
        return self._certificates is not None and self._certificates.renew(names, self.api.registry.now())

    async def _renew(self, context: ssl.SSLContext) -> None:
        """Keeps the server certificate young for as long as the server runs."""
        while True:
            await asyncio.sleep(LOOKS_AT_CERTIFICATES_EVERY)
            if self._renew_now() and self._certificates is not None:
                self._certificates.load_into(context)

    # What the store says ----------------------------------------------------------------------------------------------

    async def _ensure_default_roles(self) -> None:
        """Creates those of the default roles and bindings that are missing, all with one commit."""
        missing = [(kind, tree) for kind, tree in default_roles() if self._stored(kind, tree) is None]
        await asyncio.gather(*(self._create(kind, tree) for kind, tree in missing))

    def _stored(self, kind: Resource, tree: Tree) -> Document | None:
        return self._document(kind, "", tree["metadata"]["name"])

    async def _create(self, kind: Resource, tree: Tree) -> None:
        with contextlib.suppress(AlreadyExists):
            await self.api.create(kind, msgspec.json.encode(tree))

    def _documents(self, kind: Resource) -> Iterable[Document]:
        return (stored.document for stored in self.api.registry.served(kind).shelf.within())

    def _newest(self, kind: Resource) -> int:
        return self.api.registry.served(kind).shelf.newest

    def _document(self, kind: Resource, namespace: str, name: str) -> Document | None:
        stored = self.api.registry.served(kind).shelf.get(namespace, name)
        return stored.document if stored is not None else None

    def _still_there(self, claims: AccountClaims) -> bool:
        """Whether a token's account, and the pod it is bound to, are still the ones it was issued for."""
        if not self._is_same(SERVICE_ACCOUNTS, claims.namespace, claims.name, claims.uid):
            return False
        if claims.bound_kind == "Pod":
            return self._is_same(PODS, claims.namespace, claims.bound_name, claims.bound_uid)
        return True

    def _is_same(self, kind: Resource, namespace: str, name: str, uid: str) -> bool:
        try:
            stored = self.api.registry.served(kind).shelf.get(namespace, name)
        except NotFound:
            return False
        return stored is not None and stored.uid == uid


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
