"""Several failures as one, so that a pass that wrote many things reports all of what went wrong."""

from __future__ import annotations

from collections.abc import Sequence

from eachnode.objects.status import ApiError, Unreachable

Failure = ApiError | Unreachable


def combined(failures: Sequence[Failure]) -> Failure:
    """One error that says what all of them say."""
    if len(failures) == 1:
        return failures[0]
    sentences = list(dict.fromkeys(str(failure) for failure in failures))
    first = next((failure for failure in failures if isinstance(failure, ApiError)), None)
    text = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    if first is None:
        return Unreachable(text)
    return ApiError(text, code=first.code, reason=first.reason, details=first.details)
