"""Find the function that renders a Result as text or as JSON. Its module is imported when such a Result is first shown.

A Result without an entry here describes itself, see `document` and `table`.

Functions are registered under the name of the Result class, taken from the annotation of their first parameter. So a
module that renders several Results does not import the modules which define them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from scopes.render.document import make_document
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.result import Result

if TYPE_CHECKING:
    from scopes.render.view import View

F = TypeVar("F", bound=Callable[..., Any])

# The modules in `text`, and the names of the Result classes that each of them renders.
_RESULTS_OF: dict[str, str] = {
    "check": "Checked RuleExplained RuleList RuleTests RunComparison",
    "claims": "BlameList",
    "collaborations": "CollaborationReport",
    "conflicts": "ConflictList ConflictResolved ConflictView",
    "context": "Budget Context HistoryBlock",
    "context_diff": "ContextDifference",
    "conversation": "ConversationView",
    "diff": "Difference",
    "diff_commit": "CommitAccount",
    "list": "ConversationList",
    "log": "Log LogEntry",
    "merge": "FastForwarded MergeAborted MergeConflicted Merged UpToDate",
    "message": "MessageAmended MessageAppended MessageView",
    "range_diff": "RangeDifference",
    "replay": "ReplayAborted ReplayConflicted ReplayUpToDate Replayed",
    "search": "Search SearchCoverage SearchHit",
    "statusline": "UsageStatus",
    "usage": "Usage",
    "why": "Why WhyLines",
}
NOUN_OF = {name: noun for noun, names in _RESULTS_OF.items() for name in names.split()}

# The modules in `text` whose JSON is written by a module of another name in `wire`.
WIRE_OF: dict[str, str] = {
    "log": "message",
    "search": "message",
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
        if module is not None:
            try:
                __import__(module)
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
        for each in kind.__mro__:
            if each.__name__ in self.functions:
                return self.functions[each.__name__]
        return self._default()

    def _default(self) -> Callable[..., Any]:
        raise NotImplementedError


def find_module(package: str, kind: type[Result]) -> str | None:
    """Return the module in `text` or `wire` that renders a Result class; None if the class describes itself."""
    noun = next((NOUN_OF[each.__name__] for each in kind.__mro__ if each.__name__ in NOUN_OF), None)
    if noun is None:
        return None
    return f"scopes.render.{package}.{WIRE_OF.get(noun, noun) if package == 'wire' else noun}"


class _TextRenderer(_Registry):
    def __call__(self, result: Result, view: View) -> None:
        """Render a result as text into a view."""
        self.find(type(result))(result, view)

    def _default(self) -> Callable[..., Any]:
        from scopes.render.table import write_result

        return write_result


class _WireRenderer(_Registry):
    def __init__(self, package: str) -> None:
        super().__init__(package)
        self._taking_options: set[Callable[..., Any]] = set()

    def _default(self) -> Callable[..., Any]:
        return make_document

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
