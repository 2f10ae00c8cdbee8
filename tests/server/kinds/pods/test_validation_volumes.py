"""What is wrong with volumes of every kind."""

from __future__ import annotations

from typing import Any

import pytest

from eachnode.server.kind import Tree
from eachnode.server.kinds.pods.kind import PODS_KIND
from tests.sentences import LABEL, SUBDOMAIN
from tests.server.kinds.judging import faults

from .pod_trees import spec_faults, spec_of, volume_faults

FORMAT = "must be valid format starting with iqn, eui, or naa"
MODE = "must be a number between 0 and 0777 (octal), both inclusive"
PAIRS = "must be a host:port pair or multiple pairs separated by commas"
EXTRA = "Forbidden: may not specify more than 1 volume type"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"emptyDir": {"sizeLimit": "-1"}},
            [("emptyDir.sizeLimit", "Forbidden: SizeLimit field must be a valid resource quantity")],
        ),
        ({"hostPath": {}}, [("hostPath.path", "Required value")]),
        (
            {"hostPath": {"path": "/a/../b", "type": "Pipe"}},
            [
                ("hostPath.path", "Invalid value: \"/a/../b\": must not contain '..'"),
                (
                    "hostPath.type",
                    'Unsupported value: "Pipe": supported values: "", "BlockDevice", "CharDevice", "Directory", '
                    '"DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
                ),
            ],
        ),
        (
            {"gitRepo": {"directory": "/up"}},
            [
                ("gitRepo.repository", "Required value"),
                ("gitRepo.directory", 'Invalid value: "/up": must be a relative path'),
            ],
        ),
        (
            {"gcePersistentDisk": {"partition": 256}},
            [
                ("persistentDisk.pdName", "Required value"),
                ("persistentDisk.partition", "Invalid value: 256: must be between 1 and 255, inclusive"),
            ],
        ),
        ({"awsElasticBlockStore": {}}, [("awsElasticBlockStore.volumeID", "Required value")]),
        (
            {"secret": {"defaultMode": 512, "items": [{"key": "", "path": "..x", "mode": -1}]}},
            [
                ("secret.secretName", "Required value"),
                ("secret.defaultMode", f"Invalid value: 512: {MODE}"),
                ("secret.items[0].key", "Required value"),
                ("secret.items[0].path", "Invalid value: \"..x\": must not start with '..'"),
                ("secret.items[0].mode", f"Invalid value: -1: {MODE}"),
            ],
        ),
        (
            {"configMap": {"items": [{"key": "k", "path": "../x"}]}},
            [
                ("configMap.name", "Required value"),
                ("configMap.items[0].path", "Invalid value: \"../x\": must not contain '..'"),
            ],
        ),
        (
            {"nfs": {"server": "s", "path": "x"}},
            [("nfs.path", 'Invalid value: "x": must be an absolute path')],
        ),
        (
            {"iscsi": {"targetPortal": "p", "iqn": "what", "lun": 256, "chapAuthSession": True}},
            [
                ("iscsi.iqn", f'Invalid value: "what": {FORMAT}'),
                ("iscsi.lun", "Invalid value: 256: must be between 0 and 255, inclusive"),
                ("iscsi.secretRef", "Required value"),
            ],
        ),
        (
            {
                "iscsi": {
                    "targetPortal": "p" * 70,
                    "iqn": "iqn.2001-04.com.example:x",
                    "initiatorName": "eui.1",
                    "lun": 1,
                }
            },
            [
                ("iscsi.initiatorname", 'Invalid value: "eui.1": must be valid format'),
                (
                    "name",
                    'Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 '
                    "characters if iscsi.initiatorName is specified.",
                ),
            ],
        ),
        ({"glusterfs": {}}, [("glusterfs.endpoints", "Required value"), ("glusterfs.path", "Required value")]),
        (
            {"flocker": {"datasetName": "a/b", "datasetUUID": "u"}},
            [
                (
                    "flocker",
                    'Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
                ),
                ("flocker.datasetName", "Invalid value: \"a/b\": must not contain '/'"),
            ],
        ),
        ({"flocker": {}}, [("flocker", "Required value: one of datasetName and datasetUUID is required")]),
        ({"persistentVolumeClaim": {}}, [("persistentVolumeClaim.claimName", "Required value")]),
        ({"rbd": {}}, [("rbd.monitors", "Required value"), ("rbd.image", "Required value")]),
        ({"cinder": {"volumeID": "x", "secretRef": {}}}, [("cinder.secretRef.name", "Required value")]),
        ({"cephfs": {}}, [("cephfs.monitors", "Required value")]),
        (
            {"quobyte": {"registry": "a:1,b", "volume": "v"}},
            [("quobyte.registry", f'Invalid value: "a:1,b": {PAIRS}')],
        ),
        ({"quobyte": {}}, [("quobyte.registry", f"Required value: {PAIRS}"), ("quobyte.volume", "Required value")]),
        (
            {"downwardAPI": {"items": [{"path": "p"}, {"path": "q", "fieldRef": {"fieldPath": "spec.nodeName"}}]}},
            [
                ("downwardAPI", "Required value: one of fieldRef and resourceFieldRef is required"),
                (
                    "downwardAPI.fieldRef.fieldPath",
                    'Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", '
                    '"metadata.name", "metadata.namespace", "metadata.uid"',
                ),
            ],
        ),
        (
            {"downwardAPI": {"items": [{"path": "p", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
            [("downwardAPI.resourceFieldRef.containerName", "Required value")],
        ),
        (
            {"fc": {"targetWWNs": ["a"], "wwids": ["b"]}},
            [
                (
                    "fc.targetWWNs",
                    'Invalid value: ["a"]: targetWWNs and wwids can not be specified simultaneously',
                ),
                ("fc.lun", "Required value: lun is required if targetWWNs is specified"),
            ],
        ),
        (
            {"flexVolume": {"driver": "d", "options": {"Storage.K8s.io/x": "1"}}},
            [
                (
                    "flexVolume.options[Storage.K8s.io/x]",
                    'Invalid value: "Storage.K8s.io/x": kubernetes.io and k8s.io namespaces are reserved',
                )
            ],
        ),
        ({"azureFile": {}}, [("azureFile.secretName", "Required value"), ("azureFile.shareName", "Required value")]),
        ({"vsphereVolume": {}}, [("vsphereVolume.volumePath", "Required value")]),
        ({"photonPersistentDisk": {}}, [("photonPersistentDisk.pdID", "Required value")]),
        ({"portworxVolume": {}}, [("portworxVolume.volumeID", "Required value")]),
        (
            {"azureDisk": {"diskName": "d", "diskURI": "x", "cachingMode": "Some"}},
            [
                (
                    "azureDisk.cachingMode",
                    'Unsupported value: "Some": supported values: "None", "ReadOnly", "ReadWrite"',
                ),
                (
                    "azureDisk.diskURI",
                    'Unsupported value: "x": supported values: '
                    '"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"',
                ),
            ],
        ),
        (
            {"scaleIO": {"secretRef": {}}},
            [
                ("scaleIO.gateway", "Required value"),
                ("scaleIO.system", "Required value"),
                ("scaleIO.volumeName", "Required value"),
            ],
        ),
        (
            {"storageos": {"volumeName": "A", "volumeNamespace": "B", "secretRef": {}}},
            [
                ("storageos.volumeName", f'Invalid value: "A": {LABEL}'),
                ("storageos.volumeNamespace", f'Invalid value: "B": {LABEL}'),
                ("storageos.secretRef.name", "Required value"),
            ],
        ),
        (
            {"csi": {"driver": "D_", "nodePublishSecretRef": {}}},
            [
                ("csi.driver", f'Invalid value: "D_": {SUBDOMAIN}'),
                ("csi.nodePublishSecretRef.name", "Required value"),
            ],
        ),
        ({"ephemeral": {}}, [("ephemeral.volumeClaimTemplate", "Required value")]),
        ({"image": {}}, [("image.reference", "Required value")]),
        (
            {"image": {"reference": "r:1", "pullPolicy": "Once"}},
            [("image.pullPolicy", 'Unsupported value: "Once": supported values: "Always", "IfNotPresent", "Never"')],
        ),
        ({"emptyDir": {}, "hostPath": {"path": "/x"}}, [("hostPath", EXTRA)]),
        ({"emptyDir": {}, "cephfs": {"monitors": ["m"]}}, [("cephFS", EXTRA)]),
        ({"emptyDir": {}, "downwardAPI": {}}, [("downwarAPI", EXTRA)]),
    ],
)
def test_volume_sources(source: Tree, expected: Any) -> None:
    assert volume_faults(**source) == expected


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (
            [
                {"secret": {"items": [{"key": "a", "path": "p"}]}},
                {"configMap": {"name": "m", "items": [{"key": "b", "path": "p"}]}},
            ],
            [
                ("projected.sources[0].secret.name", "Required value"),
                ("projected", 'Invalid value: "m": conflicting duplicate paths'),
            ],
        ),
        (
            [{"serviceAccountToken": {"path": "/t", "expirationSeconds": 60}}],
            [
                (
                    "projected.sources[0].serviceAccountToken.expirationSeconds",
                    "Invalid value: 60: may not specify a duration less than 10 minutes",
                ),
                ("projected.path", 'Invalid value: "/t": must be a relative path'),
            ],
        ),
        (
            [{"clusterTrustBundle": {"path": "p"}}],
            [
                (
                    "projected.sources[0].clusterTrustBundle",
                    "Required value: either name or signerName must be specified",
                )
            ],
        ),
        (
            [{"clusterTrustBundle": {"path": "p", "name": "a", "signerName": "b.c/d"}}],
            [
                (
                    "projected.sources[0].clusterTrustBundle",
                    'Invalid value: {"Name":"a","SignerName":"b.c/d","LabelSelector":null,"Optional":null,"Path":"p",'
                    '"User":null}: only one of name and signerName may be used',
                )
            ],
        ),
        (
            [{"podCertificate": {"signerName": "nodots/x", "keyType": "DSA", "maxExpirationSeconds": 60}}],
            [
                (
                    "projected.sources[0].podCertificate.signerName",
                    'Invalid value: "nodots": should be a domain with at least two segments separated by dots',
                ),
                (
                    "projected.sources[0].podCertificate.keyType",
                    'Unsupported value: "DSA": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", '
                    '"ECDSAP521", "ED25519"',
                ),
                (
                    "projected.sources[0].podCertificate.maxExpirationSeconds",
                    "Invalid value: 60: if provided, maxExpirationSeconds must be >= 3600",
                ),
                (
                    "projected.sources[0].podCertificate",
                    "Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
                ),
            ],
        ),
        (
            [{"secret": {"name": "s"}, "configMap": {"name": "m"}}],
            [("projected.sources[0]", "Forbidden: may not specify more than 1 volume type per source")],
        ),
    ],
)
def test_projected_sources(sources: Any, expected: Any) -> None:
    found = faults(
        PODS_KIND, spec=spec_of(serviceAccountName="s", volumes=[{"name": "v", "projected": {"sources": sources}}])
    )
    assert [(path.removeprefix("spec.volumes[0]."), message) for path, message in found] == expected


