"""A model server for tests, on the loopback interface: it answers every request with one fixed text, and keeps the requests.

It speaks as much of three interfaces as agents need for a text: Chat Completions and Responses (OpenAI), and
generateContent (Gemini), each as a stream of server-sent events or as one document.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = "understood"
_USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self._send("application/json", json.dumps({"object": "list", "data": [], "models": []}))

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode("utf-8", "replace")
        self.server.requests.append((self.path, body))
        if "generateContent" in self.path or "GenerateContent" in self.path:
            self._gemini(stream="stream" in self.path)
        elif self.path.endswith("/responses"):
            self._stream(_response_events(), named=True)
        elif self.path.endswith("/chat/completions"):
            self._chat(stream=json.loads(body).get("stream") is True)
        else:
            self._send("application/json", json.dumps({"totalTokens": 5}))

    def _gemini(self, *, stream):
        part = {"content": {"role": "model", "parts": [{"text": TEXT}]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
        document = {"candidates": [part], "usageMetadata": usage, "modelVersion": "stub"}
        if stream:
            self._stream([document])
        else:
            self._send("application/json", json.dumps(document))

    def _chat(self, *, stream):
        base = {"id": "c1", "created": 1, "model": "stub-model"}
        if not stream:
            choice = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
            self._send(
                "application/json",
                json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": _USAGE}),
            )
            return
        deltas = [({"role": "assistant", "content": TEXT}, None), ({}, "stop")]
        chunks = [
            {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
            for delta, end in deltas
        ]
        self._stream([*chunks, {**chunks[1], "choices": [], "usage": _USAGE}], end="data: [DONE]\n\n")

    def _stream(self, documents, *, named=False, end=""):
        names = [f"event: {document['type']}\n" if named else "" for document in documents]
        lines = [f"{name}data: {json.dumps(document)}\n\n" for name, document in zip(names, documents, strict=True)]
        self._send("text/event-stream", "".join(lines) + end)

    def _send(self, content_type, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _response_events():
    message = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
    }
    usage = {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 5,
    }
    response = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "stub-model",
        "status": "completed",
        "output": [message],
        "usage": usage,
    }
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**message, "content": [], "status": "in_progress"},
        },
        {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0, "delta": TEXT},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": response},
    ]


class StubModel:
    """The server; `requests` are the paths and bodies of what was asked."""

    def __init__(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.requests = self.requests = []
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def bodies_with(self, text):
        """Return the bodies that contain a text."""
        return [body for _, body in self.requests if text in body]
