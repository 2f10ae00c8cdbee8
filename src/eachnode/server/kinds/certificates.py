"""Whether a certificate and a private key belong together, as the reference tells the writers of TLS secrets."""

from __future__ import annotations

import re

_BLOCK = re.compile(rb"-----BEGIN ([^-\n]*)-----.*?-----END \1-----", re.DOTALL)
_SKIPPED = "after skipping PEM blocks of the following types"


def key_pair_problem(certificate: bytes, key: bytes) -> str:
    """What is wrong with a pair in PEM; empty when nothing is."""
    problem = _certificate_problem(_kinds(certificate)) or _key_problem(_kinds(key)) or _mismatch(certificate, key)
    return problem if not problem or problem.startswith("x509") else f"tls: {problem}"


def _kinds(text: bytes) -> list[str]:
    """What the blocks of a PEM text say they hold."""
    return [match[1].decode("utf-8", "replace") for match in _BLOCK.finditer(text)]


def _certificate_problem(kinds: list[str]) -> str:
    if "CERTIFICATE" in kinds:
        return ""
    if not kinds:
        return "failed to find any PEM data in certificate input"
    if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
        found = "but did find a private key; PEM inputs may have been switched"
        return f"failed to find certificate PEM data in certificate input, {found}"
    return f'failed to find "CERTIFICATE" PEM block in certificate input {_SKIPPED}: [{" ".join(kinds)}]'


def _key_problem(kinds: list[str]) -> str:
    if any(kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY") for kind in kinds):
        return ""
    if not kinds:
        return "failed to find any PEM data in key input"
    if kinds == ["CERTIFICATE"]:
        return "found a certificate rather than a key in the PEM for the private key"
    wanted = 'PEM block with type ending in "PRIVATE KEY" in key input'
    return f"failed to find {wanted} {_SKIPPED}: [{' '.join(kinds)}]"


def _mismatch(certificate: bytes, key: bytes) -> str:
    # Imported here: they are slow to import, and few write such secrets.
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    try:
        public = load_pem_x509_certificate(certificate).public_key()
    except ValueError:
        return "x509: malformed certificate"
    try:
        own = load_pem_private_key(key, password=None).public_key()
    except (TypeError, ValueError):
        return "failed to parse private key"
    if type(public) is not type(own):
        return "private key type does not match public key type"
    return "" if public == own else "private key does not match public key"