def test_tokens_need_a_service_account() -> None:
    volume = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    assert spec_faults(volumes=[volume]) == [
        (
            "volumes[0].projected.sources[0].serviceAccountToken",
            "Forbidden: must not be specified when serviceAccountName is not set",
        )
    ]


def test_volumes_are_told_apart_by_name() -> None:
    assert spec_faults(volumes=[{"name": "v"}, {"name": "v"}, {"name": ""}, {"name": "B"}]) == [
        ("volumes[1].name", 'Duplicate value: "v"'),
        ("volumes[2].name", "Required value"),
        ("volumes[3].name", f'Invalid value: "B": {LABEL}'),
    ]


def test_the_claim_of_an_ephemeral_volume_is_judged_and_named_for_the_pod() -> None:
    template = {
        "metadata": {"name": "x"},
        "spec": {"accessModes": ["Some"], "resources": {"requests": {"storage": "0"}}},
    }
    volumes = [
        {"name": "v", "ephemeral": {"volumeClaimTemplate": template}},
        {"name": "w", "persistentVolumeClaim": {"claimName": "x-v"}},
    ]
    modes = '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
    path = "volumes[0].ephemeral.volumeClaimTemplate"
    assert spec_faults(volumes=volumes) == [
        (f"{path}.metadata.name", "Forbidden: cannot be set"),
        (f"{path}.spec.accessModes", f'Unsupported value: "Some": supported values: {modes}'),
        (f"{path}.spec.resources[storage]", 'Invalid value: "0": must be greater than zero'),
        (
            "volumes[1].persistentVolumeClaim.claimName",
            'Invalid value: "x-v": must not reference a PVC that gets created for an ephemeral volume',
        ),
    ]
