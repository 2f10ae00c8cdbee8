from __future__ import annotations

import pytest

from eachnode.objects.status import NotAcceptable
from eachnode.server.http.negotiation import Form, accepted_discovery, accepted_form, accepted_plain, prefers

JSON, YAML = "application/json", "application/yaml"


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/*", Form()),
        ("application/vnd.kubernetes.protobuf, */*", Form()),
        ("application/vnd.kubernetes.protobuf,application/json", Form()),
        ("application/yaml", Form(YAML)),
        ("application/json;q=0.5, application/yaml", Form(YAML)),
        ("*/*;q=0.1, application/yaml;q=0.2", Form(YAML)),
        ("application/json;pretty=1", Form(pretty=True)),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form(JSON, "Table", "v1")),
        ("application/json;as=Nothing;v=v1;g=meta.k8s.io,application/json", Form()),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form(JSON, "PartialObjectMetadata", "v1")),
        ("application/json;stream=watch", Form()),
    ],
)
def test_the_first_clause_that_can_be_met_decides(header: str, form: Form) -> None:
    assert accepted_form(header) == form


@pytest.mark.parametrize(
    "header", ["application/xml", "text/html", "application/json;as=Table;v=v9;g=meta.k8s.io", ";"]
)
def test_a_wish_that_cannot_be_met_is_refused(header: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        accepted_form(header)
    assert refused.value.message == "only the following media types are accepted: application/json, application/yaml"


def test_errors_are_never_tables() -> None:
    assert accepted_plain("application/json;as=Table;v=v1;g=meta.k8s.io,application/json") == Form()


def test_discovery_is_aggregated_for_those_who_ask_by_name() -> None:
    asked = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    assert accepted_discovery(asked).shape == "APIGroupDiscoveryList"
    older = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    assert accepted_discovery(older).shape == ""


def test_a_media_type_is_chosen_from_what_is_offered() -> None:
    assert prefers("", (JSON, YAML)) == JSON
    assert prefers("text/html, application/yaml", (JSON, YAML)) == YAML
    assert prefers("text/html", (JSON, YAML)) is None
