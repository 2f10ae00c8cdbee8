"""Files of one volume that would lie in each other's way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import inner


class _File(NamedTuple):
    path: str
    source: str = ""

    @property
    def shown(self) -> str:
        return f'"{self.path}" ({self.source})' if self.source else f'"{self.path}"'


def overlapping_paths(volumes: Iterable[Tree]) -> Iterator[str]:
    """A warning for each pair of files in a volume of which one would lie upon or within the other."""
    for volume in volumes:
        name = volume.get("name", "")
        for described, files in _listings(volume):
            for overlap in _overlaps(files):
                yield f'volume "{name}" ({described}): overlapping paths: {overlap}'
        if (projected := volume.get("projected")) is not None:
            files = []
            for source in projected.get("sources") or ():
                if not source:
                    yield f'volume "{name}" (Projected) has no sources provided'
                files += _projected(source)
            for overlap in _overlaps(files):
                yield f'volume "{name}" (Projected): overlapping paths: {overlap}'


def _listings(volume: Tree) -> Iterator[tuple[str, list[_File]]]:
    if items := inner(volume, "configMap", "items"):
        yield f'ConfigMap "{volume["configMap"].get("name", "")}"', _files(items)
    if items := inner(volume, "secret", "items"):
        yield f'Secret "{volume["secret"].get("secretName", "")}"', _files(items)
    if items := inner(volume, "downwardAPI", "items"):
        yield "DownwardAPI", _files(items)


def _files(items: Iterable[Tree], source: str = "") -> list[_File]:
    return [_File(item.get("path", "").rstrip("/"), source) for item in items]


def _projected(source: Tree) -> list[_File]:
    """The files of one source of a projected volume; the first kind of source that is there counts."""
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if items := inner(source, field, "items"):
            return _files(items, f'{kind} "{source[field].get("name", "")}"')
    if items := inner(source, "downwardAPI", "items"):
        return _files(items, "DownwardAPI")
    if (token := source.get("serviceAccountToken")) is not None:
        return _files((token,), "ServiceAccountToken")
    if (bundle := source.get("clusterTrustBundle")) is not None:
        name = bundle["name"] if bundle.get("name") is not None else bundle.get("signerName", "")
        return _files((bundle,), f'ClusterTrustBundle "{name}"')
    certificate = source.get("podCertificate") or {}
    parts = (
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    )
    return [_File(certificate[field].rstrip("/"), shown) for field, shown in parts if certificate.get(field)]


def _overlaps(files: Iterable[_File]) -> Iterator[str]:
    earlier: list[_File] = []
    for file in files:
        for other in earlier:
            if file.path and other.path and _overlap(file.path, other.path):
                yield f"{file.shown} with {other.shown}"
        earlier.append(file)


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
