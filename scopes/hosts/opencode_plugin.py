"""The hooks of OpenCode: a plugin of a few lines that gives the session to this program whenever it becomes idle.

OpenCode keeps its sessions in a database, which only it should read, so the plugin asks it for the session and passes
that on, in the shape of `opencode export`. A long one goes through a file, because a pipe takes it slowly, and
OpenCode may end at once. Source: opencode.ai/docs/plugins (run with 1.18).
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from string import Template
from typing import Any

from scopes.errors import Inaccessible, Refused
from scopes.hosts.agents import AGENTS, config_directory
from scopes.hosts.config_file import FileChange, State, advise_removal, delete, read_text, read_to_change, save
from scopes.hosts.hook_target import (
    HookEnvironment,
    HooksChanged,
    HookState,
    describe_outdated,
    hook_words,
    recorded_store,
)

_MARK = "// Written by: scopes setup opencode"
_COMMAND = re.compile(r"^const command = (\[.*\])$", re.MULTILINE)
_ADVICE = "sessions of OpenCode that are running do not have the plugin: start them again"
_PLUGIN = Template(
    """\
$mark
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

const command = $command
const waiting = new Map()
const pipeable = 1 << 20
const state = process.env.XDG_STATE_HOME ?? ""
const folder = join(isAbsolute(state) ? state : join(homedir(), ".local", "state"), "scopes", "hooks")
const ours = { mode: 0o600, flag: "wx" }
let files = 0

const nextFile = () => join(folder, `opencode-$${process.pid}-$${Date.now()}-$${files++}.json`)

const inputOf = (turn, file, text) => {
  if (file) return JSON.stringify({ ...turn, export_file: file })
  return text ? `$${JSON.stringify(turn).slice(0, -1)},"export":$${text}}` : JSON.stringify(turn)
}

process.on("exit", () => {
  for (const [turn, text] of waiting) {
    let file
    try {
      if (text && text.length > pipeable) {
        mkdirSync(folder, { recursive: true, mode: 0o700 })
        writeFileSync((file = nextFile()), text, ours)
      }
    } catch {
      file = undefined
    }
    const options = { cwd: turn.cwd, stdio: ["pipe", "ignore", "ignore"], timeout: 2000 }
    spawnSync(command[0], command.slice(1), { ...options, input: inputOf(turn, file, text) })
  }
})

const saveLong = async (text) => {
  if (text.length <= pipeable) return
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = nextFile()
    await writeFile(file, text, ours)
    return file
  } catch {}
}

export const ScopesRecorder = async ({ client, directory }) => ({
  event: async ({ event }) => {
    if (event.type !== "session.idle") return
    const id = event.properties.sessionID
    const turn = { hook_event_name: event.type, session_id: id, cwd: directory }
    waiting.set(turn, undefined)
    try {
      const [info, messages] = await Promise.all([
        client.session.get({ path: { id } }),
        client.session.messages({ path: { id } }),
      ])
      if (!info.data || !messages.data) return
      const text = JSON.stringify({ info: info.data, messages: messages.data })
      waiting.set(turn, text)
      const file = await saveLong(text)
      const child = spawn(command[0], command.slice(1), {
        cwd: directory,
        detached: true,
        stdio: ["pipe", "ignore", "ignore"],
      })
      child.on("error", () => {})
      child.stdin.on("error", () => {})
      await new Promise((done) => child.stdin.end(inputOf(turn, file, text), done))
      child.unref()
    } catch {
    } finally {
      waiting.delete(turn)
    }
  },
})
"""
)


@dataclass(frozen=True, slots=True)
class OpenCodePlugin:
    """The plugin in the user's directory of plugins."""

    name: str = "opencode"
    summary: str = "Record every turn of OpenCode"

    def install(self, environment: HookEnvironment, *, print_only: bool = False) -> HooksChanged:
        """Write the plugin; as `HookTarget.install`."""
        path, text = _path(environment), _text(environment)
        if print_only:
            return HooksChanged(target=self.name, changes=(FileChange(path, "shown", text),), shown=True)
        before = read_to_change(path)
        _require_ours(before, path)
        if before == text:
            return HooksChanged(target=self.name, changes=(FileChange(path, "unchanged", text),))
        save(path, before, text, keep=False)
        state: State = "added" if before is None else "replaced"
        return HooksChanged(target=self.name, changes=(FileChange(path, state, text),), advice=_ADVICE)

    def status(self, environment: HookEnvironment) -> HookState:
        """Return the state of the plugin."""
        path = _path(environment)
        try:
            before = read_text(path)
            _require_ours(before, path)
        except (Refused, Inaccessible) as error:
            return HookState(self.name, "unreadable", path, error.message)
        if before is None:
            return HookState(self.name, "missing", path)
        if before != _text(environment):
            commands = _find_commands(before)
            detail, store = describe_outdated(environment, commands), recorded_store(environment, commands)
            return HookState(self.name, "outdated", path, detail, store=store)
        return HookState(self.name, "installed", path, store=environment.store)

    def remove(self, environment: HookEnvironment) -> HooksChanged:
        """Delete the plugin; as `HookTarget.remove`."""
        path = _path(environment)
        with advise_removal(f"delete {path}, if scopes wrote it"):
            before = read_to_change(path)
            _require_ours(before, path)
            if before is None:
                return HooksChanged(target=self.name, changes=(FileChange(path, "absent"),))
            delete(path, before)
        with suppress(OSError):  # it has other plugins
            os.rmdir(os.path.dirname(path))
        return HooksChanged(target=self.name, changes=(FileChange(path, "removed"),))


def _path(environment: HookEnvironment) -> str:
    directory = config_directory(AGENTS["opencode"], environment.environ, environment.home)
    return os.path.join(directory, "plugins", "scopes.js")


def _text(environment: HookEnvironment) -> str:
    return _PLUGIN.substitute(mark=_MARK, command=json.dumps(hook_words(environment, "opencode")))


def _find_commands(text: str) -> list[list[str]]:
    """Return the words that a plugin runs; none if an older version wrote it in another way."""
    found = _COMMAND.search(text)
    words: Any = None
    with suppress(ValueError):
        words = json.loads(found[1]) if found is not None else None
    is_command = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return [words] if is_command else []


def _require_ours(text: str | None, path: str) -> None:
    """Raise Refused if scopes did not write the file."""
    if text is not None and not (text.startswith(_MARK) and _COMMAND.search(text)):
        raise Refused(f"{path} is not a plugin of scopes", hint="move it away, or show what to add: --dry-run")
