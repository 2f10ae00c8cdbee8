"""What to do: pure functions from values to values.

No clock, no chance, no await, no I/O: time and everything else a rule needs is an argument. The controller acts on a
decision, `plan` prints it, `why` prints one node's part of it, and the simulation checks it.
"""
