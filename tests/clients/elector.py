"""A program that wants to lead, by the official client's leader election; says `leads` once it does.

Run as `python elector.py KUBECONFIG NAMESPACE IDENTITY`. It goes on until it is killed.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

# The library has types, but not everywhere.
config: Any = importlib.import_module("kubernetes.config")
electionconfig: Any = importlib.import_module("kubernetes.leaderelection.electionconfig")
leaderelection: Any = importlib.import_module("kubernetes.leaderelection.leaderelection")
leaselock: Any = importlib.import_module("kubernetes.leaderelection.resourcelock.leaselock")


def main(kubeconfig: str, namespace: str, identity: str) -> None:
    """Stand for election."""
    config.load_kube_config(kubeconfig)

    def lead() -> None:
        sys.stdout.write("leads\n")
        sys.stdout.flush()
        threading.Event().wait()

    lock = leaselock.LeaseLock("leadership", namespace, identity)
    setting = electionconfig.Config(
        lock, lease_duration=4, renew_deadline=3, retry_period=1.01, onstarted_leading=lead, onstopped_leading=None
    )
    leaderelection.LeaderElection(setting).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
