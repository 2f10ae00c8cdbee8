"""Projected volumes: files that come from several places, and files that show fields of the pod itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eachnode.objects import formats
from eachnode.server.field_errors import FieldError, forbidden, invalid, not_supported, required, too_long
from eachnode.server.kind import Tree
from eachnode.server.kinds.labels import validate_annotations, validate_label_selector
from eachnode.server.kinds.pods.go_shapes import as_go
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.fields import PodContext, must_have
from eachnode.server.kinds.pods.validation.references import validate_field_ref, validate_resource_ref

FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CLASH = "conflicting duplicate paths"
_LONGEST_SIGNER = 571
_DAY = 24 * 60 * 60

Errors = Iterator[FieldError]


class _Paths:
    """The file paths of one projected volume: each may be there once."""

    def __init__(self, volume: str) -> None:
        self._volume = volume
        self._seen: set[str] = set()

    def add(self, path: str, shown: str) -> Errors:
        """A clash is reported at the volume, with the value that the reference shows for it."""
        if path in self._seen:
            yield invalid(self._volume, shown, _CLASH)
        self._seen.add(path)


def validate_key_to_path(item: Tree, path: str) -> Errors:
    """One key of a Secret or ConfigMap that becomes a file."""
    yield from must_have(item, path, "key", "path")
    yield from fields.local_path(f"{path}.path", item.get("path", ""))
    yield from fields.file_mode(f"{path}.mode", item.get("mode"))


def validate_downward_file(item: Tree, path: str) -> Errors:
    """One field of the pod that becomes a file."""
    yield from must_have(item, path, "path")
    yield from fields.local_path(f"{path}.path", item.get("path", ""))
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from validate_field_ref(field, FILE_FIELDS, f"{path}.fieldRef")
        if resource is not None:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif resource is not None:
        yield from validate_resource_ref(resource, f"{path}.resourceFieldRef", in_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from fields.file_mode(f"{path}.mode", item.get("mode"))


def validate_projected(tree: Tree, path: str, pod: PodContext) -> Errors:
    """A projected volume."""
    yield from fields.file_mode(f"{path}.defaultMode", tree.get("defaultMode"))
    paths = _Paths(path)
    for source, place in fields.each(tree, "sources", path):
        given = [name for name in _PROJECTIONS if source.get(name) is not None]
        for name in given:
            yield from _PROJECTIONS[name](source[name], place, pod, paths, path)
        if len(given) > 1:
            yield forbidden(place, "may not specify more than 1 volume type per source")


def _keys(part: str) -> Callable[[Tree, str, PodContext, _Paths, str], Errors]:
    def validate(tree: Tree, source: str, _pod: PodContext, paths: _Paths, _volume: str) -> Errors:
        yield from must_have(tree, f"{source}.{part}", "name")
        for item, place in fields.each(tree, "items", f"{source}.{part}"):
            yield from validate_key_to_path(item, place)
            if item.get("path"):
                yield from paths.add(item["path"], tree.get("name", ""))

    return validate


def _downward_api(tree: Tree, source: str, _pod: PodContext, paths: _Paths, _volume: str) -> Errors:
    for item in tree.get("items") or ():
        yield from validate_downward_file(item, f"{source}.downwardAPI")
        if item.get("path"):
            yield from paths.add(item["path"], item["path"])


def _token(tree: Tree, source: str, pod: PodContext, _paths: _Paths, volume: str) -> Errors:
    place = f"{source}.serviceAccountToken.expirationSeconds"
    seconds = tree.get("expirationSeconds")
    if seconds is None:
        yield required(place)
    elif seconds < 600:
        yield invalid(place, seconds, "may not specify a duration less than 10 minutes")
    elif seconds > 1 << 32:
        yield invalid(place, seconds, "may not specify a duration larger than 2^32 seconds")
    if not tree.get("path"):
        yield required(f"{volume}.path")
    elif not pod.lenient.token_paths:
        yield from fields.local_path(f"{volume}.path", tree["path"])


def _trust_bundle(tree: Tree, source: str, _pod: PodContext, paths: _Paths, _volume: str) -> Errors:
    place = f"{source}.clusterTrustBundle"
    name, signer = tree.get("name"), tree.get("signerName")
    if name is not None and signer is not None:
        shown = as_go("ClusterTrustBundleProjection", tree)
        yield invalid(place, shown, "only one of name and signerName may be used")
    elif name is not None:
        yield from _bundle_name(tree, place, name)
    elif signer is not None:
        if not signer:
            yield required(f"{place}.signerName", "must be a valid signer name")
        yield from validate_signer_name(f"{place}.signerName", signer)
        yield from validate_label_selector(tree.get("labelSelector"), f"{place}.labelSelector")
    else:
        yield required(place, "either name or signerName must be specified")
    yield from must_have(tree, place, "path")
    target = tree.get("path", "")
    yield from fields.local_path(f"{place}.path", target)
    yield from paths.add(target, target)


def _bundle_name(tree: Tree, place: str, name: str) -> Errors:
    if not name:
        yield required(f"{place}.name", "must be a valid object name")
    # A bundle of a signer is named for it: `example.com:signer:name`.
    for problem in formats.dns_subdomain(name.rpartition(":")[2]):
        yield invalid(f"{place}.name", name, f"not a valid clustertrustbundlename: {problem}")
    if (selector := tree.get("labelSelector")) is not None:
        yield invalid(f"{place}.labelSelector", selector, "labelSelector must be unset if name is specified")


def _certificate(tree: Tree, source: str, _pod: PodContext, paths: _Paths, _volume: str) -> Errors:
    place = f"{source}.podCertificate"
    signer = tree.get("signerName", "")
    yield from validate_signer_name(f"{place}.signerName", signer)
    yield from _user_annotations(tree.get("userAnnotations"), f"{place}.userAnnotations")
    if tree.get("keyType") not in KEY_TYPES:
        yield not_supported(f"{place}.keyType", tree.get("keyType", ""), KEY_TYPES)
    yield from _expiration(tree.get("maxExpirationSeconds"), signer, f"{place}.maxExpirationSeconds")
    given = [name for name in ("credentialBundlePath", "keyPath", "certificateChainPath") if tree.get(name)]
    for name in given:
        yield from fields.local_path(f"{place}.{name}", tree[name])
        yield from paths.add(tree[name], tree[name])
    if not given:
        yield required(place, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")


def _expiration(seconds: int | None, signer: str, path: str) -> Errors:
    if seconds is None:
        return
    if seconds < 3600:
        yield invalid(path, seconds, "if provided, maxExpirationSeconds must be >= 3600")
    host = signer.partition("/")[0]
    longest = _DAY if host == "kubernetes.io" or host.endswith(".kubernetes.io") else 91 * _DAY
    if seconds > longest:
        yield invalid(path, seconds, f"if provided, maxExpirationSeconds must be <= {longest}")


def _user_annotations(annotations: dict[str, str] | None, path: str) -> Errors:
    """Annotations whose keys all have a domain."""
    for name in sorted(annotations or ()):
        key = name.lower()
        if not key:
            yield required(path)
        elif problems := formats.qualified_name(key):
            yield from fields.wrong(path, key, problems)
        elif "/" not in key:
            yield invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")')
    # The keys are judged above; what is left of the common rule is the size.
    yield from (error for error in validate_annotations(annotations, path) if error.reason == "FieldValueTooLong")


def validate_signer_name(path: str, signer: str) -> Errors:
    """A signer of certificates: `example.com/name`."""
    if not signer:
        yield required(path)
        return
    domain, slash, name = signer.partition("/")
    if not slash or "/" in name:
        yield invalid(path, signer, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    if len(domain.encode()) > 253:
        yield too_long(path, 253)
    yield from _segments(path, domain, formats.dns_label)
    if "." not in domain:
        yield invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _segments(path, name, formats.dns_subdomain)
    if len(signer.encode()) > _LONGEST_SIGNER:
        yield too_long(path, _LONGEST_SIGNER)


def _segments(path: str, text: str, problems_of: Callable[[str], formats.Problems]) -> Errors:
    for segment in text.split("."):
        if problems := problems_of(segment):
            yield from (invalid(path, text, f'validating label "{segment}": {problem}') for problem in problems)
            return


_PROJECTIONS: dict[str, Callable[[Tree, str, PodContext, _Paths, str], Errors]] = {
    "secret": _keys("secret"),
    "configMap": _keys("configMap"),
    "downwardAPI": _downward_api,
    "serviceAccountToken": _token,
    "clusterTrustBundle": _trust_bundle,
    "podCertificate": _certificate,
}
