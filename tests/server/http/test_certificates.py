from __future__ import annotations

import ssl
import stat
import sys
from pathlib import Path

import pytest
import yaml

from eachnode.server.http.certificates import DAY, Certificates, names_for
from eachnode.server.http.front import HttpOptions, is_loopback
from eachnode.server.http.kubeconfig import write_kubeconfig
from eachnode.server.http.private_files import kept_secret

NOW = 1_800_000_000.0
FILES = {"ca.crt", "ca.key", "server.crt", "server.key", "server.json"}


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_certificates_are_made_once_for_their_owner_only(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    assert certificates.renew(["localhost"], NOW)
    made = contents(tmp_path)
    assert made.keys() == FILES
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert not certificates.renew(["localhost"], NOW + DAY)
    assert contents(tmp_path) == made


@pytest.mark.parametrize(("later", "names"), [(340 * DAY, ["localhost"]), (DAY, ["localhost", "other"])])
def test_a_server_certificate_is_renewed_before_its_end_and_for_new_names(
    tmp_path: Path, later: float, names: list[str]
) -> None:
    certificates = Certificates(tmp_path)
    certificates.renew(["localhost"], NOW)
    before = contents(tmp_path)
    assert certificates.renew(names, NOW + later)
    after = contents(tmp_path)
    assert after["server.crt"] != before["server.crt"]
    assert after["ca.crt"] == before["ca.crt"]


def test_an_authority_that_could_not_outlive_what_it_signs_is_replaced(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    certificates.renew(["localhost"], NOW)
    before = certificates.authority_pem
    assert certificates.renew(["localhost"], NOW + 3300 * DAY)
    assert certificates.authority_pem != before


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_is_missing_is_made_again(tmp_path: Path, name: str) -> None:
    certificates = Certificates(tmp_path)
    certificates.renew(["localhost"], NOW)
    (tmp_path / name).unlink()
    assert certificates.renew(["localhost"], NOW)
    assert contents(tmp_path).keys() == FILES


def test_the_server_certificate_names_where_the_server_is(tmp_path: Path) -> None:
    from cryptography import x509  # the library that made it

    Certificates(tmp_path).renew(names_for("10.1.2.3"), NOW)
    (server, authority) = x509.load_pem_x509_certificates((tmp_path / "server.crt").read_bytes())
    server.verify_directly_issued_by(authority)
    found = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(address) for address in found.get_values_for_type(x509.IPAddress)}
    assert {"127.0.0.1", "::1", "10.1.2.3"} <= addresses
    assert "localhost" in found.get_values_for_type(x509.DNSName)
    lifetime = server.not_valid_after_utc - server.not_valid_before_utc
    assert lifetime.days <= 366
    assert authority.not_valid_after_utc.timestamp() == NOW + 3650 * DAY


def test_tls_is_at_least_1_2_and_asks_for_certificates(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    certificates.renew(["localhost"], NOW)
    context = certificates.context()
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_OPTIONAL


def test_starting_again_does_not_load_what_makes_certificates(tmp_path: Path) -> None:
    import subprocess

    Certificates(tmp_path).renew(["localhost"], NOW)
    program = (
        "import sys; from pathlib import Path; from eachnode.server.http.certificates import Certificates; "
        f"assert not Certificates(Path({str(tmp_path)!r})).renew(['localhost'], {NOW}); "
        "assert 'cryptography' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


def test_a_kubeconfig_is_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "below" / "kubeconfig"
    path.parent.mkdir()
    path.write_text("something else")
    write_kubeconfig(path, "https://127.0.0.1:1", "PEM", "t")
    tree = yaml.safe_load(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tree["current-context"] == tree["contexts"][0]["name"] == "eachnode"
    assert tree["clusters"][0]["cluster"] == {"server": "https://127.0.0.1:1", "certificate-authority-data": "UEVN"}
    assert tree["users"][0]["user"] == {"token": "t"}


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert kept_secret(path) == kept_secret(path)
    assert len(kept_secret(path)) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", ""])
def test_listening_beyond_loopback_without_tls_is_refused(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(ValueError, match="without TLS"):
        HttpOptions(host=host, insecure_http=True).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_tls(host: str) -> None:
    HttpOptions(host=host, insecure_http=True).check()


def test_tls_needs_a_place_for_its_certificates() -> None:
    with pytest.raises(ValueError, match="data directory"):
        HttpOptions().check()
