from __future__ import annotations

import pytest

from eachnode.server.http.paths import Target, segments, target_of


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", Target("", "v1", "pods")),
        ("/api/v1/namespaces", Target("", "v1", "namespaces")),
        ("/api/v1/namespaces/x", Target("", "v1", "namespaces", "", "x")),
        ("/api/v1/namespaces/x/status", Target("", "v1", "namespaces", "", "x", "status")),
        ("/api/v1/namespaces/x/finalize", Target("", "v1", "namespaces", "", "x", "finalize")),
        ("/api/v1/namespaces/x/pods", Target("", "v1", "pods", "x")),
        ("/api/v1/namespaces/x/pods/p/log", Target("", "v1", "pods", "x", "p", "log")),
        ("/apis/apps/v1/namespaces/x/daemonsets/d", Target("apps", "v1", "daemonsets", "x", "d")),
        ("/apis/apps/v1/daemonsets/", Target("apps", "v1", "daemonsets")),
        ("/api/v1/watch/namespaces/x/pods", Target("", "v1", "pods", "x", watch=True)),
        ("/api/v1/watch/namespaces/x", Target("", "v1", "namespaces", "", "x", watch=True)),
        ("/api/v1/nodes/a%2Fb", Target("", "v1", "nodes", "", "a", "b")),
        ("/api/v1/nodes/a%20b", Target("", "v1", "nodes", "", "a b")),
        ("/api/v1/nodes//b", Target("", "v1", "nodes", "", "", "b", nowhere=True)),
        ("/api/v1/namespaces/x/pods/p/log/more", Target("", "v1", "pods", "x", "p", "log", nowhere=True)),
    ],
)
def test_a_path_names_a_resource(path: str, target: Target) -> None:
    assert target_of(segments(path)) == target


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz/ping", "/api/v1/watch"]
)
def test_other_pages_name_none(path: str) -> None:
    assert target_of(segments(path)) is None
