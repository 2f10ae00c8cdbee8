"""A DaemonSet, decoded in two steps: its metadata at once, its spec when somebody decides upon it.

So that one DaemonSet whose spec cannot be read is a problem of that DaemonSet alone. The template stays as it came:
pods and revisions are made from its bytes, and only what decides placement is read from it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from eachnode.objects.affinity import NodeAffinity
from eachnode.objects.document import decoder_for
from eachnode.objects.meta import Metadata, OwnerReference
from eachnode.objects.resources import DAEMON_SETS
from eachnode.objects.selectors import LabelSelector
from eachnode.objects.taints import Toleration

GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
ROLLING_UPDATE = "RollingUpdate"
ON_DELETE = "OnDelete"


class RollingUpdate(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How fast an update may go; numbers, or percentages of the nodes that should run a pod."""

    max_unavailable: int | str | None = None
    max_surge: int | str | None = None


class UpdateStrategy(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How pods come to follow a changed template."""

    type: str = ROLLING_UPDATE
    rolling_update: RollingUpdate | None = None


class TemplateMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What pods inherit of the template's metadata."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None


class TemplateAffinity(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The part of the template's affinity that decides placement."""

    node_affinity: NodeAffinity | None = None


class TemplateSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The part of the template's spec that decides placement."""

    node_name: str = ""
    node_selector: dict[str, str] | None = None
    affinity: TemplateAffinity | None = None
    tolerations: tuple[Toleration, ...] | None = None
    host_network: bool = False


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The template, as far as decisions read it."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: TemplateSpec = TemplateSpec()


class DaemonSetSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What is wanted."""

    selector: LabelSelector | None = None
    template: msgspec.Raw = msgspec.Raw(b"{}")
    update_strategy: UpdateStrategy = UpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None


class Counts(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """The counters of the status."""

    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0


class DaemonSetStatus(Counts, frozen=True, rename="camel", kw_only=True):
    """What was last reported."""

    observed_generation: int = 0
    collision_count: int | None = None

    @property
    def counts(self) -> Counts:
        """Its counters alone."""
        return Counts(**{name: getattr(self, name) for name in Counts.__struct_fields__})


class DaemonSet(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A DaemonSet; reading a malformed `spec`, `template` or `status` raises `msgspec.ValidationError`."""

    metadata: Metadata
    spec_text: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="spec")
    status_text: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="status")

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def uid(self) -> str:
        """Which DaemonSet it is, whatever its name."""
        return self.metadata.uid

    @cached_property
    def spec(self) -> DaemonSetSpec:
        """What is wanted."""
        return decoder_for(DaemonSetSpec).decode(self.spec_text)

    @cached_property
    def status(self) -> DaemonSetStatus:
        """What was last reported."""
        return decoder_for(DaemonSetStatus).decode(self.status_text)

    @cached_property
    def template(self) -> PodTemplate:
        """The template, as far as decisions read it."""
        return decoder_for(PodTemplate).decode(self.spec.template)

    @cached_property
    def template_tree(self) -> dict[str, Any]:
        """The whole template; not to be changed in place."""
        return decoder_for(dict[str, Any]).decode(self.spec.template)

    @property
    def template_generation(self) -> str | None:
        """What pods of this template generation are labelled with; None when the annotation is absent or no number."""
        text = (self.metadata.annotations or {}).get(GENERATION_ANNOTATION, "")
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdigit()):
            return None
        number = int(text)
        return str(number) if -(2**63) <= number < 2**63 else None

    @property
    def is_going(self) -> bool:
        """Whether its deletion has begun."""
        return self.metadata.deletion_timestamp is not None

    @property
    def owner_reference(self) -> OwnerReference:
        """What its pods and revisions carry."""
        return OwnerReference(
            api_version=DAEMON_SETS.api_version,
            kind=DAEMON_SETS.kind,
            name=self.name,
            uid=self.uid,
            controller=True,
            block_owner_deletion=True,
        )
