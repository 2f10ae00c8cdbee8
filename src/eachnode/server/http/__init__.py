"""The HTTP side of the server: connections, who asks, what may be asked, and what it looks like."""
