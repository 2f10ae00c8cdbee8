"""An eviction is a deletion that asks the pod's disruption budget first."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from eachnode.objects.deletion import DeleteOptions
from eachnode.objects.document import Document
from eachnode.objects.resources import POD_DISRUPTION_BUDGETS, PODS, Resource
from eachnode.objects.status import Conflict, Details, NotFound, Status
from eachnode.server.kind import Answer, Asked, Call, Hands, Subresource, Tree
from eachnode.server.kinds.pods.binding import answer_success
from eachnode.server.kinds.pods.conditions import is_true, set_condition
from eachnode.server.kinds.pods.disruption import Allowance, allowance, give_up, refusal_of, selects
from eachnode.server.request_options import delete_options
from eachnode.server.schema import decode_as, encode
from eachnode.server.verbs.refusals import refuse_other_subject

EVICTIONS = Resource("policy", "v1", "evictions", "Eviction")
_GOING = ("Succeeded", "Failed", "Pending")  # Nobody loses a pod in these phases.
_TOO_MANY_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def evict(hands: Hands, call: Call, asked: Asked) -> Answer:
    """POST pods/eviction."""
    eviction = decode_as("io.k8s.api.policy.v1.Eviction", EVICTIONS, asked.body, call, asked.media)
    refuse_other_subject(eviction, "Eviction", asked.namespace, asked.name)
    options = delete_options(eviction.get("deleteOptions") or {})
    call = _with_dry_run(call, options)
    pod = hands.get(PODS, asked.namespace, asked.name)
    if pod is None:
        raise NotFound(f'pods "{asked.name}" not found', details=Details(name=asked.name, kind="pods"))
    if not _may_go(pod):
        budgets = [item for item in hands.list(POD_DISRUPTION_BUDGETS, asked.namespace) if selects(item, pod)]
        if len(budgets) > 1:
            refusal = Status(status="Failure", message=_TOO_MANY_BUDGETS, code=500)
            return Answer(Document(encode(refusal.tree())), 500)
        for budget in budgets:
            _spend(hands, call, budget, pod)
    _delete(hands, call, asked, options)
    return answer_success()


def _with_dry_run(call: Call, options: DeleteOptions) -> Call:
    """The request and its body may both say that nothing is to be done; if they differ, which is meant?"""
    if not options.dry_run or call.dry_run:
        return call
    return replace(call, dry_run=True)


def _may_go(pod: Tree) -> bool:
    return "deletionTimestamp" in pod["metadata"] or (pod.get("status") or {}).get("phase") in _GOING


def _spend(hands: Hands, call: Call, budget: Tree, pod: Tree) -> None:
    """Takes one from the budget; raises the refusal when there is none. Pods that are not ready may cost nothing."""
    counts = allowance(budget, hands, call.now)
    if not is_true(pod.get("status") or {}, "Ready") and _is_free(budget, counts):
        return
    name = budget["metadata"]["name"]
    if (refusal := refusal_of(name, counts)) is not None:
        raise refusal
    if not call.dry_run:
        namespace, of_pod = budget["metadata"]["namespace"], pod["metadata"]["name"]
        hands.modify(
            call, POD_DISRUPTION_BUDGETS, namespace, name, lambda tree: give_up(tree, of_pod, counts, call.now)
        )


def _is_free(budget: Tree, counts: Allowance) -> bool:
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    return counts.healthy >= counts.desired > 0


def _delete(hands: Hands, call: Call, asked: Asked, options: DeleteOptions) -> None:
    def mark(tree: Tree) -> None:
        _check(tree, options)
        status = tree.setdefault("status", {})
        message = "Eviction API: evicting"
        set_condition(status, "DisruptionTarget", "True", call.now, reason="EvictionByEvictionAPI", message=message)

    if not call.dry_run:
        hands.modify(call, PODS, asked.namespace, asked.name, mark)
        if options.preconditions is not None:
            # The version was checked, and has just moved on by our own hand.
            options = msgspec.structs.replace(
                options, preconditions=msgspec.structs.replace(options.preconditions, resource_version=None)
            )
    hands.remove(call, PODS, asked.namespace, asked.name, options)


def _check(pod: Tree, options: DeleteOptions) -> None:
    """Raises Conflict when the pod is not the one that was meant."""
    metadata, wanted = pod["metadata"], options.preconditions
    if wanted is None:
        return
    checks = (
        ("UID", wanted.uid, metadata.get("uid"), "deleted and then recreated"),
        ("ResourceVersion", wanted.resource_version, metadata.get("resourceVersion"), "modified"),
    )
    for word, meant, there, happened in checks:
        if meant and meant != there:
            sentence = (
                f"the {word} in the precondition ({meant}) does not match the {word} in record ({there}). "
                f"The object might have been {happened}"
            )
            message = f'Operation cannot be fulfilled on Pod "{metadata["name"]}": {sentence}'
            raise Conflict(message, details=Details(name=metadata["name"], kind="Pod"))


EVICTION = Subresource(kind="Eviction", group="policy", version="v1", verbs=frozenset(("create",)), handle=evict)
