"""Volumes: exactly one source each, and what every kind of source demands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eachnode.objects import formats
from eachnode.objects.quantities import nano
from eachnode.server.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.kinds.pods.validation.claims import validate_claim_template
from eachnode.server.kinds.pods.validation.fields import PodContext, must_have
from eachnode.server.kinds.pods.validation.projections import (
    validate_downward_file,
    validate_key_to_path,
    validate_projected,
)

HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PARTITION = formats.between(1, 255)
_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([0-9A-Za-z.-]+)(:[^,;*&$|\s]+)$", re.ASCII).search,
    "eui": re.compile(r"eui.[0-9A-Za-z]{16}", re.ASCII).fullmatch,
    "naa": re.compile(r"naa.[0-9A-Za-z]{32}", re.ASCII).fullmatch,
}
_HOST_AND_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
_MANAGED_DISK = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"

Errors = Iterator[FieldError]


def validate_volumes(path: str, pod: PodContext) -> tuple[dict[str, Tree], list[FieldError]]:
    """(the sound volumes by name, what is wrong with the others)."""
    sound: dict[str, Tree] = {}
    errors: list[FieldError] = []
    volumes = pod.spec.get("volumes") or ()
    made = {f"{pod.name}-{volume.get('name', '')}" for volume in volumes if pod.name and volume.get("ephemeral")}
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        name = volume.get("name", "")
        found = [*_validate_source(volume, place, name, pod), *fields.name_or_required(f"{place}.name", name)]
        if name in sound:
            found.append(duplicate(f"{place}.name", name))
        if found:
            errors += found
        else:
            sound[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim in made:
            sentence = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{place}.persistentVolumeClaim.claimName", claim, sentence))
    return sound, errors


@dataclass(frozen=True, slots=True)
class _Source:
    """One kind of volume: its field, and the paths the reference uses when they are not simply that."""

    field: str
    validate: Callable[[Tree, str, PodContext], Errors]
    path: str = ""
    path_when_extra: str = ""


def _validate_source(volume: Tree, path: str, name: str, pod: PodContext) -> Errors:
    seen = False
    for source in _SOURCES:
        tree = volume.get(source.field)
        if tree is None:
            continue
        if seen:
            extra = source.path_when_extra or source.field
            yield forbidden(f"{path}.{extra}", "may not specify more than 1 volume type")
        else:
            seen = True
            yield from source.validate(tree, f"{path}.{source.path or source.field}", pod)
            if source.field == "ephemeral":
                yield from _claim_name(path, name, pod)
        if source.field == "iscsi":
            yield from _initiator_length(tree, path, name)
    if not seen:
        yield required(path, "must specify a volume type")


def _claim_name(path: str, name: str, pod: PodContext) -> Errors:
    if pod.name and name:
        claim = f"{pod.name}-{name}"
        for problem in formats.dns_subdomain(claim):
            yield invalid(f"{path}.name", name, f'PVC name "{claim}": {problem}')


def _initiator_length(tree: Tree, path: str, name: str) -> Errors:
    if tree.get("initiatorName") is not None and len(f"{name}:{tree.get('targetPortal', '')}".encode()) > 64:
        sentence = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        yield invalid(f"{path}.name", name, sentence)


def _needs(*names: str) -> Callable[[Tree, str, PodContext], Errors]:
    def validate(tree: Tree, path: str, _pod: PodContext) -> Errors:
        return must_have(tree, path, *names)

    return validate


def _empty_dir(tree: Tree, path: str, _pod: PodContext) -> Errors:
    limit = tree.get("sizeLimit")
    if limit is not None and nano(limit) < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(tree: Tree, path: str, _pod: PodContext) -> Errors:
    if not tree.get("path"):
        yield required(f"{path}.path")
        return
    yield from fields.no_backsteps(f"{path}.path", tree["path"])
    yield from fields.one_of(f"{path}.type", tree.get("type"), HOST_PATH_TYPES)


def _git_repo(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "repository")
    yield from fields.descending(f"{path}.directory", tree.get("directory", ""))


def _gce_disk(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "pdName")
    yield from _partition(tree, path)


def _aws_disk(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "volumeID")
    yield from _partition(tree, path)


def _partition(tree: Tree, path: str) -> Errors:
    if not 0 <= tree.get("partition", 0) <= 255:
        yield invalid(f"{path}.partition", tree["partition"], _PARTITION)


def _secret(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "secretName")
    yield from _files(tree, path)


def _config_map(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "name")
    yield from _files(tree, path)


def _files(tree: Tree, path: str) -> Errors:
    yield from fields.file_mode(f"{path}.defaultMode", tree.get("defaultMode"))
    for item, place in fields.each(tree, "items", path):
        yield from validate_key_to_path(item, place)


def _nfs(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "server", "path")
    if not tree.get("path", "").startswith("/"):
        yield invalid(f"{path}.path", tree.get("path", ""), "must be an absolute path")


def _iscsi(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "targetPortal", "iqn")
    if name := tree.get("iqn"):
        yield from _initiator(f"{path}.iqn", name)
    if not 0 <= tree.get("lun", 0) <= 255:
        yield invalid(f"{path}.lun", tree["lun"], formats.between(0, 255))
    if (tree.get("chapAuthDiscovery") or tree.get("chapAuthSession")) and tree.get("secretRef") is None:
        yield required(f"{path}.secretRef")
    if (name := tree.get("initiatorName")) is not None:
        yield from _initiator(f"{path}.initiatorname", name)


def _initiator(path: str, name: str) -> Errors:
    matches = _INITIATORS.get(name[:3])
    if matches is None:
        yield invalid(path, name, "must be valid format starting with iqn, eui, or naa")
    elif not matches(name):
        yield invalid(path, name, "must be valid format")


def _flocker(tree: Tree, path: str, _pod: PodContext) -> Errors:
    name, uuid = tree.get("datasetName", ""), tree.get("datasetUUID", "")
    if not name and not uuid:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(f"{path}.datasetName", name, "must not contain '/'")


def _cinder(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "volumeID")
    yield from _secret_ref(tree, path)


def _secret_ref(tree: Tree, path: str) -> Errors:
    if (secret := tree.get("secretRef")) is not None:
        yield from must_have(secret, f"{path}.secretRef", "name")


def _quobyte(tree: Tree, path: str, _pod: PodContext) -> Errors:
    pairs = "must be a host:port pair or multiple pairs separated by commas"
    registry = tree.get("registry", "")
    if not registry:
        yield required(f"{path}.registry", pairs)
    elif len(tree.get("tenant", "").encode()) >= 65:
        yield required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not _HOST_AND_PORT.fullmatch(pair):
                yield invalid(f"{path}.registry", registry, pairs)
    yield from must_have(tree, path, "volume")


def _downward_api(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from fields.file_mode(f"{path}.defaultMode", tree.get("defaultMode"))
    for item in tree.get("items") or ():
        yield from validate_downward_file(item, path)


def _fibre_channel(tree: Tree, path: str, _pod: PodContext) -> Errors:
    names, ids, lun = tree.get("targetWWNs"), tree.get("wwids"), tree.get("lun")
    if not names and not ids:
        yield required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if names and ids:
        yield invalid(f"{path}.targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously")
    if names and lun is None:
        yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif names and lun is not None and not 0 <= lun <= 255:
        yield invalid(f"{path}.lun", lun, formats.between(0, 255))


def _flex_volume(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "driver")
    for key in sorted(tree.get("options") or ()):
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(f"{path}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved")


def _azure_disk(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from must_have(tree, path, "diskName", "diskURI")
    yield from fields.one_of(f"{path}.cachingMode", tree.get("cachingMode"), ("None", "ReadOnly", "ReadWrite"))
    kind, uri = tree.get("kind"), tree.get("diskURI", "")
    yield from fields.one_of(f"{path}.kind", kind, ("Dedicated", "Managed", "Shared"))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield not_supported(f"{path}.diskURI", uri, (_MANAGED_DISK,))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        yield not_supported(f"{path}.diskURI", uri, (_BLOB_DISK,))


def _storage_os(tree: Tree, path: str, _pod: PodContext) -> Errors:
    yield from fields.name_or_required(f"{path}.volumeName", tree.get("volumeName"))
    if namespace := tree.get("volumeNamespace"):
        yield from fields.dns_label(f"{path}.volumeNamespace", namespace)
    yield from _secret_ref(tree, path)


def _csi(tree: Tree, path: str, _pod: PodContext) -> Errors:
    driver = tree.get("driver", "")
    if not driver:
        yield required(f"{path}.driver")
    else:
        if len(driver.encode()) > 63:
            yield too_long(f"{path}.driver", 63)
        yield from fields.wrong(f"{path}.driver", driver, formats.dns_subdomain(driver.lower()))
    if (secret := tree.get("nodePublishSecretRef")) is not None:
        if name := secret.get("name"):
            yield from fields.dns_subdomain(f"{path}.name", name)
        else:
            yield required(f"{path}.nodePublishSecretRef.name")


def _ephemeral(tree: Tree, path: str, _pod: PodContext) -> Errors:
    template = tree.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.volumeClaimTemplate")
    else:
        yield from validate_claim_template(template, f"{path}.volumeClaimTemplate")


def _image(tree: Tree, path: str, pod: PodContext) -> Errors:
    if not pod.lenient.empty_image_reference:
        yield from must_have(tree, path, "reference")
    policies = ("Always", "IfNotPresent", "Never")
    yield from fields.required_one_of(f"{path}.pullPolicy", tree.get("pullPolicy"), policies)


# In the order in which the reference looks at them: of several sources the first counts.
_SOURCES = (
    _Source("emptyDir", _empty_dir),
    _Source("hostPath", _host_path),
    _Source("gitRepo", _git_repo),
    _Source("gcePersistentDisk", _gce_disk, path="persistentDisk"),
    _Source("awsElasticBlockStore", _aws_disk),
    _Source("secret", _secret),
    _Source("nfs", _nfs),
    _Source("iscsi", _iscsi),
    _Source("glusterfs", _needs("endpoints", "path")),
    _Source("flocker", _flocker),
    _Source("persistentVolumeClaim", _needs("claimName")),
    _Source("rbd", _needs("monitors", "image")),
    _Source("cinder", _cinder),
    _Source("cephfs", _needs("monitors"), path_when_extra="cephFS"),
    _Source("quobyte", _quobyte),
    _Source("downwardAPI", _downward_api, path_when_extra="downwarAPI"),
    _Source("fc", _fibre_channel),
    _Source("flexVolume", _flex_volume),
    _Source("configMap", _config_map),
    _Source("azureFile", _needs("secretName", "shareName")),
    _Source("vsphereVolume", _needs("volumePath")),
    _Source("photonPersistentDisk", _needs("pdID")),
    _Source("portworxVolume", _needs("volumeID")),
    _Source("azureDisk", _azure_disk),
    _Source("storageos", _storage_os),
    _Source("projected", validate_projected),
    _Source("scaleIO", _needs("gateway", "system", "volumeName")),
    _Source("csi", _csi),
    _Source("ephemeral", _ephemeral),
    _Source("image", _image),
)
