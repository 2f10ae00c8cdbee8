"""The loops: each observes through the door, calls a decision, carries it out; none imports another."""
