"""What an unsuccessful HTTP answer means, and whether the same request may be sent again."""

from __future__ import annotations

import msgspec

from eachnode.objects.status import ApiError, Details, Status, TooManyRequests, error_from

REPEATABLE = frozenset({"GET", "PUT", "DELETE"})


class _StatusBody(Status, frozen=True, kw_only=True):
    kind: str = ""


_STATUS = msgspec.json.Decoder(_StatusBody)


def wait_asked_for(error: ApiError, method: str) -> float | None:
    """Seconds after which the same request may be sent again; None when it must not be."""
    safe = isinstance(error, TooManyRequests) or (error.code == 503 and method in REPEATABLE)
    return error.retry_after if safe else None


def error_in(code: int, raw: bytes, path: str, retry_after: str = "") -> ApiError:
    """The error in a body that is a Status, or that is whatever a proxy had to say."""
    try:
        status = _STATUS.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        status = _StatusBody()
    if status.kind == "Status":
        error = error_from(msgspec.structs.replace(status, code=status.code or code))
    else:
        error = _foreign_error(code, raw, path)
    if retry_after.isdecimal() and error.retry_after is None:
        error.details = msgspec.structs.replace(error.details or Details(), retry_after_seconds=int(retry_after))
    return error


def _foreign_error(code: int, raw: bytes, path: str) -> ApiError:
    said = " ".join(raw[:300].decode(errors="replace").split())
    error = error_from(Status(code=code, message=f"{path}: the server answered {code}{': ' if said else ''}{said}"))
    error.reason = error.REASON
    return error
