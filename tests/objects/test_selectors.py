"""Label selectors in both forms, and field selectors."""

from __future__ import annotations

import pytest

from eachnode.objects.selectors import (
    FieldRequirement,
    LabelExpression,
    LabelSelector,
    parse_field_selector,
    parse_label_selector,
)

WEB = {"tier": "web", "env": "prod", "rank": "7"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("tier=web", True),
        ("tier==web", True),
        ("tier=db", False),
        ("tier!=db", True),
        ("tier!=web", False),
        ("zone!=x", True),
        ("tier in (web,db),env!=dev", True),
        (" tier  in ( web , db ) ", True),
        ("tier notin (web)", False),
        ("zone notin (web)", True),
        ("tier", True),
        ("!tier", False),
        ("!zone,!rack", True),
        ("zone=", False),
        ("rank>6", True),
        ("rank<6", False),
        ("tier>6", False),
        ("tier in (in,web)", True),
        ("tier in ()", False),
        ("tier in (,web)", True),
    ],
)
def test_a_query_selects_by_labels(text: str, matches: bool) -> None:
    assert parse_label_selector(text).matches(WEB) is matches


def test_an_empty_value_is_a_value() -> None:
    for text in ("a=", "a in ()", "a in (x,)", "a in (,x)", "a in (x,,y)"):
        assert parse_label_selector(text).matches({"a": ""}), text
        assert not parse_label_selector(text).matches({}), text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tier near (web)", "unable to parse requirement: found 'near', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a==b==c", "found '==', expected: ',' or 'end of string'"),
    ],
)
def test_a_broken_query_is_refused_in_the_reference_s_words(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_label_selector(text)
    assert str(refusal.value) == message


def test_illegal_labels_in_a_query_are_named() -> None:
    with pytest.raises(ValueError, match=r'requirement: <nil>: Invalid value: "a_": name part must consist of'):
        parse_label_selector("a_=b")
    with pytest.raises(ValueError, match=r'requirement: values\[0\]\[a\]: Invalid value: "b_": a valid label must be'):
        parse_label_selector("a=b_")
    with pytest.raises(ValueError, match=r"values\[0\]: Invalid value: \"x\": for 'Gt', 'Lt' operators"):
        parse_label_selector("a>x")
    with pytest.raises(ValueError, match="a valid label key must consist of"):
        parse_label_selector("a/b/c=d")
    with pytest.raises(ValueError, match="prefix part a lowercase RFC 1123 subdomain"):
        parse_label_selector("A/b=d")


def test_the_object_form_ands_everything() -> None:
    selector = LabelSelector(
        match_labels={"tier": "web"},
        match_expressions=(
            LabelExpression(key="env", operator="In", values=("prod", "stage")),
            LabelExpression(key="zone", operator="DoesNotExist"),
            LabelExpression(key="rank", operator="Exists"),
            LabelExpression(key="rank", operator="NotIn", values=("8",)),
        ),
    )
    assert selector.matches(WEB)
    assert not selector.matches({**WEB, "zone": "z"})
    assert not selector.matches({**WEB, "rank": "8"})
    assert not selector.matches({"tier": "web"})
    assert parse_label_selector(selector.text).matches(WEB)
    assert LabelSelector().empty
    assert LabelSelector().matches({})
    assert not selector.empty


def test_an_unusable_selector_says_why_and_matches_nothing() -> None:
    near = LabelSelector(match_expressions=(LabelExpression(key="a", operator="Near", values=("b",)),))
    assert near.problem == "'Near' is not a valid label selector operator"
    assert not near.matches({"a": "b"})
    assert (
        "needs at least one value"
        in LabelSelector(match_expressions=(LabelExpression(key="a", operator="In"),)).problem
    )
    exists = LabelExpression(key="a", operator="Exists", values=("b",))
    assert "takes no values" in LabelSelector(match_expressions=(exists,)).problem
    assert not LabelSelector(match_labels={"a": "b"}).problem


def test_field_selectors_split_at_bare_commas_and_unescape_values() -> None:
    assert parse_field_selector("") == ()
    assert parse_field_selector("spec.nodeName=a,status.phase!=Failed") == (
        FieldRequirement("spec.nodeName", True, "a"),
        FieldRequirement("status.phase", False, "Failed"),
    )
    assert parse_field_selector("a==b") == (FieldRequirement("a", True, "b"),)
    assert parse_field_selector(r"a=b\,c\=d\\") == (FieldRequirement("a", True, "b,c=d\\"),)
    assert parse_field_selector("a=") == (FieldRequirement("a", True, ""),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "invalid selector: 'abc'; can't understand 'abc'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        (r"a=b\c", r"invalid field selector: invalid escape sequence: \c"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_a_broken_field_selector_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_field_selector(text)
    assert str(refusal.value) == message
