"""Where an API server is, whom it must prove to be, and who we are to it."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from eachnode.client.credentials import ClientCertificate, ConfigError, Credentials, FixedCredentials


@dataclass(frozen=True, slots=True)
class Trust:
    """How the server's certificate is verified."""

    authorities: str = ""  # PEM; empty means those the system trusts.
    insecure: bool = False
    server_name: str = ""  # The name the certificate must carry, if it is not the host's.

    def context(self, client: ClientCertificate | None = None) -> ssl.SSLContext:
        """The TLS settings for connections that present this client certificate, if any."""
        try:
            context = ssl.create_default_context(cadata=self.authorities or None)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"the certificate authority is no PEM certificate: {error}") from error
        # Cluster authorities made by older tools lack extensions that the strictest reading asks for.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if client is not None:
            _present(context, client)
        return context


def _present(context: ssl.SSLContext, client: ClientCertificate) -> None:
    """Load a client certificate; Python reads it from files only, so it passes through one that only we can read."""
    handle, name = tempfile.mkstemp(prefix="eachnode-")
    path = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(client.certificate.strip() + "\n" + client.key)
        context.load_cert_chain(path)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"the client certificate and its key do not fit together or are no PEM: {error}") from error
    finally:
        path.unlink()


@dataclass(frozen=True, slots=True)
class Access:
    """Everything needed to talk to one API server as one user."""

    server: str
    trust: Trust = Trust()
    credentials: Credentials = field(default_factory=FixedCredentials)
    namespace: str = "default"
    impersonation: tuple[tuple[str, str], ...] = ()  # Headers.
    proxy: str = ""
    compression: bool = True
    origin: Mapping[str, str] = field(default_factory=dict)  # Where it was found: context, cluster, user, file.
