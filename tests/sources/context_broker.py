"""A context broker, as far as the specification says what one does with its subscribers.

Source: ETSI GS CIM 009 V1.8.1, clauses 5.8 (subscriptions), 5.2.15 (Endpoint), 5.3.1
(Notification), 6.3.10 (pagination by `Link`).
"""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class ContextBroker:
    """What it knows; `notify` posts an entity to whoever subscribed to its type."""

    url: str = ""
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    entities: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def notify(self, *entities: dict[str, Any]) -> list[int]:
        """Post entities, a notification for each subscription; the statuses of the answers."""
        found = []
        for name, about in self.subscriptions.items():
            types = {one["type"] for one in about["entities"]}
            data = [one for one in entities if one["type"] in types]
            if not data:
                continue
            told = {
                "id": "urn:ngsi-ld:Notification:1", "type": "Notification", "data": data,
                "subscriptionId": name, "notifiedAt": "2026-05-04T09:00:00Z",
            }  # fmt: skip
            endpoint = about["notification"]["endpoint"]
            own = {one["key"]: one["value"] for one in endpoint.get("receiverInfo", [])}
            request = urllib.request.Request(
                endpoint["uri"], json.dumps(told).encode(),
                {"Content-Type": endpoint["accept"], **own},
            )  # fmt: skip
            with urllib.request.urlopen(request, timeout=30) as answer:
                found.append(answer.status)
        return found

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        """Status, body and headers."""
        self.asked.append(f"{method} {path}")
        room, _, name = path.partition("?")[0].removeprefix("/ngsi-ld/v1/").partition("/")
        name = unquote(name)
        if room == "entities" and method == "GET":
            query = parse_qs(urlsplit(path).query)
            types = query["type"][0].split(",")
            begin, most = int(query.get("offset", ["0"])[0]), int(query.get("limit", ["20"])[0])
            every = [one for one in self.entities if one["type"] in types]
            more = {}
            if begin + most < len(every):
                asked = f"type={query['type'][0]}&limit={most}&offset={begin + most}"
                more["Link"] = f'</ngsi-ld/v1/entities?{asked}>; rel="next"'
            return 200, every[begin : begin + most], more
        if room == "subscriptions" and method == "POST":
            if body["id"] in self.subscriptions:
                return 409, None, {}
            self.subscriptions[body["id"]] = body
            return 201, None, {"Location": f"/ngsi-ld/v1/subscriptions/{body['id']}"}
        if room != "subscriptions" or name not in self.subscriptions:
            return 404, {"type": "https://uri.etsi.org/ngsi-ld/errors/ResourceNotFound"}, {}
        if method == "PATCH":
            self.subscriptions[name] |= body
        elif method == "DELETE":
            del self.subscriptions[name]
        return 204, None, {}


@contextlib.contextmanager
def context_broker() -> Iterator[ContextBroker]:
    """A broker at a free port."""
    broker = ContextBroker()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, told, headers = broker.answer(self.command, self.path, body)
            raw = b"" if told is None else json.dumps(told).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            self.close_connection = True

        do_GET = do_POST = do_PATCH = do_DELETE = _do  # noqa: N815

        def log_message(self, *_told: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    broker.url = f"http://127.0.0.1:{server.server_port}/ngsi-ld/v1"
    try:
        yield broker
    finally:
        server.shutdown()
        server.server_close()
