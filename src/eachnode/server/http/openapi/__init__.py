"""What is served, described in OpenAPI, so that clients can check, explain and patch objects they know nothing of."""

from eachnode.server.http.openapi.documents import OpenApi

__all__ = ["OpenApi"]
