"""The HTTP side of the server: connections, who asks, what may be asked, and what it looks like."""

from eachnode.server.http.certificates import Certificates
from eachnode.server.http.connections import Patience
from eachnode.server.http.front import Front, HttpOptions
from eachnode.server.http.kubeconfig import write_kubeconfig

__all__ = ["Certificates", "Front", "HttpOptions", "Patience", "write_kubeconfig"]
