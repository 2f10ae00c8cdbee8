"""What form of answer the client accepts: JSON or YAML, the object itself or a Table or only its metadata.

Clauses are tried from the most to the least preferred; a clause that asks for something an endpoint cannot give is
passed over. Clients that merely prefer protobuf name JSON or `*/*` behind it and get JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from eachnode.objects.status import Details, NotAcceptable

JSON, YAML = "application/json", "application/yaml"
SUPPORTED = (JSON, YAML)

Shape = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList", "APIGroupDiscoveryList"]

META_GROUP = "meta.k8s.io"


@dataclass(frozen=True, slots=True)
class Form:
    """The agreed form of an answer."""

    media: str = JSON
    shape: Shape = ""  # Empty: the object as it is.
    version: str = ""  # Of the shape's group.
    pretty: bool = False

    @property
    def metadata_only(self) -> bool:
        """Whether only `metadata` is wanted."""
        return self.shape.startswith("PartialObjectMetadata")


@dataclass(frozen=True, slots=True)
class Clause:
    """One alternative of an Accept header."""

    main: str
    sub: str
    parameters: dict[str, str]
    preference: float


PLAIN = Form()


@lru_cache(maxsize=256)
def accepted_form(header: str) -> Form:
    """The form in which an object or a list goes back; raises NotAcceptable when there is none."""
    if not header:
        return PLAIN
    for clause in _clauses(header):
        for media in _matching(clause, SUPPORTED):
            form = _resource_form(clause.parameters, media)
            if form is not None:
                return form
    raise not_acceptable(SUPPORTED)


@lru_cache(maxsize=64)
def accepted_plain(header: str) -> Form:
    """The form for pages that have one shape only (errors, discovery documents); raises NotAcceptable."""
    if not header:
        return PLAIN
    for clause in _clauses(header):
        for media in _matching(clause, SUPPORTED):
            if not {"as", "g", "v"} & clause.parameters.keys():
                return Form(media, pretty=clause.parameters.get("pretty") == "1")
    raise not_acceptable(SUPPORTED)


@lru_cache(maxsize=64)
def accepted_discovery(header: str) -> Form:
    """The form of /api and /apis: the aggregated document when the client asks for it by name."""
    for clause in _clauses(header):
        for media in _matching(clause, SUPPORTED):
            asked = clause.parameters
            if not {"as", "g", "v"} & asked.keys():
                return Form(media, pretty=asked.get("pretty") == "1")
            if (asked.get("g"), asked.get("v"), asked.get("as")) == (
                "apidiscovery.k8s.io",
                "v2",
                "APIGroupDiscoveryList",
            ):
                return Form(media, "APIGroupDiscoveryList", "v2")
    if not header:
        return PLAIN
    raise not_acceptable(SUPPORTED)


def prefers(header: str, offers: Sequence[str]) -> str | None:
    """Which of the offered media types the client likes best: the first if it has no wish, None if it likes none."""
    if not header:
        return offers[0]
    for clause in _clauses(header):
        for media in _matching(clause, offers):
            return media
    return None


def require_match(header: str, offers: Sequence[str] = SUPPORTED) -> None:
    """Raises NotAcceptable unless a clause names one of the offers, or `*/*`.

    The reference looks at this before it knows who is to answer: parameters do not count, nor does `application/*`.
    """
    named = {part.partition(";")[0].strip().lower() for part in header.split(",")} if header else {"*/*"}
    if named.isdisjoint((*offers, "*/*")):
        known = ", ".join(offers)
        raise NotAcceptable(f"406: Not Acceptable\n\nAvailable representations: {known}", details=Details())


def not_acceptable(offers: Sequence[str]) -> NotAcceptable:
    """The 406 that names what there is."""
    return NotAcceptable(f"only the following media types are accepted: {', '.join(offers)}")


def content_type(form: Form) -> str:
    """The Content-Type of an answer in this form."""
    if form.shape == "APIGroupDiscoveryList":
        return f"{form.media};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    return form.media


def _resource_form(asked: dict[str, str], media: str) -> Form | None:
    pretty = asked.get("pretty") == "1"
    if asked.get("stream") not in (None, "", "watch"):
        return None
    if not {"as", "g", "v"} & asked.keys():
        return Form(media, pretty=pretty)
    shape, version = asked.get("as", ""), asked.get("v", "")
    if asked.get("g") != META_GROUP or version not in ("v1", "v1beta1"):
        return None
    match shape:
        case "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList":
            return Form(media, shape, version, pretty)
        case _:
            return None


def _matching(clause: Clause, offers: Sequence[str]) -> list[str]:
    """The offers that a clause covers."""
    return [
        offer
        for offer in offers
        if f"{clause.main}/{clause.sub}" == offer
        or (clause.sub == "*" and clause.main in ("*", offer.partition("/")[0]))
    ]


def _clauses(header: str) -> list[Clause]:
    """The alternatives of an Accept header, best first, as they stand among equals; a more exact one goes first."""
    clauses = [clause for part in header.split(",") if (clause := _clause(part)) is not None]
    return sorted(clauses, key=lambda c: (-c.preference, c.main == "*", c.sub == "*"))


def _clause(part: str) -> Clause | None:
    media, *parameters = [piece.strip() for piece in part.split(";")]
    main, slash, sub = media.partition("/")
    if not slash:
        main, sub = (main, "*") if main == "*" else ("", "")
    if not main:
        return None
    values: dict[str, str] = {}
    preference = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            preference = _preference(value)
        else:
            values[key.strip()] = value.strip().strip('"')
    return Clause(main.lower(), sub.lower(), values, preference)


def _preference(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0
