"""A binding puts a pod on a node, once."""

from __future__ import annotations

from collections.abc import Iterator

from eachnode.objects.document import Document
from eachnode.objects.resources import PODS, Resource
from eachnode.objects.status import ApiError, Conflict, Details, Status
from eachnode.server.field_errors import FieldError, not_supported, required
from eachnode.server.kind import Answer, Asked, Call, Hands, Subresource, Tree
from eachnode.server.kinds.pods.conditions import set_condition
from eachnode.server.kinds.pods.validation import fields
from eachnode.server.schema import decode_as, encode
from eachnode.server.verbs.refusals import refuse_other_subject

BINDINGS = Resource("", "v1", "bindings", "Binding")


def answer_success() -> Answer:
    """The Status of something that was done and has no object to show."""
    return Answer(Document(encode(Status(status="Success", code=201).tree())), 201)


def bind(hands: Hands, call: Call, asked: Asked) -> Answer:
    """POST pods/binding."""
    binding = decode_as("io.k8s.api.core.v1.Binding", BINDINGS, asked.body, call, asked.media)
    refuse_other_subject(binding, "Binding", asked.namespace, asked.name)
    if problems := [f"{error.field}: {error.message}" for error in _validate(binding)]:
        # The reference answers these as an error it did not expect, with no reason.
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise ApiError(text, code=500, reason="")
    hands.modify(call, PODS, asked.namespace, asked.name, lambda pod: _assign(pod, binding, call.now))
    return answer_success()


def _validate(binding: Tree) -> Iterator[FieldError]:
    target = binding.get("target") or {}
    kind, name = target.get("kind", ""), target.get("name", "")
    if kind not in ("", "Node"):
        yield not_supported("target.kind", kind, ("Node", "<empty>"))
    if not name:
        yield required("target.name")
    elif kind in ("", "Node"):
        yield from fields.dns_subdomain("target.name", name)


def _assign(pod: Tree, binding: Tree, now: float) -> None:
    metadata, spec = pod["metadata"], pod["spec"]
    about = binding.get("metadata") or {}
    _check_preconditions(metadata, about)
    name = metadata["name"]
    if "deletionTimestamp" in metadata:
        raise _conflict(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if node := spec.get("nodeName"):
        raise _conflict(name, f'pod {name} is already assigned to node "{node}"')
    if spec.get("schedulingGates"):
        raise _conflict(name, f"pod {name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = binding["target"]["name"]
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    for part in ("annotations", "labels"):
        if more := about.get(part):
            metadata[part] = {**(metadata.get(part) or {}), **more}
    set_condition(status, "PodScheduled", "True", now)


def _check_preconditions(metadata: Tree, about: Tree) -> None:
    """A binding may say which pod it means; the reference refuses another with the words of its store."""
    for field, word in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted = about.get(field)
        if wanted and wanted != metadata.get(field):
            key = f"/registry/pods/{metadata.get('namespace', '')}/{metadata['name']}"
            detail = f"{word} in precondition: {wanted}, {word} in object meta: {metadata.get(field, '')}"
            sentence = (
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: {detail}"
            )
            raise _conflict(metadata["name"], sentence, kind="pods")


def _conflict(name: str, sentence: str, kind: str = "pods/binding") -> Conflict:
    message = f'Operation cannot be fulfilled on {kind} "{name}": {sentence}'
    return Conflict(message, details=Details(name=name, kind=kind))


BINDING = Subresource(kind="Binding", verbs=frozenset(("create",)), handle=bind)
