"""The API's own way to say no: the Status object, and the exceptions that carry it.

ApiError                    any answer of an API server that is not a success
├── BadRequest              400
├── Unauthorized            401   who are you?
├── Forbidden               403   not you, or not now (quota, terminating namespace)
├── NotFound                404
├── MethodNotAllowed        405
├── NotAcceptable           406
├── Conflict                409   changed under your hands, or
│   └── AlreadyExists       409   there already
├── Gone                    410   the version asked for is too old: list again
├── TooLarge                413
├── UnsupportedMediaType    415
├── Invalid                 422   each wrong field with its reason
├── TooManyRequests         429   later; `retry_after` says when
├── InternalError           500
└── Unavailable             503, 504
Unreachable                 no answer came: it may or may not have been carried out
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec


class Cause(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One reason within a Status, usually one field that is wrong."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """What a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """The API's answer when it has no object to give."""

    code: int = 0
    reason: str = ""
    message: str = ""
    status: str = ""
    details: Details | None = None
    metadata: dict[str, str] = {}  # `continue`, with which an expired list may go on.

    def tree(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, **msgspec.to_builtins(self)}


class Unreachable(Exception):
    """No answer came; a write may or may not have been carried out."""


class ApiError(Exception):
    """An API server's answer that is not a success."""

    CODE: ClassVar[int] = 500
    REASON: ClassVar[str] = "InternalError"

    def __init__(
        self, message: str, *, code: int = 0, reason: str | None = None, details: Details | None = None
    ) -> None:
        super().__init__(message)
        self.code = code or self.CODE
        self.reason = self.REASON if reason is None else reason
        self.message = message
        self.details = details
        self.continues = ""  # With which an expired list may go on, though inconsistently.

    @property
    def status(self) -> Status:
        """The Status object that says this error."""
        metadata = {"continue": self.continues} if self.continues else {}
        return Status(
            code=self.code,
            reason=self.reason,
            message=self.message,
            status="Failure",
            details=self.details,
            metadata=metadata,
        )

    @property
    def retry_after(self) -> float | None:
        """Seconds the server asks us to wait, if it said so."""
        return float(self.details.retry_after_seconds) if self.details and self.details.retry_after_seconds else None

    def has_cause(self, reason: str) -> bool:
        """Whether one of the causes has this reason (`NamespaceTerminating`, say)."""
        return self.details is not None and any(cause.reason == reason for cause in self.details.causes)


class BadRequest(ApiError):
    """400"""

    CODE, REASON = 400, "BadRequest"


class Unauthorized(ApiError):
    """401"""

    CODE, REASON = 401, "Unauthorized"


class Forbidden(ApiError):
    """403"""

    CODE, REASON = 403, "Forbidden"


class NotFound(ApiError):
    """404"""

    CODE, REASON = 404, "NotFound"


class MethodNotAllowed(ApiError):
    """405"""

    CODE, REASON = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    """406"""

    CODE, REASON = 406, "NotAcceptable"


class Conflict(ApiError):
    """409: the object is not as the writer believed."""

    CODE, REASON = 409, "Conflict"


class AlreadyExists(Conflict):
    """409: an object of that name exists."""

    CODE, REASON = 409, "AlreadyExists"


class Gone(ApiError):
    """410: the version asked for is no longer kept."""

    CODE, REASON = 410, "Expired"


class TooLarge(ApiError):
    """413"""

    CODE, REASON = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """415"""

    CODE, REASON = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """422"""

    CODE, REASON = 422, "Invalid"


class TooManyRequests(ApiError):
    """429"""

    CODE, REASON = 429, "TooManyRequests"


class InternalError(ApiError):
    """500"""

    CODE, REASON = 500, "InternalError"


class Unavailable(ApiError):
    """503 or 504"""

    CODE, REASON = 503, "ServiceUnavailable"


_KINDS: tuple[type[ApiError], ...] = (
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    Conflict,
    Gone,
    TooLarge,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    InternalError,
    Unavailable,
)
_BY_CODE: dict[int, type[ApiError]] = {kind.CODE: kind for kind in _KINDS} | {504: Unavailable}


def error_from(status: Status) -> ApiError:
    """The exception that stands for a server's Status."""
    kind = AlreadyExists if status.reason == "AlreadyExists" else _BY_CODE.get(status.code, ApiError)
    error = kind(status.message, code=status.code, reason=status.reason, details=status.details)
    error.continues = status.metadata.get("continue", "")
    return error
