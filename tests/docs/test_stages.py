"""The page about stages is true: its files can be read, and it leaves out no state and no key."""

from __future__ import annotations

import re

import msgspec
import pytest
import yaml

from eachnode.decisions.pod_stages import stages
from eachnode.decisions.pod_stages.mishaps import read_mishaps
from eachnode.decisions.pod_stages.stages import read_stages
from eachnode.decisions.pod_stages.states import PodState
from tests.docs.pages import TOP

PAGE = (TOP / "docs/how-to/make-pods-and-nodes-fail.md").read_text()
FILES = re.findall(r"```yaml stages\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", FILES)
def test_what_the_page_shows_can_be_read(text: str) -> None:
    tree = yaml.safe_load(text)
    assert [*read_stages(tree), *read_mishaps(tree)]


def test_every_state_and_every_key_is_told() -> None:
    told = set(re.findall(r"[A-Za-z-]+", " ".join(re.findall(r"`([^`\n]+)`", PAGE))))
    assert {state.value for state in PodState} <= told
    for struct in (stages._When, stages._Next, stages._Line):
        assert {field.encode_name for field in msgspec.structs.fields(struct)} - {"name"} <= told
