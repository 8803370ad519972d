"""Find the function that renders a Result as text or as JSON. Its module is imported when such a Result is first shown.

Functions are registered under the name of the Result class, taken from the annotation of their first parameter. So a
module that renders several Results does not import the modules which define them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.result import Result

if TYPE_CHECKING:
    from scopes.render.view import View

F = TypeVar("F", bound=Callable[..., Any])

# The module that defines a Result: the module in `text` that renders it, where their names differ.
NOUN_OF: dict[str, str] = {
    "scopes.agents.card": "agents",
    "scopes.agents.delivery": "agents",
    "scopes.agents.inbox": "agents",
    "scopes.agents.list": "agents",
    "scopes.agents.register": "agents",
    "scopes.agents.send": "agents",
    "scopes.collaboration.contribute": "collaborations",
    "scopes.collaboration.report": "collaborations",
    "scopes.collaboration.start": "collaborations",
    "scopes.context.budget": "context",
    "scopes.context.count": "tokens",
    "scopes.tokens.fetch": "tokens",
    "scopes.context.history_block": "context",
    "scopes.context.result": "context",
    "scopes.tokens.status": "tokens",
    "scopes.check.compare": "check",
    "scopes.code_links.why_result": "why",
    "scopes.check.explain": "check",
    "scopes.check.rule_tests": "check",
    "scopes.handover.skill_status": "install_states",
    "scopes.hosts.mcp_status": "install_states",
    "scopes.conversation.abandon": "branch",
    "scopes.conversation.amend": "message",
    "scopes.conversation.append": "message",
    "scopes.conversation.blame": "claims",
    "scopes.conversation.cat": "message",
    "scopes.conversation.config": "store",
    "scopes.conversation.decisions": "claims",
    "scopes.conversation.delete": "conversation",
    "scopes.conversation.doctor": "store",
    "scopes.conversation.files": "claims",
    "scopes.conversation.gc": "store",
    "scopes.facts.decide": "facts",
    "scopes.facts.list": "facts",
    "scopes.facts.propose": "facts",
    "scopes.facts.run": "facts",
    "scopes.importers.found_transcripts": "import_export",
    "scopes.importers.import_sample": "import_export",
    "scopes.conversation.init": "store",
    "scopes.conversation.list_cached": "list",
    "scopes.conversation.merge_outcomes": "merge",
    "scopes.conversation.new": "conversation",
    "scopes.conversation.rename": "conversation",
    "scopes.conversation.repair": "store",
    "scopes.conversation.resolve": "conflicts",
    "scopes.conversation.rewind": "branch",
    "scopes.conversation.show": "conversation",
    "scopes.conversation.switch": "branch",
    "scopes.conversation.tag": "branch",
    "scopes.conversation.undo": "operations",
    "scopes.conversation.verify": "store",
    "scopes.conversation.withdraw": "claims",
    "scopes.exporters.commit_notes": "import_export",
    "scopes.exporters.atomic_save": "import_export",
    "scopes.proposals.apply": "proposals",
    "scopes.proposals.create": "proposals",
    "scopes.proposals.steps": "proposals",
    "scopes.proposals.list": "proposals",
    "scopes.importers.verify_source": "import_export",
    "scopes.importers.results": "import_export",
    "scopes.memory.actions": "memory",
    "scopes.memory.add": "memory",
    "scopes.memory.context": "memory",
    "scopes.memory.decision_candidates": "claims",
    "scopes.memory.list": "memory",
    "scopes.memory.prune": "memory",
    "scopes.memory.search": "memory",
    "scopes.memory.stats": "memory",
    "scopes.memory.summaries": "summarize",
    "scopes.memory.uncompact": "summarize",
    "scopes.memory.update": "memory",
    "scopes.merge.replay_control": "replay",
    "scopes.hosts.hook_target": "hooks",
    "scopes.hosts.mcp_servers": "mcp",
    "scopes.live.hook_status": "hooks",
    "scopes.server.mcp.address": "mcp",
    "scopes.sync.bundles": "remotes",
    "scopes.sync.change_remotes": "remotes",
    "scopes.sync.clone": "remotes",
    "scopes.sync.edit_remotes": "remotes",
    "scopes.sync.fetch": "remotes",
    "scopes.sync.fetch_manifests": "remotes",
    "scopes.sync.pull": "remotes",
    "scopes.sync.delete_on_remote": "remotes",
    "scopes.sync.pushed": "remotes",
    "scopes.sync.remote_conversations": "remotes",
    "scopes.search.hits": "search",
    "scopes.secrets.allow": "secrets",
    "scopes.secrets.list": "secrets",
    "scopes.secrets.scan": "secrets",
}

# The modules in `text` whose JSON is written by a module of another name in `wire`.
WIRE_OF: dict[str, str] = {
    "changes": "operations",
    "log": "message",
    "search": "message",
    "stats": "conversation",
    "summarize": "memory",
    "tokens": "context",
}


class _Registry:
    """The functions that render Results in one way, by the name of the Result class."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.functions: dict[str, Callable[..., Any]] = {}

    @overload
    def register(self, target: type[Result]) -> Callable[[F], F]: ...

    @overload
    def register(self, target: F) -> F: ...

    def register(self, target: Any) -> Any:
        """Register a function for a Result class and its subclasses; without one, for that of its first parameter."""
        if isinstance(target, type):
            return partial(self._add, target.__name__)
        return self._add(next(iter(target.__annotations__.values())), target)

    def _add(self, class_name: str, function: F) -> F:
        self.functions[class_name] = function
        return function

    def find(self, kind: type[Result]) -> Callable[..., Any]:
        """Return the function for a Result class, importing its module if necessary.

        Raises:
            TypeError: there is none.
        """
        function = self.functions.get(kind.__name__)
        if function is not None:
            return function
        module = find_module(self._package, kind)
        try:
            __import__(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
        for each in kind.__mro__:
            if each.__name__ in self.functions:
                return self.functions[each.__name__]
        return self._default(kind)

    def _default(self, kind: type[Result]) -> Callable[..., Any]:
        raise TypeError(f"{kind.__name__} has no {self._package} rendering")


def find_module(package: str, kind: type[Result]) -> str:
    """Return the module in `text` or `wire` that renders a Result class; without an entry, that of the same name."""
    noun = NOUN_OF.get(kind.__module__, kind.__module__.rpartition(".")[2])
    return f"scopes.render.{package}.{WIRE_OF.get(noun, noun) if package == 'wire' else noun}"


def default_object(result: Result) -> dict[str, object]:
    """Return a result's fields, for a result whose JSON needs no function of its own.

    Rows that are dataclasses or NamedTuples become objects with the names of their fields; None is left out.

    Raises:
        TypeError: the result has a field `kind`, which is the name of the result's class in the document.
    """
    shown = {name: value for name, value in _named_values(result) if name != "notes"}
    if "kind" in shown:
        raise TypeError(f"{type(result).__name__}: a Result shown by its fields cannot have a field called kind")
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(result).__name__).lower()
    return {"kind": kind, **{name: _plain_value(value) for name, value in shown.items() if value is not None}}


