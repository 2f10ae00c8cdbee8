"""How names and small values must look, with the API's sentences for those that do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eachnode.objects import formats
from eachnode.objects.formats import Problems
from tests.sentences import KEY, LABEL, SUBDOMAIN, VALUE

PORT_LETTERS = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"


@pytest.mark.parametrize(
    ("check", "value", "problems"),
    [
        (formats.dns_label, "a-1", ()),
        (formats.dns_label, "a.b", ("must not contain dots",)),
        (formats.dns_label, "A", (LABEL,)),
        (formats.dns_label, "a\n", (LABEL,)),
        (formats.dns_label, "ä" * 32, ("must be no more than 63 characters", LABEL)),
        (formats.dns_subdomain, "a.b-c.d", ()),
        (formats.dns_subdomain, "a..b", (SUBDOMAIN,)),
        (formats.dns_subdomain, "a" * 254, ("must be no more than 253 characters",)),
        (formats.dns_1035_label, "a1", ()),
        (
            formats.dns_1035_label,
            "1a",
            (
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
                "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
                "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
            ),
        ),
        (formats.qualified_name, "example.com/Name_1", ()),
        (formats.qualified_name, "", ("name part must be non-empty", KEY)),
        (formats.qualified_name, "/a", ("prefix part must be non-empty",)),
        (formats.qualified_name, "Ex/a", (f"prefix part {SUBDOMAIN}",)),
        (formats.qualified_name, "e/" + "a" * 64, ("name part must be no more than 63 bytes",)),
        (formats.qualified_name, "a" * 254 + "/b", ("prefix part must be no more than 253 bytes",)),
        (
            formats.qualified_name,
            "a/b/c",
            (
                "a valid label key "
                + KEY.removeprefix("name part ")
                + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            ),
        ),
        (formats.label_value, "", ()),
        (formats.label_value, "-a", (VALUE,)),
        (formats.label_value, "a" * 64, ("must be no more than 63 bytes",)),
        (formats.path_segment, "system:x", ()),
        (formats.path_segment, ".", ("may not be '.'",)),
        (formats.path_segment, "a/b%c", ("may not contain '/'", "may not contain '%'")),
        (formats.environment_name, "any.thing goes", ()),
        (
            formats.environment_name,
            "a=b",
            ("a valid environment variable name must consist only of printable ASCII characters other than '='",),
        ),
        (formats.port_name, "web-1", ()),
        (
            formats.port_name,
            "-1--2",
            (
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ),
        ),
        (
            formats.port_name,
            "A" * 16,
            ("must be no more than 15 characters", PORT_LETTERS, "must contain at least one letter (a-z)"),
        ),
        (formats.percent, "12%", ()),
        (formats.http_header_name, "X-A", ()),
    ],
)
def test_a_value_is_told_everything_wrong_with_it(
    check: Callable[[str], Problems], value: str, problems: Problems
) -> None:
    assert check(value) == problems


def test_numbers_have_ranges() -> None:
    assert formats.port_number(65535) == ()
    assert formats.port_number(0) == ("must be between 1 and 65535, inclusive",)
    assert formats.user_id(-1) == ("must be between 0 and 2147483647, inclusive",)


def test_the_last_dash_of_a_prefix_stands_for_what_follows() -> None:
    assert formats.dns_label(formats.name_prefix("a-b-")) == ()
    assert formats.name_prefix("-") == "-"
