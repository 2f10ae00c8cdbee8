"""A small Kubernetes API server: requests in, answers and watch events out. Knows `objects` only."""
