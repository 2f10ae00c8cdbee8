"""What is served, told in the two ways clients ask for it: page by page, and all at once (aggregated).

Both are made from the kinds themselves, so a custom kind appears with its definition and goes with it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import msgspec

from eachnode.objects.api_versions import version_rank
from eachnode.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from eachnode.server.http.negotiation import Form, accepted_discovery, accepted_plain
from eachnode.server.http.replies import Reply, json_reply
from eachnode.server.kind import Kind, Tree

# The order in which the reference offers its groups; those of custom kinds follow by name.
_GROUP_ORDER = (
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
)
_STATUS_VERBS = ("get", "patch", "update")
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


@dataclass(frozen=True, slots=True)
class Group:
    """One API group: its versions, most stable first, each with its kinds by name."""

    name: str
    versions: Mapping[str, tuple[Kind, ...]]

    def group_version(self, version: str) -> str:
        """The name clients use for one version of it."""
        return f"{self.name}/{version}" if self.name else version


@dataclass(frozen=True, slots=True)
class _Page:
    body: bytes
    etag: str


class Discovery:
    """Answers the questions what groups, versions and resources there are."""

    def __init__(self, kinds: Callable[[], Iterable[Kind]], address: Callable[[], str]) -> None:
        """`kinds` are those served now, `address` is what clients are told to reach the server at."""
        self._kinds = kinds
        self._address = address
        self._known: tuple[Kind, ...] = ()
        self._groups: dict[str, Group] = {}
        self._pages: dict[str, _Page] = {}

    def groups(self) -> Mapping[str, Group]:
        """All groups by name, in the order in which they are offered."""
        present = tuple(self._kinds())
        if len(present) != len(self._known) or any(a is not b for a, b in zip(present, self._known, strict=True)):
            self._known, self._pages = present, {}
            self._groups = {group.name: group for group in _grouped(present)}
        return self._groups

    def built_in(self, group: str) -> bool:
        """Whether it is a group of the server's own kinds."""
        known = self.groups().get(group)
        return known is not None and any(kind.definition for kinds in known.versions.values() for kind in kinds)

    def reply(self, words: Sequence[str], accept: str, *, pretty: bool = False) -> Reply | None:
        """The answer for a path of one to three words that begins with api or apis; None when nothing is there."""
        groups = self.groups()
        if len(words) == 1:
            form = _indented(accepted_discovery(accept), pretty)
            return self._sent(f"{words[0]} {form.shape}", form, lambda: self._root(words[0], form))
        form = _indented(accepted_plain(accept), pretty)
        if words[0] == "api":
            if len(words) != 2 or words[1] not in groups[""].versions:
                return None
            return self._sent("api/v1", form, lambda: resource_list(groups[""], words[1]))
        group = groups.get(words[1]) if words[1] else None
        if group is None:
            return None
        if len(words) == 2:
            return self._sent(f"apis/{group.name}", form, lambda: _group_page(group))
        if len(words) != 3 or words[2] not in group.versions:
            return None
        return self._sent("/".join(words), form, lambda: resource_list(group, words[2]))

    def _sent(self, name: str, form: Form, make: Callable[[], Tree]) -> Reply:
        page = self._pages.get(name)
        if page is None:
            body = msgspec.json.encode(make())
            page = self._pages[name] = _Page(body, f'"{sha256(body).hexdigest().upper()}"')
        reply = json_reply(200, page.body, form)
        if not form.shape:
            return reply
        headers = {"ETag": page.etag, "Vary": "Accept", "Cache-Control": "public"}
        return Reply(200, reply.body, reply.content_type, headers)

    def _root(self, word: str, form: Form) -> Tree:
        groups = [group for group in self.groups().values() if (group.name == "") is (word == "api")]
        if form.shape:
            items = [_aggregated(group) for group in groups]
            return {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {},
                "items": items,
            }
        if word == "api":
            address = {"clientCIDR": "0.0.0.0/0", "serverAddress": self._address()}
            versions = [version for group in groups for version in group.versions]
            return {"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": [address]}
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(group) for group in groups]}


def _indented(form: Form, pretty: bool) -> Form:
    return replace(form, pretty=True) if pretty else form


