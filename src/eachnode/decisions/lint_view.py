"""A DaemonSet as its author wrote it, as far as mistakes are looked for; everything may be absent."""

from __future__ import annotations

import msgspec

from eachnode.objects.affinity import NodeAffinity
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.taints import Toleration

Amount = int | str | float


class Port(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A port of a container, and the node's port that it takes, if any."""

    container_port: int = 0
    host_port: int | None = None


class Mount(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Where a container sees a volume."""

    name: str = ""
    mount_path: str = ""
    read_only: bool | None = None


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What a container asks for."""

    requests: dict[str, Amount] | None = None
    limits: dict[str, Amount] | None = None


class Container(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One container."""

    name: str = ""
    image: str | None = None
    ports: tuple[Port, ...] | None = None
    resources: Resources | None = None
    volume_mounts: tuple[Mount, ...] | None = None


class HostPath(msgspec.Struct, frozen=True, kw_only=True):
    """A path of the node."""

    path: str = ""
    type: str | None = None


class Volume(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A volume; only those of the node are looked at."""

    name: str = ""
    host_path: HostPath | None = None


class Affinity(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Which nodes the pods want."""

    node_affinity: NodeAffinity | None = None


class PodSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What the pods are to be."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    affinity: Affinity | None = None
    node_name: str | None = None
    host_network: bool | None = None
    dns_policy: str | None = None
    restart_policy: str | None = None
    priority_class_name: str | None = None
    active_deadline_seconds: int | None = None

    @property
    def all_containers(self) -> tuple[tuple[str, Container], ...]:
        """Every container with its path in the pod's spec."""
        lists = (("initContainers", self.init_containers), ("containers", self.containers))
        return tuple((f"{where}[{each.name}]", each) for where, found in lists for each in found or ())


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """Labels, and perhaps a name."""

    name: str = ""
    labels: dict[str, str] | None = None


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """What pods are made from."""

    metadata: Named | None = None
    spec: PodSpec | None = None


class Rolling(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How fast an update may go."""

    max_unavailable: int | str | None = None
    max_surge: int | str | None = None


class Strategy(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How pods come to follow a changed template."""

    type: str | None = None
    rolling_update: Rolling | None = None


class Spec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What is wanted."""

    selector: LabelSelector | None = None
    template: Template = Template()
    update_strategy: Strategy = Strategy()
    replicas: int | None = None  # Which DaemonSets do not have.


class Written(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A whole DaemonSet."""

    api_version: str = ""
    metadata: Named = Named()
    spec: Spec = Spec()

    @property
    def pod(self) -> PodSpec:
        """What the pods are to be."""
        return self.spec.template.spec or PodSpec()
