"""Errors that are told to people as they are."""

from __future__ import annotations


class Explained(Exception):
    """Something cannot be done, and the message says why; one that is a ValueError too was asked for wrongly."""
