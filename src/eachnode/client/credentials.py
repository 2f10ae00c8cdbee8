"""Who we are to an API server: sources of the headers and certificates that say so, which renew themselves.

A source is asked before each request, so it answers from memory and does work only when its answer has gone stale. When
the server answers 401 the source is told, and says whether trying once more makes sense.
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from eachnode.objects.clock import Clock, seconds
from eachnode.objects.status import Unauthorized

REREAD_AFTER = 60.0  # Seconds: mounted tokens rotate long before they expire.
EXPIRY_MARGIN = 10.0  # Seconds before its expiry from which on a credential is not used any more.
PLUGIN_TIMEOUT = 120.0  # Seconds for a plugin that asks nobody.
EXEC_GROUP = "client.authentication.k8s.io"
EXEC_VERSIONS = (f"{EXEC_GROUP}/v1", f"{EXEC_GROUP}/v1beta1")


class ConfigError(Exception):
    """The configuration cannot work; the message says what to do about it."""


class CredentialError(Unauthorized):
    """Credentials cannot be had right now; a loop tries again later, a command tells its user."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate and its key, in PEM."""

    certificate: str
    key: str = field(repr=False)


class Credentials(Protocol):
    """A source of headers and perhaps a client certificate."""

    @property
    def certificate(self) -> ClientCertificate | None:
        """The client certificate to present in TLS, as of the last `headers`."""
        ...

    async def headers(self) -> Mapping[str, str]:
        """What to send with the next request; raises CredentialError."""
        ...

    async def refused(self) -> bool:
        """The server answered 401: forget what was sent; is there hope that another try differs?"""
        ...


class FixedCredentials:
    """Credentials that never change: none at all, a token, a password, a client certificate."""

    def __init__(self, headers: Mapping[str, str] | None = None, certificate: ClientCertificate | None = None) -> None:
        self._headers = dict(headers or {})
        self._certificate = certificate

    @property
    def certificate(self) -> ClientCertificate | None:
        """The client certificate, if any."""
        return self._certificate

    async def headers(self) -> Mapping[str, str]:
        """What was given."""
        return self._headers

    async def refused(self) -> bool:
        """There is nothing else to try."""
        return False


def bearer(token: str) -> dict[str, str]:
    """The header that presents a token."""
    return {"Authorization": f"Bearer {token}"}


def basic(username: str, password: str) -> dict[str, str]:
    """The header that presents a name and a password."""
    both = base64.b64encode(f"{username}:{password}".encode()).decode()
    return {"Authorization": f"Basic {both}"}


class TokenFile:
    """A token in a file that somebody else renews, as a mounted service account's."""

    def __init__(self, path: Path, *, clock: Clock, certificate: ClientCertificate | None = None) -> None:
        self._path, self._clock = path, clock
        self._certificate = certificate
        self._headers: dict[str, str] = {}
        self._read_at = float("-inf")

    @property
    def certificate(self) -> ClientCertificate | None:
        """The client certificate that goes with it, if any."""
        return self._certificate

    async def headers(self) -> Mapping[str, str]:
        """The token that the file holds, as of at most a minute ago."""
        if self._clock.now() - self._read_at >= REREAD_AFTER:
            self._read()
        return self._headers

    async def refused(self) -> bool:
        """Read the file again; there is hope if it changed."""
        before = self._headers
        self._read()
        return self._headers != before

    def _read(self) -> None:
        try:
            token = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._headers:
                return  # The one we have may still be good; the server decides.
            raise CredentialError(f"cannot read the token file {self._path}: {_reason(error)}") from error
        if not token:
            raise CredentialError(f"the token file {self._path} is empty")
        self._headers = bearer(token)
        self._read_at = self._clock.now()


@dataclass(frozen=True, slots=True)
class PluginSpec:
    """A credential plugin as a kubeconfig describes it."""

    command: str
    api_version: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = None  # What the plugin is told of the cluster, if it is to be told.
    interactive: Literal["Never", "IfAvailable", "Always"] = "IfAvailable"


