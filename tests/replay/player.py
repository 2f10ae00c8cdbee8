"""Plays recorded conversations with a real Kubernetes API server against another one, and tells where they differ.

A recording is a list of steps: a `request` whose normalised answer must equal the recorded one, an `await` that polls
until given paths hold given values, a `watch` that collects events while its own requests are made, or a pause.
"""

from __future__ import annotations

import difflib
import http.client
import json
import secrets
import ssl
import threading
import time
import urllib.parse
from typing import Any

from tests.replay.symbols import Symbols, dig, fill, sorted_deeply

Step = dict[str, Any]


class Client:
    """A connection for each request, as simple as can be."""

    def __init__(self, server: str, token: str) -> None:
        self._url = urllib.parse.urlsplit(server)
        self._token = token
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    def connect(self, timeout: float = 60) -> http.client.HTTPConnection:
        """A new connection."""
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def headers(self, extra: dict[str, str | None] | None) -> dict[str, str]:
        """The usual headers, changed by those of the step; None takes one away."""
        usual = {"Accept": "application/json", "User-Agent": "oracle", "Authorization": f"Bearer {self._token}"}
        return {key: value for key, value in {**usual, **(extra or {})}.items() if value is not None}

    def call(self, step: str, body: Any = None, headers: Any = None) -> tuple[int, Any, list[str]]:
        """Status, parsed body and warnings."""
        method, path = step.split(" ", 1)
        headers = dict(headers or {})
        data = None
        if body is not None:
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = self.connect()
        try:
            connection.request(method, path, data, self.headers(headers))
            response = connection.getresponse()
            raw = response.read().decode("utf-8", "replace")
            warnings = [value for key, value in response.getheaders() if key.lower() == "warning"]
            return response.status, _parsed(raw), warnings
        finally:
            connection.close()


def _parsed(raw: str) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return raw


class Player:
    """One run of one recording."""

    def __init__(self, client: Client) -> None:
        self._client = client
        run = "".join(secrets.choice("bcdfghjkmnpqrstvwxz") for _ in range(6))
        self._saved: dict[str, Any] = {"run": run}
        self._symbols = Symbols(run)

    def play(self, recording: dict[str, Any]) -> list[str]:
        """Every difference, in words; playing ends where something is waited for in vain."""
        differences: list[str] = []
        for number, step in enumerate(recording["steps"], 1):
            if "sleep" in step:
                time.sleep(step["sleep"])
            elif "await" in step:
                trouble = self._await(step)
                if trouble:
                    return [*differences, f"step {number} {step['await']}: {trouble}"]
            else:
                got = self._request(step) if "request" in step else self._watch(step)
                if not step.get("unchecked") and got != step["answer"]:
                    title = step.get("request") or step.get("watch")
                    differences.append(f"step {number} {title}\n{_difference(step['answer'], got)}")
        return differences

    def _request(self, step: Step) -> dict[str, Any]:
        line, body, headers = (fill(step.get(part), self._saved) for part in ("request", "body", "headers"))
        status, answer, warnings = self._client.call(line, body, headers)
        for name, where in (step.get("save") or {}).items():
            self._saved[name] = dig(answer, where)
        return self._compared(step, status, answer, warnings)

    def _compared(self, step: Step, status: int, body: Any, warnings: list[str]) -> dict[str, Any]:
        """What of an answer is compared."""
        if "select" in step and isinstance(body, dict):
            rule = step["select"]
            entries = {each.get(rule["key"]): each for each in dig(body, rule["list"]) or []}
            body = [entries.get(key) for key in rule["in"]]
        self._symbols.learn(body)
        if "pick" in step:
            body = {path: dig(body, path) for path in step["pick"]}
        for path in step.get("ignore", []):
            parent, _, last = path.rpartition(".")
            holder = dig(body, parent) if parent else body
            if isinstance(holder, dict):
                holder.pop(last, None)
        body = self._symbols.normal(body)
        compared: dict[str, Any] = {"status": status, "body": sorted_deeply(body) if step.get("sorted") else body}
        if warnings:
            compared["warnings"] = [self._symbols.text(warning) for warning in warnings]
        return compared

    def _await(self, step: Step) -> str:
        line = fill(step["await"], self._saved)
        wanted = dict(fill(step.get("until") or {}, self._saved))
        status_wanted = wanted.pop("status code", None)
        deadline = time.monotonic() + step.get("timeout", 45)
        seen: dict[str, Any] = {}
        while time.monotonic() < deadline:
            status, body, _ = self._client.call(line)
            seen = {path: dig(body, path) for path in wanted}
            if (status_wanted is None or status == status_wanted) and seen == wanted:
                for name, where in (step.get("save") or {}).items():
                    self._saved[name] = dig(body, where)
                return ""
            time.sleep(0.15)
        return f"waited in vain for {wanted or status_wanted}; last seen {seen}"

    def _watch(self, step: Step) -> dict[str, Any]:
        events: list[Any] = []
        opened = threading.Event()
        thread = threading.Thread(target=self._listen, args=(step, events, opened), daemon=True)
        thread.start()
        opened.wait(20)
        time.sleep(0.2)  # The recording was made so: the watch stands before its requests are made.
        during = [self._request(inner) for inner in step.get("during", [])]
        thread.join(step.get("timeout", 15))
        for event in events:
            self._symbols.learn(event.get("object"))
        told = [self._symbols.normal(_picked(event, step)) for event in events]
        if step.get("sorted"):
            told.sort(key=lambda each: json.dumps(each, sort_keys=True))
        return {"events": told, "during": during}

    def _listen(self, step: Step, events: list[Any], opened: threading.Event) -> None:
        connection = self._client.connect(step.get("timeout", 15))
        try:
            headers = self._client.headers(fill(step.get("headers"), self._saved))
            connection.request("GET", fill(step["watch"], self._saved), None, headers)
            response = connection.getresponse()
            opened.set()
            if response.status != 200:
                events.append({"status": response.status, "object": json.loads(response.read() or b"null")})
                return
            while len(events) < step["events"] and (line := response.readline()):
                event = json.loads(line)
                if event["type"] != "BOOKMARK" or step.get("bookmarks"):
                    events.append(event)
        except (TimeoutError, OSError):
            return  # What did not come is missing from the events, and that is a difference.
        finally:
            opened.set()
            connection.close()


def _picked(event: Any, step: Step) -> Any:
    if "pick" not in step:
        return event
    return {"type": event.get("type"), **{path: dig(event.get("object"), path) for path in step["pick"]}}


def _difference(wanted: Any, got: Any) -> str:
    before, after = (json.dumps(tree, indent=1, sort_keys=True).splitlines() for tree in (wanted, got))
    return "\n".join(difflib.unified_diff(before, after, "recorded", "this server", lineterm="", n=2))
