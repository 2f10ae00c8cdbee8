"""How any loop runs: informers, queues, events, leader election. Nothing here knows what a DaemonSet is."""
