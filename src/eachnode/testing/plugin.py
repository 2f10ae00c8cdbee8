"""The pytest plugin: a cluster for the whole run, a namespace for each test.

pytest loads this module in every project of an environment that has eachnode installed, so it imports next to nothing.
"""

from __future__ import annotations

import itertools
import json
import shlex
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from eachnode.testing.cluster import RunningCluster

OPTIONS = "eachnode_options"
DEFAULT = "--nodes 3"
_HELP = f"options of `eachnode up` for the cluster that tests use (default: {DEFAULT})"
_TOKEN = "eachnode-tests"  # noqa: S105  # of a cluster that lives as long as the tests, on this machine only

_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """How the cluster is configured: in the project's settings, or for one run."""
    parser.addini(OPTIONS, _HELP, default=DEFAULT)
    parser.getgroup("eachnode").addoption("--eachnode-options", metavar="OPTIONS", help=_HELP)


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Iterator[RunningCluster]:
    """A Kubernetes cluster of simulated nodes, shared by all tests of this process; up in under a second."""
    from eachnode.testing.cluster import running_cluster

    given = pytestconfig.getoption("--eachnode-options")
    options = shlex.split(pytestconfig.getini(OPTIONS) if given is None else given)
    with running_cluster("--token", _TOKEN, *options) as running:
        yield running


@pytest.fixture
def namespace(cluster: RunningCluster) -> Iterator[str]:
    """The name of a new namespace; what a test leaves in it is deleted behind the test's back."""
    name = f"test-{next(_numbers)}"
    _send(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    _send(cluster, "DELETE", f"/api/v1/namespaces/{name}", None)


def _send(cluster: RunningCluster, method: str, path: str, body: object) -> None:
    """One request, without any library, for the project under test may not have one."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{cluster.url}{path}", data, headers, method=method)  # noqa: S310  # our own URL
    try:
        with urllib.request.urlopen(request, context=_trust(cluster)) as answer:  # noqa: S310  # likewise
            answer.read()
    except urllib.error.HTTPError as error:
        if method != "DELETE" or error.code != HTTPStatus.NOT_FOUND:  # The test may have deleted it itself.
            raise


def _trust(cluster: RunningCluster) -> ssl.SSLContext | None:
    """Trust in this cluster's own authority, as its kubeconfig tells it."""
    if not cluster.url.startswith("https:"):
        return None
    import base64

    import yaml

    (entry,) = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"]
    authority = base64.b64decode(entry["cluster"]["certificate-authority-data"]).decode()
    return ssl.create_default_context(cadata=authority)
