"""Reading kubeconfig files as kubectl does, and the service account of a pod.

Several files are one configuration in which the first to name something wins; paths in a file are relative to it.
Whatever cannot work is a `ConfigError` of one sentence that says what to do.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import os
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eachnode.client.access import Access, Trust
from eachnode.client.clock import SystemClock
from eachnode.client.credentials import (
    EXEC_GROUP,
    EXEC_VERSIONS,
    ClientCertificate,
    ConfigError,
    Credentials,
    FixedCredentials,
    Plugin,
    PluginSpec,
    TokenFile,
    basic,
    bearer,
)
from eachnode.client.kubeconfig_file import ClusterEntry, ContextEntry, ExecEntry, KubeconfigFile, UserEntry
from eachnode.client.urls import checked, proxy_for
from eachnode.objects.clock import Clock

__all__ = ["Access", "ConfigError", "Kubeconfig", "in_cluster", "load", "read"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """One configuration out of any number of files, all paths in it absolute."""

    current: str = ""
    contexts: Mapping[str, ContextEntry] = field(default_factory=dict)
    clusters: Mapping[str, ClusterEntry] = field(default_factory=dict)
    users: Mapping[str, UserEntry] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    @property
    def source(self) -> str:
        """The files it came from, for people."""
        return ", ".join(map(str, self.files)) or "the kubeconfig"


def load(
    path: str | None = None,
    context: str | None = None,
    *,
    clock: Clock | None = None,
    environment: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """The access that a kubeconfig and a context in it describe; without any, that of the pod we run in."""
    clock = clock or SystemClock()
    config = read(path, environment)
    if not config.contexts and not config.clusters and path is None and context is None:
        inside = in_cluster(clock=clock, environment=environment, directory=service_account)
        if inside is not None:
            return inside
        raise ConfigError(
            f"no cluster is configured: {config.source} does not exist or is empty;"
            " name a kubeconfig with --kubeconfig or the variable KUBECONFIG"
        )
    return _resolve(config, context or config.current, clock, environment)


def read(path: str | None = None, environment: Mapping[str, str] = os.environ) -> Kubeconfig:
    """The one configuration that a path, or the variable KUBECONFIG, or the usual place holds."""
    if path is not None:
        if not Path(path).is_file():
            raise ConfigError(f"the kubeconfig {path} does not exist")
        paths = [Path(path)]
    elif environment.get("KUBECONFIG"):
        names = environment["KUBECONFIG"].split(os.pathsep)
        paths = [Path(name) for name in dict.fromkeys(names) if name]
    else:
        paths = [Path(environment.get("HOME") or Path.home()) / ".kube" / "config"]
    return _merge([(each, _read_file(each)) for each in paths if each.exists()], paths)


def in_cluster(
    *, clock: Clock, environment: Mapping[str, str] = os.environ, directory: Path = SERVICE_ACCOUNT
) -> Access | None:
    """The service account of the pod we run in, or None outside of a cluster."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    token = directory / "token"
    if not host or not port or not token.exists():
        return None
    namespace = directory / "namespace"
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        trust=Trust(_text(directory / "ca.crt", "the service account's certificate authority")),
        credentials=TokenFile(token, clock=clock),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        origin={"source": "the service account of this pod"},
    )


# Files into one configuration


