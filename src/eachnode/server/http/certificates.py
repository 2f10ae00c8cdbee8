"""The server's own certificate authority, kept in the data directory.

ca.crt, ca.key            the authority: ten years, made anew when it could not outlive a certificate it signs
server.crt, server.key    what the server shows: a year, made anew a month before its end or when names are missing
server.json               what the server certificate says, so that starting again does not have to parse it
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eachnode.server.http.private_files import write_private

if TYPE_CHECKING:
    from eachnode.server.http.signing import Authority, Pair

DAY = 86_400.0
AUTHORITY_LIFE, SERVER_LIFE, CLIENT_LIFE = 3650 * DAY, 365 * DAY, 365 * DAY
RENEWED_BEFORE = 30 * DAY
ALWAYS_NAMED = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "::1")


class _Record(msgspec.Struct, frozen=True):
    """What server.json says."""

    expires: float
    names: list[str]
    authority_expires: float


@dataclass(frozen=True, slots=True)
class Certificates:
    """The certificates in one directory."""

    directory: Path

    @property
    def authority_pem(self) -> str:
        """The authority's certificate, which clients need."""
        return (self.directory / "ca.crt").read_text()

    def renew(self, names: Sequence[str], now: float) -> bool:
        """Makes what is missing, about to end or lacks one of these names; tells whether anything was made."""
        record = self._record()
        fresh = record is not None and record.authority_expires > now + SERVER_LIFE
        if record is not None and fresh and record.expires > now + RENEWED_BEFORE and set(names) <= set(record.names):
            return False
        authority = self._authority() if fresh else self._new_authority(now)
        pair = authority.server_pair(sorted(set(names)), now, SERVER_LIFE)
        write_private(self.directory / "server.key", pair.key)
        write_private(self.directory / "server.crt", pair.certificate + authority.pair.certificate)
        record = _Record(now + SERVER_LIFE, sorted(set(names)), authority.expires)
        write_private(self.directory / "server.json", msgspec.json.encode(record))
        return True

    def context(self) -> ssl.SSLContext:
        """TLS as the server speaks it: clients may show a certificate of our authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(self.directory / "ca.crt")
        context.set_alpn_protocols(["http/1.1"])
        self.load_into(context)
        return context

    def load_into(self, context: ssl.SSLContext) -> None:
        """Lets new connections see the present server certificate."""
        context.load_cert_chain(self.directory / "server.crt", self.directory / "server.key")

    def client_pair(self, name: str, groups: Sequence[str], now: float) -> Pair:
        """A certificate and key that prove to this server that their owner is this user."""
        return self._authority().client_pair(name, groups, now, CLIENT_LIFE)

    def _record(self) -> _Record | None:
        """What is known of the present certificates, if all of them are there."""
        files = ("ca.crt", "ca.key", "server.crt", "server.key", "server.json")
        if not all((self.directory / name).is_file() for name in files):
            return None
        try:
            return msgspec.json.decode((self.directory / "server.json").read_bytes(), type=_Record)
        except msgspec.MsgspecError:
            return None

    def _authority(self) -> Authority:
        from eachnode.server.http.signing import Authority, Pair  # dear to import, and rarely needed

        return Authority.load(Pair((self.directory / "ca.crt").read_bytes(), (self.directory / "ca.key").read_bytes()))

    def _new_authority(self, now: float) -> Authority:
        from eachnode.server.http.signing import Authority  # dear to import, and rarely needed

        authority = Authority.make(now, AUTHORITY_LIFE)
        write_private(self.directory / "ca.key", authority.pair.key)
        write_private(self.directory / "ca.crt", authority.pair.certificate)
        return authority


def names_for(host: str) -> list[str]:
    """The names and addresses under which a server listening at this address can be reached."""
    names = {*ALWAYS_NAMED, socket.gethostname()}
    if host in ("", "0.0.0.0", "::", "*"):  # noqa: S104  # compared with, not listened at
        names.update(_own_addresses())
    else:
        names.add(host.strip("[]"))
    return sorted(name for name in names if name)


def _own_addresses() -> set[str]:
    try:
        found = socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return set()
    return {str(entry[4][0]).partition("%")[0] for entry in found}