def resource_list(group: Group, version: str) -> Tree:
    """The resources of one version of a group, subresources among them."""
    entries = [entry for kind in group.versions[version] for entry in _entries(kind)]
    head: Tree = {"kind": "APIResourceList"}
    if group.name:
        head["apiVersion"] = "v1"
    return {**head, "groupVersion": group.group_version(version), "resources": entries}


def storage_version_hash(stored: Resource) -> str:
    """The mark by which clients notice that objects are stored in another version than before."""
    # The reference has kept definitions of custom kinds in an old version to this day.
    version = "v1beta1" if stored == CUSTOM_RESOURCE_DEFINITIONS else stored.version
    digest = sha256(f"{stored.group}/{version}/{stored.kind}".encode()).digest()
    return b64encode(digest[:8]).decode()


def _grouped(kinds: Sequence[Kind]) -> list[Group]:
    found: dict[str, dict[str, list[Kind]]] = {"": {}}
    for kind in kinds:
        found.setdefault(kind.resource.group, {}).setdefault(kind.resource.version, []).append(kind)
    order = {name: place for place, name in enumerate(_GROUP_ORDER)}
    return [
        Group(
            name,
            {
                version: tuple(sorted(found[name][version], key=lambda kind: kind.resource.plural))
                for version in sorted(found[name], key=version_rank)
            },
        )
        for name in sorted(found, key=lambda name: (order.get(name, len(order)), name))
    ]


def _group(group: Group) -> Tree:
    versions = [{"groupVersion": group.group_version(version), "version": version} for version in group.versions]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def _group_page(group: Group) -> Tree:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}


def _entries(kind: Kind) -> list[Tree]:
    """A kind's own entry, then those of its subresources."""
    resource = kind.resource
    own: Tree = {
        "name": resource.plural,
        "singularName": kind.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        own["shortNames"] = list(kind.short_names)
    if kind.categories:
        own["categories"] = list(kind.categories)
    if "get" in kind.verbs:
        own["storageVersionHash"] = storage_version_hash(kind.alias.of if kind.alias else resource)
    return [own, *(_sub_entry(resource, name, *about) for name, about in _subresources(kind))]


def _verbs(kind: Kind) -> Sequence[str]:
    """What can be done with a kind, in the order in which the reference says it: custom kinds have one of their own."""
    return sorted(kind.verbs) if kind.definition else _CUSTOM_VERBS


def _sub_entry(resource: Resource, name: str, group: str, version: str, answers: str, verbs: Sequence[str]) -> Tree:
    entry: Tree = {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": answers,
        "verbs": list(verbs),
    }
    if group:
        entry["group"] = group
    if version:
        entry["version"] = version
    return entry


def _subresources(kind: Kind) -> list[tuple[str, tuple[str, str, str, Sequence[str]]]]:
    """Each subresource with the group, version and kind it gives, and its verbs, by name."""
    found: dict[str, tuple[str, str, str, Sequence[str]]] = {
        name: (sub.group, sub.version, sub.kind, sorted(sub.verbs))
        for name, sub in kind.subresources.items()
        if name  # Without one it is the kind itself that is asked.
    }
    if kind.has_status and "status" not in found:
        found["status"] = ("", "", kind.resource.kind, _STATUS_VERBS)
    return sorted(found.items())


def _aggregated(group: Group) -> Tree:
    versions = [
        {"version": version, "resources": [_aggregated_kind(kind) for kind in kinds], "freshness": "Current"}
        for version, kinds in group.versions.items()
    ]
    return {"metadata": {"name": group.name} if group.name else {}, "versions": versions}


def _aggregated_kind(kind: Kind) -> Tree:
    resource = kind.resource
    tree: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": {"group": "", "version": "", "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        tree["shortNames"] = list(kind.short_names)
    if kind.categories:
        tree["categories"] = list(kind.categories)
    parts = [
        {"subresource": name, "responseKind": {"group": group, "version": version, "kind": answers}, "verbs": verbs}
        for name, (group, version, answers, verbs) in _subresources(kind)
    ]
    if parts:
        tree["subresources"] = parts
    return tree
