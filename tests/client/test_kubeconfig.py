"""Kubeconfigs: what they lead to, and the sentence for each way they can be wrong."""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from eachnode.client.credentials import ConfigError, Plugin
from eachnode.client.kubeconfig import load, read

CLUSTER = {"server": "http://one.example:8080"}


def make(
    path: Path,
    *,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    name: str = "one",
    current: str | None = "one",
    namespace: str | None = None,
) -> Path:
    context = {"cluster": name, "user": name} | ({"namespace": namespace} if namespace else {})
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "clusters": [{"name": name, "cluster": cluster or CLUSTER}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": context}],
    }
    if current is not None:
        config["current-context"] = current
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config))
    return path


def certificate() -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return made.public_bytes(pem).decode(), private.decode()


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def headers(path: Path) -> dict[str, str]:
    return dict(await load(str(path)).credentials.headers())


async def test_a_token_becomes_a_header(tmp_path: Path) -> None:
    assert await headers(make(tmp_path / "c", user={"token": "secret"})) == {"Authorization": "Bearer secret"}


async def test_a_password_becomes_a_header(tmp_path: Path) -> None:
    path = make(tmp_path / "c", user={"username": "me", "password": "pass"})
    assert await headers(path) == {"Authorization": f"Basic {base64_of('me:pass')}"}


async def test_a_token_file_is_read_beside_the_kubeconfig_and_again_later(tmp_path: Path) -> None:
    class Hand:
        def now(self) -> float:
            return time

    time = 0.0
    (tmp_path / "token").write_text("first\n")
    path = make(tmp_path / "c", user={"tokenFile": "token"})
    credentials = load(str(path), clock=Hand()).credentials
    assert await credentials.headers() == {"Authorization": "Bearer first"}
    (tmp_path / "token").write_text("second\n")
    assert await credentials.headers() == {"Authorization": "Bearer first"}
    time = 61.0
    assert await credentials.headers() == {"Authorization": "Bearer second"}
    (tmp_path / "token").write_text("third\n")
    assert await credentials.refused()
    assert await credentials.headers() == {"Authorization": "Bearer third"}
    assert not await credentials.refused()


def test_the_namespace_is_the_contexts_or_default(tmp_path: Path) -> None:
    assert load(str(make(tmp_path / "a"))).namespace == "default"
    assert load(str(make(tmp_path / "b", namespace="mine"))).namespace == "mine"


def test_several_files_are_one_and_the_first_to_name_something_wins(tmp_path: Path) -> None:
    one = make(tmp_path / "x" / "one", cluster={"server": "http://first"}, current=None)
    two = make(tmp_path / "y" / "two", name="two", cluster={"server": "http://second"}, current="two")
    three = make(tmp_path / "y" / "three", cluster={"server": "http://shadowed"}, current="one")
    environment = {"KUBECONFIG": os.pathsep.join([str(one), str(tmp_path / "missing"), "", str(two), str(three)])}
    assert load(environment=environment).server == "http://second"
    assert load(context="one", environment=environment).server == "http://first"


def test_the_usual_place_is_in_the_home_directory(tmp_path: Path) -> None:
    make(tmp_path / ".kube" / "config")
    assert load(environment={"HOME": str(tmp_path)}).server == "http://one.example:8080"


def test_certificates_from_data_and_from_files_beside_the_kubeconfig(tmp_path: Path) -> None:
    pem, key = certificate()
    (tmp_path / "ca.pem").write_text(pem)
    (tmp_path / "key.pem").write_text(key)
    by_data = make(
        tmp_path / "a",
        cluster={"server": "https://one:6443", "certificate-authority-data": base64_of(pem)},
        user={"client-certificate-data": base64_of(pem), "client-key-data": base64_of(key)},
    )
    by_file = make(
        tmp_path / "b",
        cluster={"server": "https://one:6443", "certificate-authority": "ca.pem", "tls-server-name": "kubernetes"},
        user={"client-certificate": "ca.pem", "client-key": str(tmp_path / "key.pem")},
    )
    for path in (by_data, by_file):
        access = load(str(path))
        assert access.trust.authorities == pem
        assert access.credentials.certificate is not None
        assert access.credentials.certificate.key == key
    assert load(str(by_file)).trust.server_name == "kubernetes"


