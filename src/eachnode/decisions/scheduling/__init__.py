"""Where pods go: which nodes would do, which is best, why none does, and whom to move out of the way.

    landscape   the cluster as decisions see it: rooms (a node and the account of what is on it), kept up to date
    rules       the questions every placement must answer, a file each, in kube-scheduler's order and words
    placement   the node for a pod, or a diagnosis
    scoring     which of the nodes that would do is best
    preemption  the smallest sacrifice that makes room
    explain     every objection of every node, with facts

A pod that is pinned to a node costs one node's check, whatever the cluster's size.
"""

from eachnode.decisions.scheduling.diagnosis import Diagnosis
from eachnode.decisions.scheduling.explain import Answer, Objection, explain, survey
from eachnode.decisions.scheduling.landscape import Landscape
from eachnode.decisions.scheduling.placement import Placement, place
from eachnode.decisions.scheduling.preemption import NoSacrifice, Sacrifice, preempt
from eachnode.decisions.scheduling.refusals import Change, Fact, Holder, Refusal

__all__ = [
    "Answer",
    "Change",
    "Diagnosis",
    "Fact",
    "Holder",
    "Landscape",
    "NoSacrifice",
    "Objection",
    "Placement",
    "Refusal",
    "Sacrifice",
    "explain",
    "place",
    "preempt",
    "survey",
]
