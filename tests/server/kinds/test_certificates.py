"""Whether a certificate and a key belong together, as the writers of TLS secrets are told."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from eachnode.server.http.certificates import Certificates
from eachnode.server.kinds.certificates import key_pair_problem
from eachnode.server.kinds.secrets import SECRET

from .judging import created

OTHER = b"-----BEGIN EC PARAMETERS-----\naGk=\n-----END EC PARAMETERS-----\n"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    directory: Path = tmp_path_factory.mktemp("certificates")
    Certificates(directory).renew(["localhost"], 1_800_000_000.0)
    return (directory / "server.crt").read_bytes(), (directory / "server.key").read_bytes()


def written(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def test_a_pair_that_belongs_together_is_fine(pair: tuple[bytes, bytes]) -> None:
    certificate, key = pair
    assert key_pair_problem(certificate, key) == ""
    assert key_pair_problem(certificate, OTHER + key) == ""


def test_a_key_of_another_certificate_is_told(pair: tuple[bytes, bytes]) -> None:
    certificate, _ = pair
    another = written(ec.generate_private_key(ec.SECP256R1()))
    assert key_pair_problem(certificate, another) == "tls: private key does not match public key"
    of_another_type = written(ed25519.Ed25519PrivateKey.generate())
    assert key_pair_problem(certificate, of_another_type) == "tls: private key type does not match public key type"


def test_what_is_no_pair_at_all_is_told(pair: tuple[bytes, bytes]) -> None:
    certificate, key = pair
    skipped = "after skipping PEM blocks of the following types: [EC PARAMETERS]"
    switched = "but did find a private key; PEM inputs may have been switched"
    for first, second, problem in (
        (b"x", key, "failed to find any PEM data in certificate input"),
        (key, certificate, f"failed to find certificate PEM data in certificate input, {switched}"),
        (OTHER, key, f'failed to find "CERTIFICATE" PEM block in certificate input {skipped}'),
        (certificate, b"x", "failed to find any PEM data in key input"),
        (certificate, OTHER, f'failed to find PEM block with type ending in "PRIVATE KEY" in key input {skipped}'),
    ):
        assert key_pair_problem(first, second) == f"tls: {problem}"
    alone = certificate[: certificate.index(b"-----END CERTIFICATE-----")] + b"-----END CERTIFICATE-----\n"
    problem = "tls: found a certificate rather than a key in the PEM for the private key"
    assert key_pair_problem(certificate, alone) == problem


def test_only_secrets_of_that_type_are_looked_into(pair: tuple[bytes, bytes]) -> None:
    data = dict(zip(("tls.crt", "tls.key"), (base64.b64encode(text).decode() for text in pair), strict=True))
    assert list(SECRET.warn(created(SECRET, type="kubernetes.io/tls", data=data), None)) == []
    broken = created(SECRET, type="kubernetes.io/tls", data={**data, "tls.crt": "aGk="})
    assert list(SECRET.warn(broken, None)) == ["tls: failed to find any PEM data in certificate input"]
    assert list(SECRET.warn({**broken, "type": "Opaque"}, None)) == []
