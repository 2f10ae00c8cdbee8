"""What the API fills in for a pod or a pod template when the user did not say.

Few things are filled in for real pods only (requests from limits, service links, host ports): a template that holds
them would differ from the one its author wrote, and so would revisions recorded from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from eachnode.objects.quantities import canonical, milli, nano
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.parts import HOOKS, PROBES, containers_of

_NANO_PER_MILLI = 1_000_000
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_MODE = 0o644

_ALPHANUMERIC = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_DOMAIN_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_IMAGE = re.compile(
    rf"(?:{_DOMAIN}/)?{_ALPHANUMERIC}(?:/{_ALPHANUMERIC})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_HASH_NAME = re.compile(r"[0-9a-f]{64}")


def default_pod(tree: Tree) -> None:
    """Fills in a pod, the status' addresses included."""
    spec = tree.setdefault("spec", {})
    default_pod_spec(spec)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        _request_what_is_limited(container)
        if spec.get("hostNetwork"):
            for port in container.get("ports", ()):
                if port.get("containerPort"):
                    port.setdefault("hostPort", port["containerPort"])
    spec.setdefault("enableServiceLinks", True)
    _default_addresses(tree.setdefault("status", {}))


def default_template(template: Tree) -> None:
    """Fills in a pod template."""
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Tree) -> None:
    """Fills in what pods and templates have in common."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    for volume in spec.get("volumes", ()):
        _default_volume(volume)
    for container in containers_of(spec):
        _default_container(container)
    round_up(spec.get("overhead"))
    for part in ("limits", "requests"):
        round_up((spec.get("resources") or {}).get(part))


def pull_policy(image: str) -> str:
    """Images that may change under their name are pulled each time; a text that is no image name counts as fixed."""
    parsed = _IMAGE.fullmatch(image)
    if parsed is None or _HASH_NAME.fullmatch(image) or not _good_digest(parsed["digest"]):
        return "IfNotPresent"
    tag = parsed["tag"] or ("" if parsed["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _good_digest(digest: str | None) -> bool:
    if digest is None:
        return True
    algorithm, _, text = digest.partition(":")
    return _DIGEST_LENGTHS.get(algorithm) == len(text) and text == text.lower()


def round_up(amounts: dict[str, str] | None) -> None:
    """Amounts are kept in thousandths; what is finer is rounded up."""
    if not amounts:
        return
    for name, amount in amounts.items():
        if nano(amount) % _NANO_PER_MILLI:
            amounts[name] = canonical(f"{milli(amount)}m")


def _default_container(container: Tree) -> None:
    container.setdefault("imagePullPolicy", pull_policy(container.get("image", "")))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    for part in ("limits", "requests"):
        round_up(resources.get(part))
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        source = variable.get("valueFrom") or {}
        _default_field_ref(source)
        if "fileKeyRef" in source:
            source["fileKeyRef"].setdefault("optional", False)
    for name in PROBES:
        if (probe := container.get(name)) is not None:
            _default_probe(probe)
    for hook in HOOKS:
        _default_action((container.get("lifecycle") or {}).get(hook) or {})


def _default_probe(probe: Tree) -> None:
    for field, value in _PROBE.items():
        if not probe.get(field):
            probe[field] = value
    _default_action(probe)
    if (grpc := probe.get("grpc")) is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_action(handler: Tree) -> None:
    if (request := handler.get("httpGet")) is not None:
        request.setdefault("path", "/")
        request.setdefault("scheme", "HTTP")


def _default_field_ref(source: Tree) -> None:
    if (field := source.get("fieldRef")) is not None:
        field.setdefault("apiVersion", "v1")


def _request_what_is_limited(container: Tree) -> None:
    resources = container.get("resources") or {}
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _default_addresses(status: Tree) -> None:
    """The single address and the list say the same; the single one is believed."""
    single, several = status.get("podIP"), status.get("podIPs")
    if single and (not several or several[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif several and not single and several[0].get("ip"):
        status["podIP"] = several[0]["ip"]


def _default_volume(volume: Tree) -> None:
    if not any(value is not None for key, value in volume.items() if key != "name"):
        volume["emptyDir"] = {}
    for source, default in _VOLUME_DEFAULTS.items():
        if (found := volume.get(source)) is not None:
            default(found)


def _with(**values: str | int | bool) -> Callable[[Tree], None]:
    def default(source: Tree) -> None:
        for field, value in values.items():
            source.setdefault(field, value)

    return default


def _default_image_volume(source: Tree) -> None:
    source.setdefault("pullPolicy", pull_policy(source.get("reference", "")))


def _default_downward_api(source: Tree) -> None:
    source.setdefault("defaultMode", _MODE)
    for item in source.get("items", ()):
        _default_field_ref(item)


def _default_projected(source: Tree) -> None:
    source.setdefault("defaultMode", _MODE)
    for part in source.get("sources") or ():
        for item in (part.get("downwardAPI") or {}).get("items", ()):
            _default_field_ref(item)
        if (token := part.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", 3600)


def _default_claim(source: Tree) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return
    claim = template.setdefault("spec", {})
    claim.setdefault("volumeMode", "Filesystem")
    for amounts in _amounts(claim.get("resources") or {}):
        round_up(amounts)


def _amounts(resources: Mapping[str, dict[str, str]]) -> Iterator[dict[str, str] | None]:
    yield resources.get("limits")
    yield resources.get("requests")


_VOLUME_DEFAULTS: dict[str, Callable[[Tree], None]] = {
    "hostPath": _with(type=""),
    "secret": _with(defaultMode=_MODE),
    "configMap": _with(defaultMode=_MODE),
    "downwardAPI": _default_downward_api,
    "projected": _default_projected,
    "image": _default_image_volume,
    "ephemeral": _default_claim,
    "iscsi": _with(iscsiInterface="default"),
    "rbd": _with(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "azureDisk": _with(cachingMode="ReadWrite", kind="Shared", fsType="ext4", readOnly=False),
    "scaleIO": _with(storageMode="ThinProvisioned", fsType="xfs"),
}
