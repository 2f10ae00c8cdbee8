"""The shape of a kubeconfig file: what kubectl reads of it, as typed values. What it means is in `kubeconfig`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Model(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """A part of the file; keys are spelled with dashes unless said otherwise."""


class Extension(Model, frozen=True):
    """Something a tool keeps in the file."""

    name: str = ""
    extension: Any = None


class ClusterEntry(Model, frozen=True):
    """Where a server is and how it proves itself."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[Extension] | None = None


class Variable(Model, frozen=True):
    """An environment variable for a plugin."""

    name: str
    value: str = ""


class ExecEntry(Model, frozen=True, rename="camel"):
    """A credential plugin."""

    command: str = ""
    args: list[str] | None = None
    env: list[Variable] | None = None
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: Literal["", "Never", "IfAvailable", "Always"] = ""


class AuthProvider(Model, frozen=True):
    """The way of plugins before `exec`."""

    name: str = ""


class UserEntry(Model, frozen=True):
    """Who we are."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    as_user: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    exec: ExecEntry | None = None
    auth_provider: AuthProvider | None = None


class ContextEntry(Model, frozen=True):
    """A user at a cluster, and the namespace meant when none is said."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(Model, frozen=True):
    """A cluster and its name."""

    name: str
    cluster: ClusterEntry | None = None


class NamedUser(Model, frozen=True):
    """A user and its name."""

    name: str
    user: UserEntry | None = None


class NamedContext(Model, frozen=True):
    """A context and its name."""

    name: str
    context: ContextEntry | None = None


class KubeconfigFile(Model, frozen=True):
    """One file."""

    current_context: str | None = None
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None