def test_a_server_without_a_scheme_is_https_when_it_is_to_be_verified(tmp_path: Path) -> None:
    assert load(str(make(tmp_path / "a", cluster={"server": "one:80"}))).server == "http://one:80"
    secured = make(tmp_path / "b", cluster={"server": "one:443", "insecure-skip-tls-verify": True})
    assert load(str(secured)).server == "https://one:443"


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    user = {
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["devs", "admins"],
        "as-user-extra": {"example.org/scope": ["a", "b"]},
    }
    assert load(str(make(tmp_path / "c", user=user))).impersonation == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "devs"),
        ("Impersonate-Group", "admins"),
        ("Impersonate-Extra-example.org%2Fscope", "a"),
        ("Impersonate-Extra-example.org%2Fscope", "b"),
    )


def test_a_proxy_is_the_clusters_or_the_environments_but_never_for_this_machine(tmp_path: Path) -> None:
    environment = {"HTTP_PROXY": "proxy.example:3128", "NO_PROXY": ".internal"}
    named = make(tmp_path / "a", cluster=CLUSTER | {"proxy-url": "http://me:pw@other:1"})
    plain = make(tmp_path / "b")
    here = make(tmp_path / "c", cluster={"server": "http://127.0.0.1:8080"})
    spared = make(tmp_path / "d", cluster={"server": "http://one.internal"})
    found = [load(str(path), environment=environment).proxy for path in (named, plain, here, spared)]
    assert found == ["http://me:pw@other:1", "http://proxy.example:3128", "", ""]


@pytest.mark.parametrize(
    ("server", "spared", "direct"),
    [
        ("http://10.1.2.3:6443", "10.0.0.0/8", True),
        ("http://10.1.2.3:6443", "localhost, 10.1.2.3/32", True),
        ("http://[fd00::1]:6443", "fd00::/8", True),
        ("http://[fd00::1]:6443", "10.0.0.0/8,fd01::/16", False),
        ("http://11.1.2.3", "10.0.0.0/8", False),
        ("http://api.example", "example", True),
        ("http://api.example", "*", True),
        ("http://apiexample", "example", False),
        ("http://10.1.2.3:6443", "10.1.2.3:6443", True),
    ],
)
def test_who_is_spared_the_proxy_of_the_environment(tmp_path: Path, server: str, spared: str, direct: bool) -> None:
    environment = {"HTTP_PROXY": "http://proxy:1", "NO_PROXY": spared}
    proxy = load(str(make(tmp_path / "c", cluster={"server": server})), environment=environment).proxy
    assert proxy == ("" if direct else "http://proxy:1")


def test_a_proxy_of_the_environment_that_is_none_is_told_by_its_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the proxy in the variable http_proxy must be an http or https URL: socks5:"):
        load(str(make(tmp_path / "c", cluster={"server": "http://one"})), environment={"http_proxy": "socks5://p:1"})


def test_a_plugin_is_told_of_the_cluster_when_it_asks(tmp_path: Path) -> None:
    pem, _ = certificate()
    cluster = {
        "server": "https://one:6443",
        "certificate-authority-data": base64_of(pem),
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "us"}}],
    }
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./get-token",
        "args": ["--quick"],
        "env": [{"name": "A", "value": "b"}],
        "provideClusterInfo": True,
        "interactiveMode": "Never",
    }
    credentials = load(str(make(tmp_path / "c", cluster=cluster, user={"exec": plugin}))).credentials
    assert isinstance(credentials, Plugin)
    spec = credentials._spec
    assert spec.command == str(tmp_path / "./get-token")
    assert spec.arguments == ("--quick",)
    assert spec.environment == (("A", "b"),)
    assert spec.cluster == {
        "server": "https://one:6443",
        "certificate-authority-data": base64_of(pem),
        "config": {"audience": "us"},
    }


