"""Follow a hint as an agent reads it: each clause becomes calls of tools, or the command that the user is asked for.

A clause in words that nothing here knows is refused, so that a new hint is either followed in a test or fails one.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import NamedTuple

from tests.cli.running import PRODUCT, scopes

WORD = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
PLAIN_TOOLS = {"why", "inbox"}
CLAUSE = re.compile(r"; |\n|, or (?=ask the user)")


class Situation(NamedTuple):
    """A call and its hint: what an agent has when it follows it; `values` are those of NAME and the like."""

    agent: object
    tools: dict[str, dict[str, object]]
    tool: str
    arguments: dict[str, object]
    message: str
    values: dict[str, object]

    def call(self, tool, **arguments):
        assert tool in self.tools, f"there is no tool {tool}"
        unknown = arguments.keys() - self.tools[tool]["properties"].keys()
        assert not unknown, f"{tool} has no argument {unknown}"
        return self.agent.get(tool, **arguments)

    def again(self, *, without=(), **changed):
        """Repeat the call with other arguments."""
        assert {*without} <= self.tools[self.tool]["properties"].keys()
        kept = {name: value for name, value in self.arguments.items() if name not in without}
        return self.call(self.tool, **kept | changed)

    def named(self):
        """Return the last argument that the message names."""
        names = [word for word in re.findall(r"\w+", self.message) if word in self.tools[self.tool]["properties"]]
        return names[-1]


def follow(situation, hint):
    """Do what each clause of a hint says; return how many there were. Before an alternative the call is made again."""
    clauses = CLAUSE.split(hint)
    for clause in clauses:
        if f", or {clause}" in hint:
            situation.agent.call(situation.tool, **situation.arguments)
        for pattern, do in FORMS:
            if match := re.fullmatch(pattern, clause, re.DOTALL):
                do(situation, *match.groups())
                break
        else:
            raise AssertionError(f"nothing follows the hint {clause!r}")
    return len(clauses)


def ask_user(situation, line, other):
    """Run the command that the user is asked for; of two forms the first one may find something that is to be done."""
    first = run(situation, line)
    assert (first.returncode == 0) if other is None else "open conflict" in first.stderr, first.stderr
    if other is not None:
        last = run(situation, f"{line.rpartition(' ')[0]} {other}")
        assert last.returncode == 0, last.stderr


def run(situation, line):
    program, *words = shlex.split(line)
    assert program == "scopes"
    return scopes("--store", situation.agent.access.path, *words, table=PRODUCT)


def call_tool(situation, tool, name=""):
    """Call a tool with a name as its first argument, and with what it needs besides."""
    given = situation.tools.get(tool, {"properties": {}, "required": ()})
    needed = [each for each in given.get("required", ()) if each in situation.values]
    first = {next(iter(given["properties"])): name} if name else {}
    situation.call(tool, **{each: situation.values[each] for each in needed} | first)


def call_whole(situation, tool, text):
    arguments = dict(part.split("=", 1) for part in re.split(r", (?=\w+=)", text))
    situation.call(tool, **{name: json.loads(value) for name, value in arguments.items()})


def call_branch(situation, text):
    """Call conversation_branch as `conversation_branch CONV NAME start=WHERE` says."""
    conversation, start = re.fullmatch(r"(\S+) NAME start=(\S+)", text).groups()
    situation.call("conversation_branch", conversation=conversation, name=situation.values["NAME"], start=start)


def set_argument(situation, name, text):
    value = situation.values.get(text, text)
    properties = situation.tools[situation.tool]["properties"]
    assert name in properties, f"{situation.tool} has no argument {name}"
    is_list = any(each.get("type") == "array" for each in [properties[name], *properties[name].get("anyOf", ())])
    situation.again(**{name: [value] if is_list else value})


def set_one_of(situation, text):
    for each in re.split(r", or |, | or ", text):
        set_argument(situation, *each.split("=", 1))


def set_flag(situation, name):
    assert situation.tools[situation.tool]["properties"][name]["type"] == "boolean"
    situation.again(**{name: True})


def leave_out(situation, names):
    for name in re.split(r", or |, ", names):
        situation.again(without=[situation.named() if name == "it" else name])


def try_kinds(situation, text):
    """Repeat the call with the kind whose document is given; all others are values of the argument too."""
    allowed = situation.tools[situation.tool]["properties"]["kind"]["enum"]
    assert set(text.split(", ")) <= {*allowed}
    situation.again(kind=situation.values["kind"])


def take_field(situation, name, field):
    """Give an argument the value that a field of an answer about the same branch has."""
    first = situation.again(without=[name], limit=1)
    situation.again(**{name: first[field]})


def find_in_progress(situation):
    [found] = situation.call("conversation_show", conversation="conv-001")["in_progress"]
    situation.again(target=found["target"])


def replace_name(situation, name):
    quoted = re.search(r"'([^']+)'|^(\w+) is not", situation.message)
    wrong = quoted[1] or quoted[2]
    texts = {key: value for key, value in situation.arguments.items() if str(value).endswith(wrong)}
    assert texts, f"no argument has the value {wrong!r}"
    situation.again(**{key: value.removesuffix(wrong) + name for key, value in texts.items()})


def name_others(situation, *names):
    for name in names:
        situation.again(**{name: situation.values[name]})


def name_branches(situation, conversation, names):
    for name in names.split(", "):
        situation.again(conversation=f"{conversation}/{name}")


FORMS = (
    (r"(?:take it back: )(\w+)\((.*)\)", call_whole),
    (r"ask the user .*: (scopes .*?)(?: \(or (--\w+)\))?", ask_user),
    (r"ask the user to start the server again", lambda situation: situation.values["restart"]()),
    (r"(\w+) makes one", call_tool),
    (r"it is in \S+: conversation_branch (.*)", call_branch),
    (r"(?:list them|list the conversations|see): (\w+)(?: (\S+))?", call_tool),
    (r"see: (\w+), (\w+)", lambda situation, *tools: [call_tool(situation, tool) for tool in tools]),
    (r"raise (max_tokens)", lambda situation, name: situation.again(**{name: 100_000})),
    (r"leave out ((?:\w+, or )?\w+)", leave_out),
    (r"leave (it) out", leave_out),
    (r"record the first message without an? (\w+)", leave_out),
    (r"for example: (\w+)='(.*)'", set_argument),
    (r"for example: ([\d{].*)", lambda situation, text: situation.again(**{situation.named(): json.loads(text)})),
    (r"give an? (\w+)", lambda situation, name: situation.again(**{name: situation.values[name]})),
    (r"keys: (.*)", lambda situation, names: [situation.again(key=name) for name in names.split(", ")]),
    (r"agents: (\w+)", lambda situation, name: situation.again(agent=name)),
    (r"a commit would store it as '(.*)': use that", lambda situation, name: situation.again(author=name)),
    (r"name another branch with (\w+) or (\w+)", name_others),
    (r"choose another (\w+)", lambda situation, name: situation.again(**{name: situation.values[name]})),
    (r"for example: (\w+)=(\w+)", set_argument),
    (r"branches of (\S+): (.*)", name_branches),
    (r"kinds: (.*)", try_kinds),
    (r"(?:[a-z ]+: )?(\w+=\S+(?:(?:, or |, | or )\w+=\S+)*)", set_one_of),
    (r"with (\w+=\S+) the committed file is read", set_one_of),
    (r"to let the message wait for them: (\w+)", set_flag),
    (r"find them with (\w+)", set_flag),
    (r"(\w+) is the `(\w+)` of an answer about the same branch", take_field),
    (r"give the conversation and the target of the merge", find_in_progress),
    (r"conversation_show has what is in progress", lambda situation: None),  # `find_in_progress` looks there
    (r"did you mean ([\w-]+)\?", replace_name),
    (r"a source is the id of a message, or a revision such as (\S+)", lambda situation, name: set_argument(situation, "sources", name)),
)  # fmt: skip
