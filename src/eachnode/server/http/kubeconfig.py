"""Writes the kubeconfig with which kubectl and every Kubernetes client reach this server."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

from eachnode.server.http.private_files import write_private

NAME = "eachnode"


def write_kubeconfig(
    path: Path,
    url: str,
    ca_pem: str = "",
    token: str = "",
    *,
    certificate_pem: str = "",
    key_pem: str = "",
    name: str = NAME,
    user: str = "admin",
) -> None:
    """A whole kubeconfig (mode 0600) with one cluster, one user and one context; an existing file is replaced."""
    import yaml  # only whoever writes a kubeconfig pays for it

    cluster: dict[str, Any] = {"server": url}
    if ca_pem:
        cluster["certificate-authority-data"] = _encoded(ca_pem)
    credentials: dict[str, Any] = {}
    if token:
        credentials["token"] = token
    if certificate_pem and key_pem:
        credentials["client-certificate-data"] = _encoded(certificate_pem)
        credentials["client-key-data"] = _encoded(key_pem)
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "current-context": name,
    }
    write_private(path, yaml.safe_dump(tree, sort_keys=False).encode())


def _encoded(pem: str) -> str:
    return b64encode(pem.encode()).decode()
