"""Credential plugins: real commands that print a token, are asked again when it expires, and fail in every way."""

from __future__ import annotations

import io
import stat
import sys
from pathlib import Path

import pytest

from eachnode.client.credentials import ClientCertificate, CredentialError, Plugin, PluginSpec

pytestmark = pytest.mark.sockets

V1 = "client.authentication.k8s.io/v1"
BETA = "client.authentication.k8s.io/v1beta1"


class HandClock:
    def __init__(self, at: float = 1_767_225_600.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def plugin(folder: Path, script: str, *, version: str = V1, clock: HandClock | None = None, **more: object) -> Plugin:
    """A plugin that is this Python script."""
    path = folder / "plugin"
    path.write_text(f"#!{sys.executable} -S\nimport json, os, sys\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    spec = PluginSpec(str(path), version, **{"interactive": "Never", **more})  # type: ignore[arg-type] # its other fields
    return Plugin(spec, clock=clock or HandClock())


def printing(status: str, version: str = V1) -> str:
    return f"print(json.dumps({{'kind': 'ExecCredential', 'apiVersion': '{version}', 'status': {status}}}))"


@pytest.mark.parametrize("version", [V1, BETA])
async def test_a_token_is_taken_once_and_kept(tmp_path: Path, version: str) -> None:
    count = tmp_path / "count"
    script = f"open({str(count)!r}, 'a').write('x')\n" + printing("{'token': 'secret'}", version)
    credentials = plugin(tmp_path, script, version=version)
    for _ in range(3):
        assert await credentials.headers() == {"Authorization": "Bearer secret"}
    assert count.read_text() == "x"


async def test_an_expired_token_is_asked_for_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"open({str(count)!r}, 'a').write('x')\n" + printing(
        f"{{'token': 'number-%d' % len(open({str(count)!r}).read()), 'expirationTimestamp': '2026-01-01T00:10:00Z'}}"
    )
    clock = HandClock()
    credentials = plugin(tmp_path, script, clock=clock)
    assert await credentials.headers() == {"Authorization": "Bearer number-1"}
    clock.at += 9 * 60
    assert await credentials.headers() == {"Authorization": "Bearer number-1"}
    clock.at += 51  # Nine seconds before it expires.
    assert await credentials.headers() == {"Authorization": "Bearer number-2"}


async def test_a_refused_token_is_asked_for_again(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"open({str(count)!r}, 'a').write('x')\n" + printing("{'token': 't'}")
    credentials = plugin(tmp_path, script)
    await credentials.headers()
    assert await credentials.refused()
    await credentials.headers()
    assert count.read_text() == "xx"


async def test_it_is_told_its_arguments_its_environment_and_the_cluster(tmp_path: Path) -> None:
    script = (
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert info == {'kind': 'ExecCredential', 'apiVersion': '" + V1 + "',\n"
        "    'spec': {'interactive': False, 'cluster': {'server': 'https://one'}}}, info\n"
        + printing("{'token': os.environ['A'] + sys.argv[1]}")
    )
    credentials = plugin(
        tmp_path, script, arguments=("y",), environment=(("A", "x"),), cluster={"server": "https://one"}
    )
    assert await credentials.headers() == {"Authorization": "Bearer xy"}


async def test_a_client_certificate_may_be_handed_out(tmp_path: Path) -> None:
    script = printing("{'clientCertificateData': 'cert', 'clientKeyData': 'key'}")
    credentials = plugin(tmp_path, script)
    assert await credentials.headers() == {}
    assert credentials.certificate == ClientCertificate("cert", "key")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("sys.exit('please log in first')", "failed with exit code 1: please log in first"),
        ("print('hello')", "printed no ExecCredential"),
        (printing("{}"), "neither a token nor a client certificate"),
        (printing("{'clientCertificateData': 'c'}"), "half a client certificate"),
        (printing("{'token': 't'}", BETA), f"answered with {BETA} ExecCredential, but the kubeconfig asks for {V1}"),
        (printing("{'token': 't', 'expirationTimestamp': 'soon'}"), "an expiry that is no time: soon"),
    ],
)
async def test_a_plugin_that_fails_is_one_clear_sentence(tmp_path: Path, script: str, sentence: str) -> None:
    with pytest.raises(CredentialError, match=sentence) as caught:
        await plugin(tmp_path, script).headers()
    assert "\n" not in str(caught.value)


async def test_a_missing_plugin_gives_its_install_hint() -> None:
    spec = PluginSpec("no-such-plugin", V1, install_hint="Install it with your cloud's tool.")
    with pytest.raises(CredentialError, match=r"no-such-plugin was not found\. Install it with"):
        await Plugin(spec, clock=HandClock()).headers()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def test_a_plugin_at_a_terminal_can_tell_its_user_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A login by device code is one: the code must be seen while the plugin waits, not after it."""
    monkeypatch.setattr(sys, "stdin", Terminal())
    script = (
        "print('open the browser, enter ABC', file=sys.stderr)\n"
        "assert json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']['interactive']\n" + printing("{'token': 't'}")
    )
    credentials = plugin(tmp_path, script, interactive="IfAvailable")
    assert await credentials.headers() == {"Authorization": "Bearer t"}
    assert capfd.readouterr().err == "open the browser, enter ABC\n"


async def test_a_plugin_that_needs_a_terminal_says_so() -> None:
    spec = PluginSpec("true", V1, interactive="Always")
    with pytest.raises(CredentialError, match="needs a terminal"):
        await Plugin(spec, clock=HandClock()).headers()