def _named_values(value: Any) -> list[tuple[str, Any]]:
    """Return the fields of a dataclass or a NamedTuple; those of other values are none."""
    names: Iterable[str] = getattr(value, "__dataclass_fields__", getattr(value, "_fields", ()))
    return [(name, getattr(value, name)) for name in names]


def _plain_value(value: Any) -> object:
    """Return a value as JSON knows it, with all rows in it."""
    if named := _named_values(value):
        return {name: _plain_value(item) for name, item in named if item is not None}
    if isinstance(value, Mapping):
        return {str(name): _plain_value(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain_value(item) for item in value]
    return value


class _TextRenderer(_Registry):
    def __call__(self, result: Result, view: View) -> None:
        """Render a result as text into a view."""
        self.find(type(result))(result, view)


class _WireRenderer(_Registry):
    def __init__(self, package: str) -> None:
        super().__init__(package)
        self._taking_options: set[Callable[..., Any]] = set()

    def _default(self, _: type[Result]) -> Callable[..., Any]:
        return default_object

    def register_with_options(self, function: F) -> F:
        """Register a function whose JSON depends on display options; it takes them as second argument."""
        self._taking_options.add(function)
        return self.register(function)

    def __call__(self, result: Result, options: ViewOptions = DEFAULT_OPTIONS) -> dict[str, object]:
        """Return the JSON object of a result: its `kind` first, full ids, RFC 3339 times; unknown values are absent."""
        function = self.find(type(result))
        document: dict[str, object] = (
            function(result, options) if function in self._taking_options else function(result)
        )
        return document


render_text = _TextRenderer("text")
to_wire = _WireRenderer("wire")
