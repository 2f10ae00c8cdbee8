"""What `why` and `plan` look at, and how they say it."""