class _Issued(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a plugin hands out."""

    expiration_timestamp: str | None = None
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A plugin's answer."""

    kind: str = ""
    api_version: str = ""
    status: _Issued | None = None


class Plugin:
    """An `exec` credential plugin: a command that prints a token or a client certificate for a while."""

    def __init__(self, spec: PluginSpec, *, clock: Clock) -> None:
        self._spec, self._clock = spec, clock
        self._headers: dict[str, str] = {}
        self._certificate: ClientCertificate | None = None
        self._expires = float("-inf")
        self._asking = asyncio.Lock()

    @property
    def certificate(self) -> ClientCertificate | None:
        """The client certificate that the plugin handed out last, if any."""
        return self._certificate

    async def headers(self) -> Mapping[str, str]:
        """The token that the plugin handed out, while it has not expired."""
        if self._stale:
            async with self._asking:  # Many requests wait for one answer.
                if self._stale:
                    self._take(await self._ask())
        return self._headers

    async def refused(self) -> bool:
        """Ask the plugin again before the next request."""
        self._expires = float("-inf")
        return True

    @property
    def _stale(self) -> bool:
        return self._clock.now() + EXPIRY_MARGIN >= self._expires

    async def _ask(self) -> bytes:
        spec = self._spec
        interactive = spec.interactive != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if spec.interactive == "Always" and not interactive:
            raise CredentialError(f"the credential plugin {spec.command} needs a terminal: run it from one")
        if shutil.which(spec.command) is None:
            hint = (
                f". {spec.install_hint.strip()}"
                if spec.install_hint.strip()
                else ": install it, or correct the kubeconfig"
            )
            raise CredentialError(f"the credential plugin {spec.command} was not found{hint}")
        try:
            process = await asyncio.create_subprocess_exec(
                spec.command,
                *spec.arguments,
                env={**os.environ, **dict(spec.environment), "KUBERNETES_EXEC_INFO": self._told(interactive)},
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if interactive else asyncio.subprocess.PIPE,  # There it says what its user is to do.
            )
        except OSError as error:
            raise CredentialError(f"the credential plugin {spec.command} cannot be run: {_reason(error)}") from error
        try:
            async with asyncio.timeout(None if interactive else PLUGIN_TIMEOUT):  # People take their time.
                printed, complaint = await process.communicate()
        except TimeoutError as error:
            raise CredentialError(
                f"the credential plugin {spec.command} did not answer within {PLUGIN_TIMEOUT:.0f} s"
            ) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = (complaint or b"").decode(errors="replace").strip().splitlines()
            why = f": {said[-1]}" if said else ""
            raise CredentialError(
                f"the credential plugin {spec.command} failed with exit code {process.returncode}{why}"
            )
        return printed

    def _told(self, interactive: bool) -> str:
        """What the plugin learns about us, as the environment variable it is passed in."""
        told: dict[str, Any] = {"interactive": interactive}
        if self._spec.cluster is not None:
            told["cluster"] = self._spec.cluster
        return msgspec.json.encode(
            {"kind": "ExecCredential", "apiVersion": self._spec.api_version, "spec": told}
        ).decode()

    def _take(self, printed: bytes) -> None:
        command = self._spec.command
        try:
            answer = msgspec.json.decode(printed, type=_ExecCredential)
        except msgspec.MsgspecError as error:
            raise CredentialError(f"the credential plugin {command} printed no ExecCredential: {error}") from error
        if answer.kind != "ExecCredential" or answer.api_version != self._spec.api_version:
            raise CredentialError(
                f"the credential plugin {command} answered with {answer.api_version or 'no version'}"
                f" {answer.kind or 'no kind'}, but the kubeconfig asks for {self._spec.api_version} ExecCredential"
            )
        issued = answer.status
        if issued is None or not (issued.token or issued.client_certificate_data):
            raise CredentialError(
                f"the credential plugin {command} answered with neither a token nor a client certificate"
            )
        if bool(issued.client_certificate_data) != bool(issued.client_key_data):
            raise CredentialError(f"the credential plugin {command} answered with half a client certificate")
        self._expires = _expiry(command, issued.expiration_timestamp)
        self._headers = bearer(issued.token) if issued.token else {}
        self._certificate = None
        if issued.client_certificate_data:
            self._certificate = ClientCertificate(issued.client_certificate_data, issued.client_key_data)


def _expiry(command: str, text: str | None) -> float:
    if text is None:
        return float("inf")
    try:
        return seconds(text)
    except ValueError as error:
        raise CredentialError(
            f"the credential plugin {command} answered with an expiry that is no time: {text}"
        ) from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
