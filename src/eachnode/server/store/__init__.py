"""The server's memory: all objects, their history, and SQLite behind them."""

from eachnode.server.store.changes import Change, Told
from eachnode.server.store.database import StoreError
from eachnode.server.store.history import Follower, HistoryLimits
from eachnode.server.store.selection import EVERYTHING, Selection
from eachnode.server.store.shelf import Reaction, Shelf
from eachnode.server.store.store import IN_MEMORY, Store
from eachnode.server.store.stored import Stored

__all__ = [
    "EVERYTHING",
    "IN_MEMORY",
    "Change",
    "Follower",
    "HistoryLimits",
    "Reaction",
    "Selection",
    "Shelf",
    "Store",
    "StoreError",
    "Stored",
    "Told",
]
