"""What a legal label is, in the words in which the API refuses an illegal one."""

from __future__ import annotations

import re

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_ALPHANUMERIC = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
NAME_LENGTH = 63
SUBDOMAIN_LENGTH = 253

_is_name = re.compile(_NAME).fullmatch
_is_value = re.compile(_VALUE).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch


def key_errors(key: str) -> list[str]:
    """Everything wrong with a label key (the reference's "qualified name"); empty when it is one."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        example = _format_error(_ALPHANUMERIC, _NAME, "MyName", "my.name", "123-abc")
        return [
            f"a valid label key {example} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    errors = []
    if slash:
        wrong = subdomain_errors(prefix) if prefix else ["must be non-empty"]
        errors += [f"prefix part {error}" for error in wrong]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > NAME_LENGTH:
        errors.append(f"name part must be no more than {NAME_LENGTH} bytes")
    if not _is_name(name):
        errors.append("name part " + _format_error(_ALPHANUMERIC, _NAME, "MyName", "my.name", "123-abc"))
    return errors


def value_errors(value: str) -> list[str]:
    """Everything wrong with a label value; empty when it is one."""
    errors = []
    if len(value.encode()) > NAME_LENGTH:
        errors.append(f"must be no more than {NAME_LENGTH} bytes")
    if not _is_value(value):
        rule = _ALPHANUMERIC.replace("must consist", "a valid label must be an empty string or consist", 1)
        errors.append(_format_error(rule, _VALUE, "MyValue", "my_value", "12345"))
    return errors


def subdomain_errors(name: str) -> list[str]:
    """Everything wrong with a DNS subdomain (RFC 1123, lower case); empty when it is one."""
    errors = []
    if len(name.encode()) > SUBDOMAIN_LENGTH:
        errors.append(f"must be no more than {SUBDOMAIN_LENGTH} bytes")
    if not _is_subdomain(name):
        rule = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        errors.append(_format_error(rule, _SUBDOMAIN, "example.com"))
    return errors


def _format_error(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"
