"""The whole cluster in one process: the server and the loops put together."""
