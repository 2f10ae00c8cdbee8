"""Makes keys and certificates. Imported only when one has to be made: `cryptography` takes a while to load."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM text."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority that can sign."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def make(cls, now: float, life: float) -> Self:
        """A new authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"eachnode-ca@{int(now)}")])
        builder = _builder(name, key, now, life).issuer_name(name)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(authority=True), critical=True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        return cls(builder.sign(key, SHA256()), key)

    @classmethod
    def load(cls, pair: Pair) -> Self:
        """The authority of this certificate and key; raises ValueError when they are not such a pair."""
        key = load_pem_private_key(pair.key, None)
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise ValueError("the authority's key does not belong to its certificate")
        return cls(certificate, key)

    @property
    def pair(self) -> Pair:
        """As it is kept in files."""
        return Pair(self.certificate.public_bytes(Encoding.PEM), _pem(self.key))

    @property
    def expires(self) -> float:
        """Until when what it signed is worth something."""
        return self.certificate.not_valid_after_utc.timestamp()

    def server_pair(self, names: Sequence[str], now: float, life: float) -> Pair:
        """What a server reachable under these names and addresses shows."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "eachnode-server")])
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
        builder = _builder(subject, key, now, life).add_extension(alternatives, critical=False)
        return self._signed(builder, key, ExtendedKeyUsageOID.SERVER_AUTH)

    def client_pair(self, name: str, groups: Sequence[str], now: float, life: float) -> Pair:
        """What proves that its owner is this user, in these groups."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
        return self._signed(_builder(x509.Name(subject), key, now, life), key, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _signed(
        self, builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, purpose: x509.ObjectIdentifier
    ) -> Pair:
        ours = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.issuer_name(self.certificate.subject)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(authority=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        builder = builder.add_extension(ours, critical=False)
        return Pair(builder.sign(self.key, SHA256()).public_bytes(Encoding.PEM), _pem(key))


def _builder(subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: float, life: float) -> x509.CertificateBuilder:
    begins = datetime.fromtimestamp(now, UTC) - timedelta(minutes=5)  # Clocks differ a little.
    ends = datetime.fromtimestamp(now + life, UTC)
    builder = x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(begins).not_valid_after(ends)


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
