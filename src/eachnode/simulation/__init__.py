"""A world from one seed: the server and all loops on virtual time, with faults and invariants."""
