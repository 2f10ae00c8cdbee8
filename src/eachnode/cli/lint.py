"""`eachnode lint`: mistakes people make with DaemonSets, found in their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eachnode.cli.failures import FAILED, Failure
from eachnode.cli.printing import output_option

if TYPE_CHECKING:
    from eachnode.cli.manifests import Manifest
    from eachnode.decisions.lint import Finding


@click.command("lint", short_help="Mistakes people make with DaemonSets.")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE…")
@output_option("json", "yaml")
def command(files: tuple[Path, ...], output: str | None) -> int:
    """Look for mistakes in the DaemonSets of these files (`-` is standard input); no cluster is asked.

    Each is told with its reason and what to write instead. It ends with 1 when something does not work (an error),
    with 0 otherwise.

    \b
    eachnode lint fluentd.yaml
    kubectl get ds -A -o yaml | eachnode lint -
    """
    from eachnode.cli.printing import colourful

    text, code = answer(files, output=output, colour=colourful())
    click.echo(text)
    return code


def answer(files: Sequence[Path], *, output: str | None = None, colour: bool = False) -> tuple[str, int]:
    """What is printed, and how the command ends."""
    from eachnode.cli.apply import files_of
    from eachnode.cli.manifests import read_manifests
    from eachnode.cli.printing import structured
    from eachnode.decisions.lint import Severity

    manifests = [manifest for manifest in read_manifests(list(files_of(files))) if manifest.kind == "DaemonSet"]
    if not manifests:
        raise Failure(f"there is no DaemonSet in {', '.join(map(str, files))}")
    found = [(manifest, _findings(manifest.tree)) for manifest in manifests]
    fails = any(finding.severity is Severity.ERROR for _, findings in found for finding in findings)
    code = FAILED if fails else 0
    if output is not None:
        return structured([_value(manifest, findings) for manifest, findings in found], output), code
    return "\n".join(_lines(found, colour)), code


def _findings(tree: dict[str, Any]) -> list[Finding]:
    """Errors first: those of which we know why people make them, then whatever else a server would refuse."""
    from eachnode.cli.server_rules import beyond
    from eachnode.decisions.lint import Severity, lint

    found = lint(tree)
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    return [*errors, *beyond(tree, found), *found[len(errors) :]]


def _value(manifest: Manifest, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "file": manifest.origin,
        "daemonSet": manifest.name,
        "findings": [
            {
                "rule": finding.rule,
                "severity": str(finding.severity),
                "path": finding.path,
                "because": finding.because,
                "fix": finding.fix,
            }
            for finding in findings
        ],
    }


def _lines(found: Sequence[tuple[Manifest, Sequence[Finding]]], colour: bool) -> Iterator[str]:
    for manifest, findings in found:
        yield f"{manifest.origin}: daemonset {manifest.name}: {_counted(findings)}"
        for finding in findings:
            severity = str(finding.severity)
            painted = click.style(severity, fg="red" if severity == "error" else "yellow") if colour else severity
            yield f"  {painted}: {finding.path}: {finding.because} [{finding.rule}]"
            yield f"    → {finding.fix}"


def _counted(findings: Sequence[Finding]) -> str:
    errors = sum(finding.severity == "error" for finding in findings)
    others = len(findings) - errors
    parts = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((errors, "error"), (others, "warning"))
        if count
    ]
    return ", ".join(parts) or "nothing found"