def _read_file(path: Path) -> KubeconfigFile:
    try:
        text = path.read_bytes()
        found = msgspec.yaml.decode(text, type=KubeconfigFile | None) if text.strip() else None
    except OSError as error:
        raise ConfigError(f"the kubeconfig {path} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ConfigError(f"the kubeconfig {path} is not valid: {_one_line(error)}") from error
    return found or KubeconfigFile()


def _merge(files: Sequence[tuple[Path, KubeconfigFile]], paths: Iterable[Path]) -> Kubeconfig:
    contexts: dict[str, ContextEntry] = {}
    clusters: dict[str, ClusterEntry] = {}
    users: dict[str, UserEntry] = {}
    current = ""
    for path, file in files:
        folder = path.absolute().parent
        current = current or file.current_context or ""
        for each in file.contexts or ():
            contexts.setdefault(each.name, each.context or ContextEntry())
        for cluster in file.clusters or ():
            clusters.setdefault(cluster.name, _absolute_cluster(cluster.cluster or ClusterEntry(), folder))
        for user in file.users or ():
            users.setdefault(user.name, _absolute_user(user.user or UserEntry(), folder))
    return Kubeconfig(current, contexts, clusters, users, tuple(paths))


def _absolute_cluster(cluster: ClusterEntry, folder: Path) -> ClusterEntry:
    return msgspec.structs.replace(cluster, certificate_authority=_absolute(cluster.certificate_authority, folder))


def _absolute_user(user: UserEntry, folder: Path) -> UserEntry:
    plugin = user.exec
    if plugin is not None and os.sep in plugin.command:  # A bare name is looked up in PATH.
        plugin = msgspec.structs.replace(plugin, command=_absolute(plugin.command, folder))
    return msgspec.structs.replace(
        user,
        client_certificate=_absolute(user.client_certificate, folder),
        client_key=_absolute(user.client_key, folder),
        token_file=_absolute(user.token_file, folder),
        exec=plugin,
    )


def _absolute(path: str, folder: Path) -> str:
    return str(folder / path) if path else ""


# One context into an access


def _resolve(config: Kubeconfig, name: str, clock: Clock, environment: Mapping[str, str]) -> Access:
    if not name:
        raise ConfigError(f"{config.source} has no current context; name one with --context{_listed(config.contexts)}")
    context = _named(config.contexts, name, "context", config.source)
    if not context.cluster:
        raise ConfigError(f'the context "{name}" in {config.source} names no cluster')
    cluster = _named(config.clusters, context.cluster, "cluster", config.source)
    user = _named(config.users, context.user, "user", config.source) if context.user else UserEntry()
    trust = _trust(cluster, context.cluster)
    secured = bool(trust != Trust() or user.client_certificate or user.client_certificate_data)
    server = _server(cluster.server, context.cluster, "https" if secured else "http")
    credentials = _credentials(user, context.user, cluster, server, trust, clock)
    if server.startswith("https:"):
        trust.context(credentials.certificate)  # What is wrong with certificates is said now, not at the first request.
    return Access(
        server=server,
        trust=trust,
        credentials=credentials,
        namespace=context.namespace or "default",
        impersonation=tuple(_impersonation(user, context.user)),
        proxy=_proxy(cluster, server, environment),
        compression=not cluster.disable_compression,
        origin={"context": name, "cluster": context.cluster, "user": context.user, "source": config.source},
    )


Entry = TypeVar("Entry")


def _named(entries: Mapping[str, Entry], name: str, what: str, source: str) -> Entry:
    try:
        return entries[name]
    except KeyError:
        near = difflib.get_close_matches(name, entries, n=1)
        meant = f'; did you mean "{near[0]}"?' if near else ""
        raise ConfigError(f'no {what} "{name}" in {source}{meant or _listed(entries)}') from None


def _listed(names: Iterable[str]) -> str:
    known = ", ".join(f'"{name}"' for name in names)
    return f"; there are {known}" if known else "; there are none"


def _server(server: str, cluster: str, scheme: str) -> str:
    if not server:
        raise ConfigError(f'the cluster "{cluster}" has no server')
    if "://" not in server:
        server = f"{scheme}://{server}"
    checked(server, f'the server of the cluster "{cluster}"')
    return server.rstrip("/")


def _trust(cluster: ClusterEntry, name: str) -> Trust:
    data = cluster.certificate_authority_data
    if data:
        authorities = _decoded(data, f'certificate-authority-data of the cluster "{name}"')
    elif cluster.certificate_authority:
        authorities = _text(Path(cluster.certificate_authority), f'the certificate authority of the cluster "{name}"')
    else:
        authorities = ""
    if cluster.insecure_skip_tls_verify and authorities:
        raise ConfigError(
            f'the cluster "{name}" gives a certificate authority and insecure-skip-tls-verify: remove one of them'
        )
    return Trust(authorities, cluster.insecure_skip_tls_verify, cluster.tls_server_name)


def _credentials(
    user: UserEntry, name: str, cluster: ClusterEntry, server: str, trust: Trust, clock: Clock
) -> Credentials:
    certificate = _client_certificate(user, name)
    if user.auth_provider is not None:
        raise ConfigError(
            f'the user "{name}" uses the auth-provider "{user.auth_provider.name}", which is not supported:'
            " use the exec plugin of your provider instead"
        )
    if user.token and (user.username or user.password):
        raise ConfigError(f'the user "{name}" has a token and a password: remove one of them')
    if user.exec is not None:
        if certificate is not None or user.token or user.token_file or user.username:
            raise ConfigError(f'the user "{name}" has an exec plugin and other credentials: remove one of them')
        return Plugin(_plugin(user.exec, name, cluster, server, trust), clock=clock)
    if user.token_file:
        return TokenFile(Path(user.token_file), clock=clock, certificate=certificate)
    if user.token:
        return FixedCredentials(bearer(user.token), certificate)
    if user.username or user.password:
        return FixedCredentials(basic(user.username, user.password), certificate)
    return FixedCredentials(certificate=certificate)


def _client_certificate(user: UserEntry, name: str) -> ClientCertificate | None:
    certificate = _data_or_file(
        user.client_certificate_data, user.client_certificate, f'client-certificate of "{name}"'
    )
    key = _data_or_file(user.client_key_data, user.client_key, f'client-key of "{name}"')
    if not certificate and not key:
        return None
    if not certificate or not key:
        missing = "client-key" if certificate else "client-certificate"
        raise ConfigError(f'the user "{name}" has half a client certificate: {missing} is missing')
    return ClientCertificate(certificate, key)


def _plugin(entry: ExecEntry, name: str, cluster: ClusterEntry, server: str, trust: Trust) -> PluginSpec:
    if not entry.command:
        raise ConfigError(f'the exec plugin of the user "{name}" has no command')
    if entry.api_version not in EXEC_VERSIONS:
        raise ConfigError(
            f'the exec plugin of the user "{name}" has the apiVersion "{entry.api_version}";'
            f" supported are {' and '.join(EXEC_VERSIONS)}: update the plugin's kubeconfig entry"
        )
    return PluginSpec(
        command=entry.command,
        api_version=entry.api_version,
        arguments=tuple(entry.args or ()),
        environment=tuple((each.name, each.value) for each in entry.env or ()),
        install_hint=entry.install_hint,
        cluster=_told_of(cluster, server, trust) if entry.provide_cluster_info else None,
        interactive=entry.interactive_mode or "IfAvailable",
    )


def _told_of(cluster: ClusterEntry, server: str, trust: Trust) -> dict[str, Any]:
    """The cluster as a plugin is told of it."""
    config = next((each.extension for each in cluster.extensions or () if each.name == f"{EXEC_GROUP}/exec"), None)
    told: dict[str, Any] = {
        "server": server,
        "tls-server-name": trust.server_name,
        "insecure-skip-tls-verify": trust.insecure,
        "certificate-authority-data": base64.b64encode(trust.authorities.encode()).decode(),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
    }
    return {key: value for key, value in told.items() if value} | {"config": config}


def _impersonation(user: UserEntry, name: str) -> Iterable[tuple[str, str]]:
    if not user.as_user:
        if user.as_uid or user.as_groups or user.as_user_extra:
            raise ConfigError(f'the user "{name}" impersonates groups, a uid or extras but no user: add "as"')
        return
    yield "Impersonate-User", user.as_user
    if user.as_uid:
        yield "Impersonate-Uid", user.as_uid
    for group in user.as_groups or ():
        yield "Impersonate-Group", group
    for key, values in (user.as_user_extra or {}).items():
        for value in values:
            yield f"Impersonate-Extra-{urllib.parse.quote(key, safe='')}", value


def _proxy(cluster: ClusterEntry, server: str, environment: Mapping[str, str]) -> str:
    """The proxy that the cluster names, or the one that the environment names for such a server."""
    if cluster.proxy_url:
        checked(cluster.proxy_url, "the proxy-url")
        return cluster.proxy_url
    return proxy_for(urllib.parse.urlsplit(server), environment)


# Contents


def _data_or_file(data: str, file: str, what: str) -> str:
    if data:
        return _decoded(data, f"{what} (data)")
    return _text(Path(file), what) if file else ""


def _decoded(data: str, what: str) -> str:
    try:
        return base64.b64decode("".join(data.split()), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise ConfigError(f"{what} is not base64 of a PEM text") from error


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise ConfigError(f"{what}, {path}, cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{what}, {path}, is no PEM text") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
