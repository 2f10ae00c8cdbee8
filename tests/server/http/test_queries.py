from __future__ import annotations

import pytest

from eachnode.objects.status import ApiError, BadRequest, Invalid
from eachnode.server.http.queries import (
    delete_query,
    list_query,
    manager_or_agent,
    parsed,
    wants_pretty,
    write_query,
)
from eachnode.server.request_options import delete_options


def refusal_of_list(text: str) -> ApiError:
    with pytest.raises(ApiError) as refused:
        list_query(parsed(text))
    return refused.value


def test_a_flag_is_set_unless_it_says_no() -> None:
    for text, meant in (
        ("watch=true", True),
        ("watch=1", True),
        ("watch=", True),
        ("watch=0", False),
        ("watch=False", False),
    ):
        assert list_query(parsed(text)).watch is meant


MATCH = "resourceVersionMatch"


@pytest.mark.parametrize(
    ("query", "field", "sentence"),
    [
        (f"{MATCH}=Exact", MATCH, f"Forbidden: {MATCH} is forbidden unless resourceVersion is provided"),
        (
            f"resourceVersion=1&{MATCH}=Nearly",
            MATCH,
            'Unsupported value: "Nearly": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            f"resourceVersion=0&{MATCH}=Exact",
            MATCH,
            f'Forbidden: {MATCH} "exact" is forbidden for resourceVersion "0"',
        ),
        ("sendInitialEvents=true", "sendInitialEvents", "Forbidden: sendInitialEvents is forbidden for list"),
        (
            "watch=1&sendInitialEvents=true",
            MATCH,
            f"Forbidden: sendInitialEvents requires setting {MATCH} to NotOlderThan",
        ),
        (
            f"watch=1&{MATCH}=NotOlderThan",
            MATCH,
            f"Forbidden: {MATCH} is forbidden for watch unless sendInitialEvents is provided",
        ),
    ],
)
def test_options_of_a_list_that_contradict_one_another_are_refused(query: str, field: str, sentence: str) -> None:
    refused = refusal_of_list(query)
    assert isinstance(refused, Invalid)
    assert refused.message == f'ListOptions.meta.k8s.io "" is invalid: {field}: {sentence}'
    assert refused.details is not None
    assert (refused.details.group, refused.details.kind) == ("meta.k8s.io", "ListOptions")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("limit=many", 'strconv.ParseInt: parsing "many": invalid syntax'),
        ("limit=", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("timeoutSeconds=99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
        ("limit=१", 'strconv.ParseInt: parsing "१": invalid syntax'),
    ],
)
def test_a_number_that_is_none_is_refused(query: str, sentence: str) -> None:
    refused = refusal_of_list(query)
    assert isinstance(refused, BadRequest)
    assert refused.message == sentence


@pytest.mark.parametrize(
    ("query", "apply", "sentence"),
    [
        ("dryRun=Some", False, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        (
            "fieldValidation=Loose",
            False,
            'fieldValidation: Unsupported value: "Loose": supported values: "", "Ignore", "Strict", "Warn"',
        ),
        ("force=true", False, "force: Forbidden: may not be specified for non-apply patch"),
        ("", True, "fieldManager: Required value: is required for apply patch"),
        (f"fieldManager={'m' * 129}", False, "fieldManager: Too long: may not be more than 128 bytes"),
    ],
)
def test_options_of_a_patch_are_validated(query: str, apply: bool, sentence: str) -> None:
    with pytest.raises(Invalid) as refused:
        write_query(parsed(query), "PatchOptions", apply=apply)
    assert refused.value.message == f'PatchOptions.meta.k8s.io "" is invalid: {sentence}'


def test_options_of_a_write_are_read() -> None:
    options = write_query(parsed("fieldManager=me&dryRun=All&fieldValidation=Strict"), "CreateOptions")
    assert (options.field_manager, options.dry_run, options.field_validation) == ("me", True, "Strict")


def test_a_delete_takes_its_options_from_the_query() -> None:
    options = delete_query(parsed("gracePeriodSeconds=3&propagationPolicy=Orphan&uid=u&dryRun=All"))
    assert (options.grace_period_seconds, options.propagation_policy, options.dry_run) == (3, "Orphan", ("All",))
    assert options.preconditions is not None
    assert options.preconditions.uid == "u"


def test_options_of_a_delete_are_validated() -> None:
    with pytest.raises(Invalid) as refused:
        delete_options({"propagationPolicy": "Gently", "orphanDependents": True})
    assert [cause.field for cause in refused.value.details.causes] == ["propagationPolicy"] * 2  # type: ignore[union-attr]  # an Invalid has details
    with pytest.raises(BadRequest):
        delete_options({"gracePeriodSeconds": "soon"})


def test_a_write_is_attributed_to_its_manager_or_else_to_the_client() -> None:
    assert manager_or_agent("me", "kubectl/v1.33") == "me"
    assert manager_or_agent("", "kubectl/v1.33 (linux)") == "kubectl"
    assert manager_or_agent("", "") == "unknown"


def test_humans_get_indented_answers() -> None:
    assert wants_pretty(parsed("pretty=true"), "")
    assert wants_pretty(parsed(""), "curl/8")
    assert not wants_pretty(parsed("pretty=false"), "curl/8")
    assert not wants_pretty(parsed(""), "kubectl/v1.33")
