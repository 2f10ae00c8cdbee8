"""Connections over TLS: whom we trust, and how we present ourselves."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from eachnode.client.access import Access, Trust
from eachnode.client.cluster import Cluster
from eachnode.client.credentials import ClientCertificate, FixedCredentials
from eachnode.objects.resources import PODS
from eachnode.objects.status import Unreachable

pytestmark = pytest.mark.sockets


class Authority:
    """A certificate authority for one test."""

    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.pem = _sign(self.name, self, self.key, ca=True).public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, name: str, *, address: str = "127.0.0.1") -> ClientCertificate:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = _sign(subject, self, key, names=[x509.DNSName(name), x509.IPAddress(ipaddress.ip_address(address))])
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return ClientCertificate(made.public_bytes(serialization.Encoding.PEM).decode(), private.decode())


def _sign(
    subject: x509.Name,
    issuer: Authority,
    key: ec.EllipticCurvePrivateKey,
    *,
    ca: bool = False,
    names: list[x509.GeneralName] | None = None,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer.key, hashes.SHA256())


@asynccontextmanager
async def serving(
    folder: Path, certificate: ClientCertificate, *, clients: Authority | None = None
) -> AsyncIterator[tuple[str, list[str]]]:
    """An HTTPS server; the answer is its URL and the names of the clients it has seen."""
    (folder / "server.pem").write_text(certificate.certificate + certificate.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=clients.pem if clients else None)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # From Python 3.13 on it is set; API servers are written in Go.
    context.load_cert_chain(folder / "server.pem")
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    seen: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert")
        if peer:
            seen.append(dict(item[0] for item in peer["subject"])["commonName"])
        return web.json_response({"metadata": {"name": "a"}})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}", seen
    finally:
        await runner.cleanup()


async def ask(access: Access) -> None:
    async with Cluster(access) as door:
        await door.get(PODS, "a")


async def test_a_server_is_trusted_by_the_given_authority_only(tmp_path: Path) -> None:
    authority, other = Authority("ours"), Authority("theirs")
    async with serving(tmp_path, authority.issue("server")) as (url, _):
        await ask(Access(url, Trust(authority.pem)))
        for trust in (Trust(other.pem), Trust()):
            with pytest.raises(Unreachable, match=f"{url}: its certificate is not trusted: "):
                await ask(Access(url, trust))
        await ask(Access(url, Trust(insecure=True)))


async def test_a_tunnel_through_a_proxy_is_encrypted_to_its_end(tmp_path: Path) -> None:
    """The proxy is told where to and who asks; what is said there is between us and the server."""
    ours = Authority("ours")
    async with serving(tmp_path, ours.issue("server")) as (url, _), tunnelling() as (proxy, passed):
        access = Access(url, Trust(ours.pem), proxy=f"http://me:secret%21@127.0.0.1:{proxy}")
        await ask(access)
        host = url.removeprefix("https://")
        assert passed[0].startswith(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n".encode())
        assert b"Proxy-Authorization: Basic bWU6c2VjcmV0IQ==\r\n" in passed[0]
        assert b"pods" not in b"".join(passed)
        with pytest.raises(Unreachable, match="cannot connect: the proxy: it answered 403"):
            await ask(Access("https://forbidden.example", Trust(ours.pem), proxy=f"http://127.0.0.1:{proxy}"))


@asynccontextmanager
async def tunnelling() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A proxy that passes on what goes to this machine; the answer is its port and all that it has seen of clients."""
    passed: list[bytes] = []
    tasks: set[asyncio.Task[None]] = set()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: list[bytes]) -> None:
        while data := await reader.read(1 << 16):
            seen.append(data)
            writer.write(data)

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        passed.append(asked)
        host, _, port = asked.split()[1].decode().partition(":")
        if host != "127.0.0.1":
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(copy(reader, far_writer, passed), copy(far_reader, writer, []))
        finally:
            far_writer.transport.abort()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await tunnel(reader, writer)
        finally:
            writer.transport.abort()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], passed
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_certificate_must_carry_the_servers_name(tmp_path: Path) -> None:
    authority = Authority("ours")
    async with serving(tmp_path, authority.issue("kubernetes", address="10.0.0.1")) as (url, _):
        with pytest.raises(Unreachable, match=r"not trusted: .*127\.0\.0\.1"):
            await ask(Access(url, Trust(authority.pem)))
        await ask(Access(url, Trust(authority.pem, server_name="kubernetes")))


async def test_a_client_certificate_is_presented(tmp_path: Path) -> None:
    authority = Authority("ours")
    async with serving(tmp_path, authority.issue("server"), clients=authority) as (url, seen):
        await ask(Access(url, Trust(authority.pem), FixedCredentials(certificate=authority.issue("jane"))))
        assert seen == ["jane"]
        with pytest.raises(Unreachable):
            await ask(Access(url, Trust(authority.pem)))


async def test_a_renewed_client_certificate_is_presented_from_then_on(tmp_path: Path) -> None:
    authority = Authority("ours")

    class Renewed(FixedCredentials):
        current = authority.issue("first")

        @property
        def certificate(self) -> ClientCertificate:
            return self.current

    credentials = Renewed()
    async with (
        serving(tmp_path, authority.issue("server"), clients=authority) as (url, seen),
        Cluster(Access(url, Trust(authority.pem), credentials)) as door,
    ):
        await door.get(PODS, "a")
        await door.get(PODS, "a")
        credentials.current = authority.issue("second")
        await door.get(PODS, "a")
    assert seen == ["first", "first", "second"]
