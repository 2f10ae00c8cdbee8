"""What the containers of a pod ask for together, as texts that the API would print.

Init containers run one after another before the others, sidecars among them stay; so a pod needs the most that is ever
in use at one time.
"""

from __future__ import annotations

from eachnode.objects.quantities import Family, canonical, nano, parse
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import is_sidecar

Amounts = dict[str, str]


def sum_of_containers(spec: Tree, part: str) -> Amounts:
    """The `requests` or `limits` that are in use at most at one time."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _asked(container, part))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container, part)
        if is_sidecar(container):
            _add(total, asked)
            _add(sidecars, asked)
            _raise(starting, sidecars)
        else:
            meanwhile = dict(asked)
            _add(meanwhile, sidecars)
            _raise(starting, meanwhile)
    _raise(total, starting)
    return total


def _asked(container: Tree, part: str) -> Amounts:
    return dict((container.get("resources") or {}).get(part) or {})


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = _plus(total[name], amount) if name in total else amount


def _raise(total: Amounts, at_least: Amounts) -> None:
    for name, amount in at_least.items():
        if name not in total or nano(amount) > nano(total[name]):
            total[name] = amount


def _plus(one: str, other: str) -> str:
    """A sum keeps the family of suffixes of what was there first, unless that was nothing."""
    kept = one if nano(one) else other
    total = nano(one) + nano(other)
    if parse(kept.strip()).family is Family.BINARY and total % 1_000_000_000 == 0:
        return _binary(total // 1_000_000_000)
    return canonical(f"{total}n")


def _binary(amount: int) -> str:
    if amount < 1024:
        return canonical(str(amount))
    return str(amount) if amount % 1024 else canonical(f"{amount // 1024}Ki")
