"""Whether the server lives and is ready: `ok`, or which check fails; each check also has a page of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from eachnode.server.http.replies import NO_SNIFFING, Reply, text_reply

PAGES = ("healthz", "livez", "readyz")

Check = Callable[[], str | None]  # What is wrong, or None.


def health_reply(words: Sequence[str], checks: Mapping[str, Check], query: Mapping[str, list[str]]) -> Reply | None:
    """The answer for /healthz, /livez, /readyz or a check below them; None when there is no such check."""
    page = words[0]
    if len(words) > 1:
        check = checks.get("/".join(words[1:]))
        if check is None:
            return None
        trouble = check()
        return text_reply(200, "ok") if trouble is None else text_reply(500, f"internal server error: {trouble}\n")
    excluded = set(query.get("exclude", ()))
    lines, failed = [], []
    for name, check in checks.items():
        trouble = None if name in excluded else check()
        if trouble is not None:
            failed.append(name)
        state = "excluded: ok" if name in excluded else "ok" if trouble is None else f"failed: {trouble}"
        lines.append(f"[{'-' if trouble else '+'}]{name} {state}\n")
    if failed:
        return text_reply(500, f"{''.join(lines)}{page} check failed\n")
    if "verbose" in query:
        return text_reply(200, f"{''.join(lines)}{page} check passed\n", **NO_SNIFFING)
    return text_reply(200, "ok", **NO_SNIFFING)
