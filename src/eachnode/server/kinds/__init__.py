"""The kinds that are served, a file each."""
