"""What can be done with objects, the same for all kinds: one file for each verb."""
