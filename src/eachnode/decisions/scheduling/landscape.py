"""The landscape: all rooms of the cluster, and the few indices that keep a decision from walking through all of them.

It is brought up to date change by change. Placing a pod is entered here when it is decided, not when the API confirms
it, so that the next decision counts with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eachnode.decisions.scheduling.rooms import Room
from eachnode.objects.workload import WorkloadNode, WorkloadPod

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


class Landscape:
    """Nodes with what is on them, promises of room, and the labels of namespaces."""

    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {}  # of the nodes there are
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self._nodeless: dict[str, Room] = {}  # of pods whose node is not known (yet, or any more)
        self._where: dict[str, str] = {}  # node by pod uid
        self._hostile: dict[str, None] = {}  # nodes with pods that refuse certain neighbours
        self._hostnames: dict[str, dict[str, None]] = {}  # nodes by their hostname label
        self._nominated: dict[str, dict[str, WorkloadPod]] = {}  # pods by the node that is being cleared for them
        self._nominations: dict[str, str] = {}  # that node by pod uid
        self._order: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.rooms)

    # Nodes

    def set_node(self, node: WorkloadNode) -> None:
        """Take in a node, new or changed."""
        name = node.metadata.name
        room = self.rooms.get(name)
        if room is None:
            room = self.rooms[name] = self._nodeless.pop(name) if name in self._nodeless else Room(name)
            self._order = None
            self._note_hostile(room)
        else:
            self._unlist(room)
            if room.labels.get(ZONE) != (node.metadata.labels or {}).get(ZONE):
                self._order = None
        room.node = node
        hostname = room.labels.get(HOSTNAME)
        if hostname is not None:
            self._hostnames.setdefault(hostname, {})[name] = None

    def remove_node(self, name: str) -> None:
        """Forget a node; pods that name it are kept in case that it comes back before they go."""
        room = self.rooms.pop(name, None)
        if room is None:
            return
        self._unlist(room)
        self._order = None
        self._hostile.pop(name, None)
        room.node = None
        if room.tenants:
            self._nodeless[name] = room

    def _unlist(self, room: Room) -> None:
        hostname = room.labels.get(HOSTNAME)
        if hostname is not None:
            names = self._hostnames[hostname]
            del names[room.name]
            if not names:
                del self._hostnames[hostname]

    def with_hostname(self, hostname: str) -> tuple[str, ...]:
        """The nodes that carry this hostname label."""
        return tuple(sorted(self._hostnames.get(hostname, ())))

    # Pods

    def put(self, pod: WorkloadPod, node: str) -> None:
        """Enter a pod on a node, or its newer state."""
        uid = pod.metadata.uid
        where = self._where.get(uid)
        if where is not None:
            if where == node and self._room(where).tenants[uid].renewed(pod):
                return
            self.take(uid)
        if node not in self.rooms:
            self._nodeless.setdefault(node, Room(node))
        room = self._room(node)
        room.add(pod)
        self._where[uid] = node
        if uid in room.hostile:
            self._note_hostile(room)

    def take(self, uid: str) -> WorkloadPod | None:
        """Strike a pod off, wherever it is."""
        node = self._where.pop(uid, None)
        if node is None:
            return None
        room = self._room(node)
        pod = room.remove(uid)
        if not room.hostile:
            self._hostile.pop(node, None)
        if room.node is None and not room.tenants:
            del self._nodeless[node]
        return pod

    def node_of(self, uid: str) -> str | None:
        """Where a pod is, if it is anywhere."""
        return self._where.get(uid)

    def _room(self, node: str) -> Room:
        return self.rooms[node] if node in self.rooms else self._nodeless[node]

    def _note_hostile(self, room: Room) -> None:
        if room.hostile and room.name in self.rooms:
            self._hostile[room.name] = None

    @property
    def hostile_rooms(self) -> Iterator[Room]:
        """The rooms with pods that refuse certain neighbours."""
        return (self.rooms[name] for name in self._hostile)

    # Nominations: room that is being cleared for a pod by preemption

    def nominate(self, pod: WorkloadPod, node: str) -> None:
        """Remember for whom a node is being cleared; an empty name withdraws it."""
        uid = pod.metadata.uid
        former = self._nominations.pop(uid, None)
        if former is not None:
            waiting = self._nominated[former]
            del waiting[uid]
            if not waiting:
                del self._nominated[former]
        if node:
            self._nominations[uid] = node
            self._nominated.setdefault(node, {})[uid] = pod

    def nomination_of(self, pod: WorkloadPod) -> str:
        """The node that is being cleared for a pod, if any: what was decided last counts, noted on the pod or not."""
        return self._nominations.get(pod.metadata.uid, "")

    def nominated_for(self, node: str, besides: str, at_least: int) -> tuple[WorkloadPod, ...]:
        """The other pods of at least that priority for which a node is being cleared."""
        waiting = self._nominated.get(node)
        if not waiting:
            return ()
        return tuple(pod for uid, pod in waiting.items() if uid != besides and pod.priority >= at_least)

    def nominated_below(self, node: str, priority: int) -> tuple[WorkloadPod, ...]:
        """The pods of lower priority for which a node is being cleared."""
        return tuple(pod for pod in self._nominated.get(node, {}).values() if pod.priority < priority)

    # The whole

    @property
    def order(self) -> tuple[str, ...]:
        """The nodes' names, one of each zone in turn, so that any stretch of them covers the zones."""
        if self._order is None:
            self._order = _in_turn(self.rooms)
        return self._order

    def imagined(self, room: Room) -> Landscape:
        """The same landscape with one room as it might be; for asking, not for bringing up to date."""
        other = Landscape()
        other.rooms = {**self.rooms, room.name: room}
        other.namespaces = self.namespaces
        other._hostile = {**self._hostile, room.name: None} if room.hostile else self._hostile
        other._hostnames = self._hostnames
        other._nominated = self._nominated
        other._nominations = self._nominations
        other._order = self._order
        return other


def _in_turn(rooms: Mapping[str, Room]) -> tuple[str, ...]:
    zones: dict[str, list[str]] = {}
    for name in sorted(rooms):
        zones.setdefault(rooms[name].labels.get(ZONE, ""), []).append(name)
    queues = [zones[zone] for zone in sorted(zones)]
    if len(queues) == 1:
        return tuple(queues[0])
    longest = max(map(len, queues), default=0)
    return tuple(queue[place] for place in range(longest) for queue in queues if place < len(queue))
