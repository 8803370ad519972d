"""A model server for tests, on the loopback interface: it answers each request as a script says, and keeps the requests.

It speaks as much of three interfaces as agents need for a text or a tool call: Chat Completions and Responses (OpenAI),
and generateContent (Gemini), each as a stream of server-sent events or as one document.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.model_script import TEXT, Call, Script

__all__ = ["TEXT", "StubModel"]
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
            self._gemini(self._step(body), stream="stream" in self.path)
        elif self.path.endswith("/responses"):
            self._stream(_response_events(self._step(body)), named=True)
        elif self.path.endswith("/chat/completions"):
            self._chat(self._step(body), stream=json.loads(body).get("stream") is True)
        else:
            self._send("application/json", json.dumps({"totalTokens": 5}))

    def _step(self, body):
        return self.server.script.next_step(json.loads(body))

    def _gemini(self, step, *, stream):
        if isinstance(step, Call):
            part = {"functionCall": {"id": step.id, "name": step.name, "args": step.arguments}}
        else:
            part = {"text": step}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
        document = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub"}
        if stream:
            self._stream([document])
        else:
            self._send("application/json", json.dumps(document))

    def _chat(self, step, *, stream):
        base = {"id": "c1", "created": 1, "model": "stub-model"}
        content, end = _chat_content(step)
        message = {"role": "assistant", **content}
        if not stream:
            choice = {"index": 0, "message": message, "finish_reason": end}
            self._send(
                "application/json",
                json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": _USAGE}),
            )
            return
        chunks = [
            {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
            for delta, end in [(message, None), ({}, end)]
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


def _chat_content(step):
    """Return the content of a message of Chat Completions, and why it ends."""
    if not isinstance(step, Call):
        return {"content": step}, "stop"
    function = {"name": step.name, "arguments": json.dumps(step.arguments)}
    return {"content": None, "tool_calls": [{"index": 0, "id": step.id, "type": "function", "function": function}]}, (
        "tool_calls"
    )


def _response_item(step):
    """Return the output item of Responses: a message, or a call."""
    if not isinstance(step, Call):
        content = [{"type": "output_text", "text": step, "annotations": []}]
        return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content}
    call = {"id": f"i{step.id}", "call_id": step.id, "name": step.name, "status": "completed"}
    if isinstance(step.arguments, str):
        return {"type": "custom_tool_call", **call, "input": step.arguments}
    return {"type": "function_call", **call, "arguments": json.dumps(step.arguments)}


def _response_events(step):
    item = _response_item(step)
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
        "output": [item],
        "usage": usage,
    }
    empty = {name: [] for name in ("content",) if name in item}
    deltas = (
        []
        if isinstance(step, Call)
        else [
            {
                "type": "response.output_text.delta",
                "item_id": "m1",
                "output_index": 0,
                "content_index": 0,
                "delta": step,
            }
        ]
    )
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, **empty, "status": "in_progress"}},
        *deltas,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


class StubModel:
    """The server; `requests` are the paths and bodies of what was asked, `script` is what it answers."""

    def __init__(self, script: Script | None = None):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.requests = self.requests = []
        self._server.script = script or Script()
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def bodies_with(self, text):
        """Return the bodies that contain a text."""
        return [body for _, body in self.requests if text in body]
