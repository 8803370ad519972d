"""The hooks of OpenCode: a plugin of a few lines that gives the session to this program whenever it becomes idle.

OpenCode keeps its sessions in a database, which only it should read, so the plugin asks it for the session and passes
that on, in the shape of `opencode export`. Source: opencode.ai/docs/plugins (run with 1.18).
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from string import Template

from scopes.errors import Inaccessible, Refused
from scopes.hosts.config_file import FileChange, State, read_text, save, take_back
from scopes.hosts.hook_target import HookPlace, HooksChanged, HookState, hook_words

_MARK = "// Written by: scopes hooks install opencode"
_COMMAND = re.compile(r"^const command = \[.*\]$", re.MULTILINE)
_PLUGIN = Template(
    """\
$mark
import { spawn } from "node:child_process"

const command = $command

export const ScopesRecorder = async ({ client, directory }) => ({
  event: async ({ event }) => {
    if (event.type !== "session.idle") return
    try {
      const id = event.properties.sessionID
      const [info, messages] = await Promise.all([
        client.session.get({ path: { id } }),
        client.session.messages({ path: { id } }),
      ])
      if (!info.data || !messages.data) return
      const child = spawn(command[0], command.slice(1), {
        cwd: directory,
        detached: true,
        stdio: ["pipe", "ignore", "ignore"],
      })
      child.on("error", () => {})
      child.stdin.on("error", () => {})
      const turn = { hook_event_name: event.type, session_id: id, cwd: directory }
      const exported = { info: info.data, messages: messages.data }
      await new Promise((done) => child.stdin.end(JSON.stringify({ ...turn, export: exported }), done))
      child.unref()
    } catch {}
  },
})
"""
)


@dataclass(frozen=True, slots=True)
class OpenCodePlugin:
    """The plugin in the user's directory of plugins."""

    name: str = "opencode"
    summary: str = "Record every turn of OpenCode"

    def install(self, place: HookPlace, *, print_only: bool = False) -> HooksChanged:
        """Write the plugin; as `HookTarget.install`."""
        path, text = _path(place), _text(place)
        if print_only:
            return HooksChanged(target=self.name, changes=(FileChange(path, "shown", text),), shown=True)
        before = read_text(path)
        _require_ours(before, path)
        if before == text:
            return HooksChanged(target=self.name, changes=(FileChange(path, "unchanged", text),))
        save(path, before, text, keep=False)
        state: State = "added" if before is None else "replaced"
        return HooksChanged(target=self.name, changes=(FileChange(path, state, text),))

    def status(self, place: HookPlace) -> HookState:
        """Return how the plugin is."""
        path = _path(place)
        try:
            before = read_text(path)
            _require_ours(before, path)
        except (Refused, Inaccessible) as error:
            return HookState(self.name, "unreadable", path, error.message)
        if before is None:
            return HookState(self.name, "missing", path)
        if before != _text(place):
            return HookState(self.name, "outdated", path, f"bring it up to date: scopes hooks install {self.name}")
        return HookState(self.name, "installed", path)

    def remove(self, place: HookPlace) -> HooksChanged:
        """Delete the plugin; as `HookTarget.remove`."""
        path = _path(place)
        before = read_text(path)
        _require_ours(before, path)
        if before is None:
            return HooksChanged(target=self.name, changes=(FileChange(path, "absent"),))
        take_back(path, before, lambda _: before, "")
        return HooksChanged(target=self.name, changes=(FileChange(path, "removed"),))


def _path(place: HookPlace) -> str:
    top = place.environ.get("XDG_CONFIG_HOME", "")
    folder = top if os.path.isabs(top) else os.path.join(place.home, ".config")
    return os.path.join(folder, "opencode", "plugins", "scopes.js")


def _text(place: HookPlace) -> str:
    return _PLUGIN.substitute(mark=_MARK, command=json.dumps(hook_words(place, "opencode")))


def _require_ours(text: str | None, path: str) -> None:
    """Raise Refused if the file is the work of somebody else."""
    if text is not None and not (text.startswith(_MARK) and _COMMAND.search(text)):
        raise Refused(f"{path} is another plugin", hint="move it away, or show what to add: --print")
