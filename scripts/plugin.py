"""Writes what krew installs the kubectl plugin by: dist/kubectl-eachnode.tar.gz and dist/eachnode.yaml."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import tarfile
from pathlib import Path

TOP = Path(__file__).parents[1]
ARCHIVE = "kubectl-eachnode.tar.gz"


def archive() -> bytes:
    """The archive; the same bytes whenever it is made."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for source, mode in ((TOP / "deploy/krew/kubectl-eachnode", 0o755), (TOP / "LICENSE", 0o644)):
            content = source.read_bytes()
            entry = tarfile.TarInfo(source.name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def manifest(address: str, packed: bytes) -> str:
    """The manifest that leads krew to this archive at this address."""
    text = (TOP / "deploy/krew/eachnode.yaml").read_text()
    return text.replace("{{URI}}", address).replace("{{SHA256}}", hashlib.sha256(packed).hexdigest())


def main(address: str = f"file:///{ARCHIVE}") -> None:
    """Write both files."""
    folder = TOP / "dist"
    folder.mkdir(exist_ok=True)
    packed = archive()
    (folder / ARCHIVE).write_bytes(packed)
    (folder / "eachnode.yaml").write_text(manifest(address, packed))
    print(f"{folder / ARCHIVE} and {folder / 'eachnode.yaml'} are written")


if __name__ == "__main__":
    main(*sys.argv[1:2])
