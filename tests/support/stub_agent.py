"""An agent for tests that speaks ACP on its standard streams: it echoes prompts, and misbehaves on request.

    python stub_agent.py FOLDER '{"name": "stub", "resume": true}'

FOLDER keeps its sessions between runs, and every line that it reads (`received`) and writes (`sent`). The profile says
which ways to go on with a session it offers (`load`, `resume`, `fork`, `list`), whether it repeats a session that it
forks (`fork_replays`), and which methods `fail`, `hang` or ask for a login (`auth`). The first word of the last block of a prompt is what it does; see `ACTIONS`.
"""

import json
import os
import subprocess
import sys
import time


class Agent:
    def __init__(self, folder, profile):
        self.folder, self.profile = folder, profile
        os.makedirs(folder, exist_ok=True)
        self.sent = self.open_log("sent")
        self.received = self.open_log("received")
        self.log("pid", str(os.getpid()).encode())
        self.number = 0
        self.waiting = {}  # our requests by id -> what to do with the answer
        self.cancelled = []

    def open_log(self, name):
        return os.open(os.path.join(self.folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def log(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def raw(self, data):
        os.write(self.sent, data)
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def send(self, document):
        try:
            self.raw(json.dumps({"jsonrpc": "2.0", **document}, ensure_ascii=False).encode() + b"\n")
        except UnicodeEncodeError:  # half of a pair
            self.raw(json.dumps({"jsonrpc": "2.0", **document}).encode() + b"\n")

    def answer(self, request, result):
        self.send({"id": request["id"], "result": result})

    def fail(self, request, code=-32603, text="failed"):
        self.send({"id": request["id"], "error": {"code": code, "message": text}})

    def update(self, session, update_kind, **fields):
        update = {"sessionUpdate": update_kind, **fields}
        self.send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def say(self, session, text, kind="agent_message_chunk", **fields):
        self.update(session, kind, content={"type": "text", "text": text}, **fields)

    def store(self, session, text=None, role=None):
        with open(os.path.join(self.folder, f"session-{session}"), "a") as file:
            if role is not None:
                file.write(json.dumps([role, text]) + "\n")

    def history(self, session):
        try:
            with open(os.path.join(self.folder, f"session-{session}")) as file:
                return [json.loads(line) for line in file]
        except (OSError, ValueError):
            return None

    def run(self):
        for line in sys.stdin.buffer:
            os.write(self.received, line)
            message = json.loads(line)
            if isinstance(message, list):
                continue
            if "method" not in message:
                self.waiting.pop(json.dumps(message["id"]), lambda _: None)(message)
            else:
                self.handle(message, message["method"])

    def handle(self, message, method):
        profile = self.profile
        if method in profile.get("hang", ()):
            return
        if method in profile.get("die", ()):
            os._exit(7)
        if method in profile.get("fail", ()):
            self.fail(message, text=f"{method} is broken")
        elif method in profile.get("auth", ()) and not os.path.exists(os.path.join(self.folder, "login")):
            self.fail(message, -32000, "login first")
        else:
            getattr(self, method.replace("/", "_").replace("$", ""), self.unknown)(message)

    def unknown(self, message):
        if "id" in message:
            self.fail(message, -32601, "unknown method")

    def initialize(self, message):
        profile = self.profile
        sessions = {name: {} for name in ("resume", "fork", "list", "close") if profile.get(name)}
        info = {"agentInfo": {"name": profile["name"], "version": "1"}} if profile.get("name") else {}
        capabilities = {"loadSession": bool(profile.get("load")), "sessionCapabilities": sessions, "x-unknown": [1.0]}
        self.answer(message, {"protocolVersion": 1, **info, "agentCapabilities": capabilities})

    def authenticate(self, message):
        open(os.path.join(self.folder, "login"), "w").close()
        self.answer(message, {})

    def session_new(self, message, extra=(), *, replays=False):
        known = [name for name in os.listdir(self.folder) if name.startswith("session-")]
        session = f"{self.profile.get('prefix', 'agent')}-{len(known) + 1}"
        self.store(session)
        for role, text in extra:
            self.store(session, text, role)
            if replays:
                self.say(session, text, f"{role}_message_chunk")
        if replays:
            self.update(session, "current_mode_update", currentModeId="build")
        models = {"currentModelId": "stub-1", "availableModels": []}
        self.answer(message, {"sessionId": session, "models": models, "x-unknown": 1.0})
        self.update(session, "available_commands_update", availableCommands=[])

    def session_resume(self, message):
        if self.history(message["params"]["sessionId"]) is None:
            return self.fail(message, -32002, "no such session")
        return self.answer(message, {"configOptions": [], "x-unknown": 2.0})

    def session_load(self, message):
        session = message["params"]["sessionId"]
        history = self.history(session)
        if history is None:
            self.fail(message, -32002, "no such session")
            return
        for role, text in history[self.profile.get("forgets", 0) :]:
            self.say(session, text, f"{role}_message_chunk")
        self.answer(message, {"modes": None})

    def session_set_mode(self, message):
        self.answer(message, {})

    session_set_model = session_set_mode

    def session_set_config_option(self, message):
        option = {"id": message["params"]["configId"], "category": message["params"]["configId"], "type": "select"}
        self.answer(message, {"configOptions": [{**option, "currentValue": message["params"]["value"]}]})

    def session_fork(self, message):
        history = self.history(message["params"]["sessionId"]) or ()
        self.session_new(message, history, replays=bool(self.profile.get("fork_replays")))

    def session_list(self, message):
        self.answer(message, {"sessions": []})

    def session_cancel(self, message):
        self.cancelled.append(message["params"]["sessionId"])
        for request in self.waiting.pop(f"cancel {message['params']['sessionId']}", []):
            self.answer(request, {"stopReason": "cancelled"})

    def session_prompt(self, message):
        session, blocks = message["params"]["sessionId"], message["params"]["prompt"]
        text = blocks[-1].get("text", "") if blocks else ""
        self.store(session, text, "user")
        action = ACTIONS.get(text.split(" ")[0] if text else "")
        if action is not None:
            action(self, message, session, text)
        else:
            self.echo(message, session, text)

    def echo(self, message, session, text):
        ids = {}
        if self.profile.get("message_ids"):
            self.number += 1
            ids = {"messageId": f"m{self.number}"}
        answer = f"echo: {text}" if len(text) < 1000 else f"echo: {len(text)}"
        self.say(session, answer[:6], **ids)
        self.say(session, answer[6:], **ids)
        self.store(session, answer, "agent")
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "cachedReadTokens": 2}
        self.answer(message, {"stopReason": "end_turn", "usage": usage, "_meta": {"quota": 1}})


def die(agent, message, session, text):
    agent.say(session, "I begin")
    sys.stdout.flush()
    os._exit(9)


def die_silently(agent, message, session, text):
    os._exit(9)


def kill_self(agent, message, session, text):
    os.kill(os.getpid(), 9)


def fail(agent, message, session, text):
    agent.fail(message, text="the model is gone")


def noise(agent, message, session, text):
    for line in (b"[INFO] starting\n", b"plain words\n", b'{"level": "info", "msg": "a log"}\n', b"\n", b"{broken\n"):
        sys.stdout.buffer.write(line)  # not in `sent`: it is no message
    agent.echo(message, session, text)


def tool(agent, message, session, text):
    agent.say(session, "I will edit. ")
    call = {
        "toolCallId": "call-1",
        "title": "Edit app.py",
        "kind": "edit",
        "status": "pending",
        "rawInput": {"path": "app.py", "n": 1.0},
    }
    agent.update(session, "tool_call", **call)
    asked = {
        "sessionId": session,
        "toolCall": {"toolCallId": "call-1"},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
    }

    def allowed(answer):
        agent.update(session, "tool_call_update", toolCallId="call-1", status="in_progress")
        diff = {"type": "diff", "path": "/project/app.py", "oldText": "a", "newText": "b"}
        done = {"type": "content", "content": {"type": "text", "text": "edited"}}
        agent.update(session, "tool_call_update", toolCallId="call-1", status="completed", content=[diff, done])
        agent.say(session, "Done.")
        agent.answer(message, {"stopReason": "end_turn"})

    number = message["id"]  # the same id as the prompt's: that is legal, for it is the other direction
    agent.waiting[json.dumps(number)] = allowed
    agent.send({"id": number, "method": "session/request_permission", "params": asked})


def write_file(agent, message, session, text):
    agent.waiting['"w1"'] = lambda _: agent.answer(message, {"stopReason": "end_turn"})
    params = {"sessionId": session, "path": "/project/new.py", "content": "secret content"}
    agent.send({"id": "w1", "method": "fs/write_text_file", "params": params})


def shell(agent, message, session, text):
    """Run a command in the directory of the session, with its arguments (`raw`) or with its title alone."""
    command = text.partition(" ")[2]
    agent.number += 1
    given = {"rawInput": {"command": command, "description": "Runs it"}} if agent.profile.get("raw") else {}
    call = {"toolCallId": f"run-{agent.number}", "title": command, "kind": "execute", **given}
    agent.update(session, "tool_call", status="in_progress", **call)
    done = subprocess.run(command, check=False, shell=True, cwd=agent.profile["cwd"], capture_output=True, text=True)
    output = [{"type": "content", "content": {"type": "text", "text": done.stdout + done.stderr}}]
    status = "failed" if done.returncode else "completed"
    agent.update(session, "tool_call_update", toolCallId=call["toolCallId"], status=status, content=output)
    agent.answer(message, {"stopReason": "end_turn"})


def rewrite(agent, message, session, text):
    """Change, create and delete files, as Gemini CLI says it: the arguments of the calls are not there."""
    diffs = [
        {"type": "diff", "path": "/project/app.py", "oldText": "a\n", "newText": "b\n"},
        {"type": "diff", "path": "/project/new.py", "oldText": None, "newText": "c\n"},
    ]
    for diff in diffs:
        agent.number += 1
        call = {"toolCallId": f"edit-{agent.number}", "title": "Writing", "kind": "edit", "status": "in_progress"}
        agent.update(session, "tool_call", content=[], locations=[{"path": diff["path"]}], **call)
        agent.update(session, "tool_call_update", toolCallId=call["toolCallId"], status="completed", content=[diff])
    call = {"toolCallId": "delete-1", "title": "Deleting", "kind": "delete", "status": "in_progress"}
    agent.update(session, "tool_call", locations=[{"path": "/project/gone.py"}], **call)
    agent.update(session, "tool_call_update", toolCallId="delete-1", status="completed")
    agent.answer(message, {"stopReason": "end_turn"})


def think(agent, message, session, text):
    agent.say(session, "let me see", "agent_thought_chunk")
    agent.say(session, "first")
    agent.say(session, "and more", "agent_thought_chunk")
    agent.say(session, "second")
    agent.answer(message, {"stopReason": "end_turn"})


def two(agent, message, session, text):
    agent.say(session, "one", messageId="a")
    agent.say(session, "two", messageId="b")
    agent.answer(message, {"stopReason": "end_turn"})


def unknown(agent, message, session, text):
    agent.raw(
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%b","update":{"sessionUpdate":"compaction_update","x":1.50}}}\n'
        % session.encode()
    )
    agent.send({"method": "session/update", "params": {"sessionId": session}})
    agent.send({"method": "_stub/hello", "params": {"a": 1}})
    agent.raw(b'[{"jsonrpc":"2.0","method":"_stub/batch"},{"jsonrpc":"2.0","method":"_stub/batch"}]\n')
    agent.raw(
        b'{"jsonrpc":"2.0","method":"_stub/numbers","params":{"n":[1.0,1e400,NaN,123456789012345678901234567890],"s":"\\ud800","n":2}}\n'
    )
    agent.echo(message, session, text)


def settings(agent, message, session, text):
    agent.update(session, "session_info_update", title="Login fix")
    agent.update(session, "current_mode_update", currentModeId="plan")
    options = [{"id": "model", "category": "model", "type": "select", "currentValue": "stub-2"}]
    agent.update(session, "config_option_update", configOptions=options)
    agent.update(session, "usage_update", used=100, size=1000)
    agent.update(session, "plan", entries=[{"content": "look", "priority": "high", "status": "pending"}])
    agent.echo(message, session, text)


def switch(agent, message, session, text):
    """Answer, and change the model in the middle of the message."""
    options = [{"id": "model", "category": "model", "type": "select", "currentValue": text.split(" ")[1]}]
    agent.say(session, "I ")
    agent.update(session, "config_option_update", configOptions=options)
    agent.say(session, "switch")
    agent.answer(message, {"stopReason": "end_turn"})


def late(agent, message, session, text):
    agent.update(session, "tool_call", toolCallId="call-9", title="Long", kind="execute", status="in_progress")
    agent.answer(message, {"stopReason": "end_turn"})
    agent.update(session, "tool_call_update", toolCallId="call-9", status="completed")
    agent.say(session, "said afterwards", messageId="afterwards")


def wait(agent, message, session, text):
    agent.say(session, "working")
    agent.waiting.setdefault(f"cancel {session}", []).append(message)


def work(agent, message, session, text):
    """Use a tool, and wait."""
    agent.update(session, "tool_call", toolCallId="work-1", title="git", kind="execute", status="in_progress")
    agent.update(session, "tool_call_update", toolCallId="work-1", status="completed")
    wait(agent, message, session, text)


def slow(agent, message, session, text):
    agent.say(session, "so far")
    time.sleep(60)


ACTIONS = {
    "die": die, "die_silently": die_silently, "kill_self": kill_self, "fail": fail, "noise": noise, "tool": tool,
    "write_file": write_file, "think": think, "two": two, "unknown": unknown, "settings": settings, "switch": switch, "late": late,
    "wait": wait, "work": work, "slow": slow, "shell": shell, "rewrite": rewrite,
}  # fmt: skip


if __name__ == "__main__":
    Agent(sys.argv[1], json.loads(sys.argv[2])).run()