async def test_inside_a_pod_its_service_account_is_used(tmp_path: Path) -> None:
    pem, _ = certificate()
    for name, text in (("token", "mounted"), ("ca.crt", pem), ("namespace", "system")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    access = load(environment=environment, service_account=tmp_path)
    assert (access.server, access.namespace) == ("https://[fd00::1]:443", "system")
    assert access.trust.authorities == pem
    assert await access.credentials.headers() == {"Authorization": "Bearer mounted"}


def test_without_any_configuration_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no cluster is configured: .*\.kube/config does not exist.*--kubeconfig"):
        load(environment={"HOME": str(tmp_path)}, service_account=tmp_path)


BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("no server", {"cluster": {"server": ""}}, 'the cluster "one" has no server'),
    ("scheme", {"cluster": {"server": "ftp://one"}}, "must be an http or https URL: ftp://one"),
    ("port", {"cluster": {"server": "https://one:99999"}}, "must be an http or https URL: https://one:99999"),
    ("no number", {"cluster": {"server": "https://one:port"}}, "must be an http or https URL: https://one:port"),
    ("half an address", {"cluster": {"server": "https://[::1"}}, r"must be an http or https URL: https://\[::1"),
    (
        "CA and insecure",
        {
            "cluster": {
                "server": "https://one",
                "insecure-skip-tls-verify": True,
                "certificate-authority-data": base64_of("x"),
            }
        },
        "a certificate authority and insecure-skip-tls-verify: remove one",
    ),
    (
        "CA data",
        {"cluster": {"server": "https://one", "certificate-authority-data": "%%%"}},
        'certificate-authority-data of the cluster "one" is not base64',
    ),
    (
        "CA is no certificate",
        {"cluster": {"server": "https://one", "certificate-authority-data": base64_of("nonsense")}},
        "the certificate authority is no PEM certificate",
    ),
    (
        "CA file",
        {"cluster": {"server": "https://one", "certificate-authority": "gone.pem"}},
        "gone.pem, cannot be read: No such file",
    ),
    ("half a certificate", {"user": {"client-certificate-data": base64_of("x")}}, "client-key is missing"),
    ("two secrets", {"user": {"token": "a", "username": "b"}}, "a token and a password: remove one"),
    (
        "plugin and token",
        {"user": {"token": "a", "exec": {"command": "c", "apiVersion": "client.authentication.k8s.io/v1"}}},
        "an exec plugin and other credentials: remove one",
    ),
    (
        "old plugin",
        {"user": {"exec": {"command": "c", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}},
        'apiVersion "client.authentication.k8s.io/v1alpha1"; supported are',
    ),
    ("plugin without command", {"user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}}, "no command"),
    ("auth-provider", {"user": {"auth-provider": {"name": "gcp"}}}, 'the auth-provider "gcp", which is not supported'),
    ("impersonation", {"user": {"as-groups": ["g"]}}, 'but no user: add "as"'),
    ("proxy", {"cluster": CLUSTER | {"proxy-url": "socks5://x"}}, "proxy-url must be an http or https URL: socks5://x"),
    ("no current context", {"current": None}, 'no current context; name one with --context; there are "one"'),
    ("unknown context", {"current": "production"}, 'no context "production" in .*; there are "one"'),
    ("near miss", {"current": "onne"}, 'no context "onne" in .*; did you mean "one"\\?'),
]


@pytest.mark.parametrize(("change", "sentence"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_what_cannot_work_is_one_clear_sentence(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        load(str(make(tmp_path / "c", **change)))
    assert "\n" not in str(caught.value)


def test_a_client_certificate_that_does_not_fit_its_key_is_said_at_once(tmp_path: Path) -> None:
    (pem, _), (_, key) = certificate(), certificate()
    user = {"client-certificate-data": base64_of(pem), "client-key-data": base64_of(key)}
    with pytest.raises(ConfigError, match="do not fit together"):
        load(str(make(tmp_path / "c", cluster={"server": "https://one"}, user=user)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("clusters: 7", r"c is not valid: Expected `array \| null`, got `int` - at `\$.clusters`"),
        ("{", "c is not valid"),
        ("clusters: [{cluster: {}}]", "missing required field `name`"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_told_with_the_place(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "c").write_text(text)
    with pytest.raises(ConfigError, match=sentence):
        load(str(tmp_path / "c"))


def test_a_named_file_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere does not exist"):
        read(str(tmp_path / "nowhere"))


def test_a_context_that_names_a_missing_cluster_or_user_is_told(tmp_path: Path) -> None:
    config = yaml.safe_load(make(tmp_path / "c").read_text())
    for section in ("clusters", "users"):
        (tmp_path / "d").write_text(yaml.safe_dump(config | {section: []}))
        with pytest.raises(ConfigError, match=f'no {section[:-1]} "one" in .*; there are none'):
            load(str(tmp_path / "d"))
