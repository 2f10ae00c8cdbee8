"""How names, keys and small values of the API must look, and what is said of those that do not.

Each function takes a value and answers with everything wrong with it, in the reference's words; a good value gets an
empty tuple. Lengths are counted in bytes. Names end up in URLs, DNS records and file names, hence the many rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

Problems = tuple[str, ...]
NONE: Problems = ()

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_KEY})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_PERCENT = "[0-9]+%"

_IS_LABEL = re.compile(_LABEL).fullmatch
_IS_SUBDOMAIN = re.compile(_SUBDOMAIN).fullmatch
_IS_LABEL_1035 = re.compile(_LABEL_1035).fullmatch
_IS_KEY = re.compile(_KEY).fullmatch
_IS_LABEL_VALUE = re.compile(_LABEL_VALUE).fullmatch
_IS_CONFIG_KEY = re.compile(_CONFIG_KEY).fullmatch
_IS_HTTP_HEADER = re.compile(_HTTP_HEADER).fullmatch
_IS_PERCENT = re.compile(_PERCENT).fullmatch

_LABEL_SENTENCE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_SENTENCE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_SENTENCE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_KEY_SENTENCE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_LABEL_VALUE_SENTENCE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_ENV_NAME_SENTENCE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_KEY_PROBLEM_EXAMPLES = ("MyName", "my.name", "123-abc")


def mismatch(sentence: str, pattern: str, *examples: str) -> str:
    """The sentence for a value that does not match a pattern, with examples that do."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{sentence} ({'e.g. ' + shown if examples else ''}regex used for validation is '{pattern}')"


def between(low: int, high: int) -> str:
    """The sentence for a number outside its range."""
    return f"must be between {low} and {high}, inclusive"


@lru_cache(maxsize=4096)
def dns_label(value: str) -> Problems:
    """A DNS label (RFC 1123): namespaces, containers, volumes."""
    found: list[str] = []
    if len(value.encode()) > 63:
        found.append("must be no more than 63 characters")
    if not _IS_LABEL(value):
        dotted = _IS_SUBDOMAIN(value)
        found.append("must not contain dots" if dotted else mismatch(_LABEL_SENTENCE, _LABEL, "my-name", "123-abc"))
    return tuple(found)


@lru_cache(maxsize=4096)
def dns_subdomain(value: str, unit: str = "characters") -> Problems:
    """DNS labels joined by dots: the names of most objects. Some callers of the reference count "bytes"."""
    found: list[str] = []
    if len(value.encode()) > 253:
        found.append(f"must be no more than 253 {unit}")
    if not _IS_SUBDOMAIN(value):
        found.append(mismatch(_SUBDOMAIN_SENTENCE, _SUBDOMAIN, "example.com"))
    return tuple(found)


def dns_1035_label(value: str) -> Problems:
    """A DNS label of the older kind, which starts with a letter: services, definitions of new kinds."""
    found: list[str] = []
    if len(value.encode()) > 63:
        found.append("must be no more than 63 characters")
    if not _IS_LABEL_1035(value):
        found.append(mismatch(_LABEL_1035_SENTENCE, _LABEL_1035, "my-name", "abc-123"))
    return tuple(found)


@lru_cache(maxsize=4096)
def qualified_name(value: str) -> Problems:
    """A label key, an annotation key (in lower case), a taint key, a finalizer: `name` or `example.com/name`."""
    parts = value.split("/")
    name = parts[-1]
    problem = mismatch(_KEY_SENTENCE, _KEY, *_KEY_PROBLEM_EXAMPLES)
    if len(parts) > 2:
        return (
            f"a valid label key {problem} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    found: list[str] = []
    if len(parts) == 2:
        wrong = dns_subdomain(parts[0], "bytes") if parts[0] else ("must be non-empty",)
        found += [f"prefix part {text}" for text in wrong]
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        found.append("name part must be no more than 63 bytes")
    if not _IS_KEY(name):
        found.append(f"name part {problem}")
    return tuple(found)


@lru_cache(maxsize=4096)
def label_value(value: str) -> Problems:
    """The value of a label, also of a taint."""
    found: list[str] = []
    if len(value.encode()) > 63:
        found.append("must be no more than 63 bytes")
    if not _IS_LABEL_VALUE(value):
        found.append(mismatch(_LABEL_VALUE_SENTENCE, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return tuple(found)


def path_segment(value: str) -> Problems:
    """A name that may stand between slashes of a URL: roles and their bindings."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> Problems:
    """The beginning of such a name."""
    return tuple(f"may not contain '{char}'" for char in "/%" if char in value)


def config_key(value: str) -> Problems:
    """A key of a ConfigMap or a Secret: it becomes a file name."""
    found: list[str] = []
    if len(value.encode()) > 253:
        found.append("must be no more than 253 characters")
    if not _IS_CONFIG_KEY(value):
        sentence = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        found.append(mismatch(sentence, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    return (*found, *climbing(value))


def climbing(value: str) -> Problems:
    """A file name must not lead upwards."""
    if value in (".", ".."):
        return (f"must not be '{value}'",)
    return ("must not start with '..'",) if value.startswith("..") else NONE


def environment_name(value: str) -> Problems:
    """The name of an environment variable."""
    found: list[str] = []
    if not value:
        found.append("environment variable name must be non-empty")
    if not all(" " <= char <= "~" and char != "=" for char in value):
        found.append(_ENV_NAME_SENTENCE)
    return tuple(found)


def port_number(value: int) -> Problems:
    """A TCP or UDP port."""
    return NONE if 1 <= value <= 65535 else (between(1, 65535),)


def port_name(value: str) -> Problems:
    """The name of a container's port."""
    rules: tuple[tuple[Callable[[str], object], str], ...] = (
        (lambda name: len(name.encode()) <= 15, "must be no more than 15 characters"),
        (re.compile("[-a-z0-9]+").fullmatch, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        (re.compile("[a-z]").search, "must contain at least one letter (a-z)"),
        (lambda name: "--" not in name, "must not contain consecutive hyphens"),
        (lambda name: not name.startswith("-") and not name.endswith("-"), "must not begin or end with a hyphen"),
    )
    return tuple(problem for holds, problem in rules if not holds(value))


def percent(value: str) -> Problems:
    """A percentage such as `25%`."""
    if _IS_PERCENT(value):
        return NONE
    sentence = "a valid percent string must be a numeric string followed by an ending '%'"
    return (mismatch(sentence, _PERCENT, "1%", "93%"),)


def http_header_name(value: str) -> Problems:
    """The name of an HTTP header."""
    if _IS_HTTP_HEADER(value):
        return NONE
    return (
        mismatch("a valid HTTP header must consist of alphanumeric characters or '-'", _HTTP_HEADER, "X-Header-Name"),
    )


def user_id(value: int) -> Problems:
    """A user or group id of Linux."""
    return NONE if 0 <= value <= 2**31 - 1 else (between(0, 2**31 - 1),)


def name_prefix(name: str) -> str:
    """A generateName as the name rules judge it: its last dash stands for what will follow."""
    # The reference cuts two characters and adds one; that matters only for the length.
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name
