"""The layout is in order, by rules that each can fail."""

from __future__ import annotations

import pytest
from scripts.tidy import RULES, File, Finding, Rule, files

EVERYTHING = files()

# One file for each rule that breaks it. What would be found in this very file is put together here.
BREAKS = {
    "long modules": File("src/eachnode/x.py", '"""X."""\n' + "a = 1\n" * 400),
    "long functions": File("src/eachnode/x.py", '"""X."""\ndef f():\n' + "    a = 1\n" * 61),
    "empty names": File("src/eachnode/utils.py", '"""X."""\n'),
    "sleeping tests": File("tests/test_x.py", "def test_x():\n    time." + "sleep(1)\n"),
    "impure decisions": File("src/eachnode/decisions/x.py", '"""X."""\nimport time\n'),
    "promises": File("src/eachnode/x.py", '"""X."""\n# TO' + "DO: later\n"),
    "places": File("docs/x.md", "see /ro" + "ot/x\n"),
    "bare excuses": File("src/eachnode/x.py", '"""X."""\nimport x  # noq' + "a: F401\n"),
    "undescribed modules": File("src/eachnode/x.py", "a = 1\n"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.name))
def test_everything_is_in_order(rule: Rule) -> None:
    assert [str(each) for each in rule.findings(EVERYTHING)] == [], rule.reason


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.name))
def test_every_exception_is_needed_and_has_its_reason(rule: Rule) -> None:
    assert rule.unused(EVERYTHING) == []
    assert all(len(reason) > 10 for reason in rule.exceptions.values())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.name))
def test_the_rule_can_be_broken(rule: Rule) -> None:
    assert rule.findings([BREAKS[rule.name]]), rule.name


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("async def f():\n    await asyncio.sleep(1)\n", False),  # On virtual time.
        ("@pytest.mark.sockets\nasync def f():\n    await asyncio.sleep(1)\n", True),
        ("pytestmark = pytest.mark.sockets\nasync def f():\n    await asyncio.sleep(1)\n", True),
        ("pytestmark = pytest.mark.sockets\nasync def f():\n    await asyncio.sleep(0)\n", False),
        ("def f():\n    while not g():\n        time.slee" + "p(0.1)\n", False),
    ],
)
def test_waiting_for_a_condition_is_no_sleep(text: str, broken: bool) -> None:
    rule = next(rule for rule in RULES if rule.name == "sleeping tests")
    assert bool(rule.findings([File("tests/test_x.py", text)])) is broken


def test_an_exception_may_be_for_one_function_of_a_file() -> None:
    found = Finding("src/x.py", 1, "f has 70 lines")
    rule = Rule("r", "why", lambda _: iter([found]), {"src/x.py:f": "because"})
    assert rule.findings([File("src/x.py", "")]) == []
    assert Rule("r", "why", lambda _: iter([found]), {"src/x.py:g": "because"}).findings([File("src/x.py", "")])


def test_the_files_looked_at_are_those_that_people_wrote() -> None:
    paths = {file.path for file in EVERYTHING}
    assert {"README.md", "Makefile", "src/eachnode/cli/main.py", "scripts/tidy.py", "tests/test_tidy.py"} <= paths
