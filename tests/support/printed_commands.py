"""The names in the commands that the program prints, and which of them are not quoted for a shell.

People paste what a hint says. Names of branches, tags, topics, agents and paths come from others and may hold
`;`, `$` and `(`. This looks at the sources only: a value is safe if it was quoted, if it is written in the program, or
if its type holds no character that means something to a shell. Values are followed through variables, parameters and
the results of functions, by their names; what cannot be followed is not safe.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from scopes.cli.table import TABLE

HOLE = "\ue0fe"  # a character that no text of the program has
QUOTING = {"quote", "shlex.quote", "shlex.join"}
SAFE_TYPES = {
    "Oid",  # 40 hexadecimal digits
    "MessageId",  # 26 letters and digits; what is fetched is refused if it has another one
    "OperationId",  # the same, given by this program
    "int",
    "float",
    "bool",
}
KEEPING = {
    "BranchName",
    "ConversationId",
    "AgentName",
    "str",
    "sorted",
    "list",
    "tuple",
    "set",
    "frozenset",
    "next",
    "iter",
    "reversed",
    "dict",
    "min",
    "max",
    "islice",
}
SAFE_FIELDS = {
    "other.number": "a number",
    "request.number": "a number",
    "self._of.option": "made by `remote_option`, which quotes",
    "run.option": "the same",
}
SAFE_IN_FILES = {
    ("scopes/sync/change_notes.py", "_option('--title', value.before)"): "quotes its value",
    ("scopes/sync/purge_cures.py", "self._option"): "made by `remote_option`, which quotes",
    ("scopes/sync/lost_on_remote.py", "option"): "`self._of.option`; other functions are called `explain`, too",
    ("scopes/cli/help.py", "' '.join(path)"): "a command of the table",
    ("scopes/cli/help.py", "rows[0][0]"): "the same",
    ("scopes/cli/help.py", "names"): "options of the program",
    ("scopes/cli/parser.py", "' '.join(command.path)"): "a command of the table",
    ("scopes/cli/suggestion.py", "' '.join(line.path)"): "a command of the table",
    ("scopes/cli/suggestion.py", "table.renamed[old]"): "the same",
    ("scopes/cli/command_help.py", "' '.join(docs.command.path)"): "the same",
    ("scopes/cli/suggestion.py", "name"): "a command of the table",
    ("scopes/check/baseline.py", "_explain(error)"): "prose: a report of `scopes check`",
    ("scopes/cli/check_hook.py", "text"): "prose: `scopes check --hook failed`",
    ("scopes/cli/import_runner.py", "error"): "prose: messages of `scopes acp` wait",
    ("scopes/importers/live_records.py", "session.native_id"): "prose: `scopes acp is recording session`",
    ("scopes/render/reports.py", "_data(message)"): "prose: the title of a report",
    ("scopes/server/acp/continuation.py", "holder.process"): "prose: another `scopes acp`",
}
KEEPING_METHODS = {"join", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "lower", "upper", "replace"}
_VERBS = "|".join(
    sorted({re.escape(path[0]) for path in (*TABLE.commands, *TABLE.groups)} | {words[0] for words in TABLE.taken})
)
COMMAND = re.compile(rf"\bscopes (?:{HOLE}|--?[a-zA-Z]|(?:{_VERBS})(?![\w]))")
END = re.compile(r"`|; |;$|\n|, or (?!scopes)|\. |\?")
_WRAPPED = re.compile(r"(?:tuple|list|set|frozenset|Sequence|Iterable|Iterator|Collection|type)\[(.*?)(?:, \.\.\.)?\]")


class Place(NamedTuple):
    """A value in a printed command that is not quoted."""

    path: str
    line: int
    value: str
    text: str


@dataclass(eq=False)
class Block:
    """A function, or the body of a module: what its variables are."""

    node: ast.AST
    module: Module
    owner: str | None = None
    outer: Block | None = None
    values: dict[str, list[ast.expr | None]] = field(default_factory=lambda: defaultdict(list))
    types: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Module:
    """A module of the program."""

    path: str
    tree: ast.Module
    block_of: dict[ast.AST, Block] = field(default_factory=dict)


class Program:
    """All modules of a program, with what their functions, classes and constants are."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.modules = [Module(path, ast.parse(text)) for path, text in sources.items()]
        self.functions: dict[str, list[Block]] = defaultdict(list)
        self.constants: dict[str, list[tuple[ast.expr, Block]]] = defaultdict(list)
        self.fields: dict[str, dict[str, str]] = defaultdict(dict)
        self.bases: dict[str, list[str]] = {}
        self.calls: dict[str, list[tuple[ast.Call, Block]]] = defaultdict(list)
        self._known: dict[ast.AST, bool] = {}
        for module in self.modules:
            self._read(module.tree, Block(module.tree, module), None)

    def _read(self, node: ast.AST, block: Block, owner: str | None) -> None:  # noqa: C901 - a case for each node
        block.module.block_of[node] = block
        match node:
            case ast.ClassDef():
                owner = node.name
                self.bases[owner] = [ast.unparse(base) for base in node.bases]
            case ast.FunctionDef() | ast.Lambda():
                block = Block(node, block.module, owner, block)
                for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                    if each.annotation is not None:
                        block.types[each.arg] = ast.unparse(each.annotation)
                if isinstance(node, ast.FunctionDef):
                    self.functions[node.name].append(block)
                    decorators = {ast.unparse(each) for each in node.decorator_list}
                    if owner is not None and node.returns is not None and decorators & {"property", "cached_property"}:
                        self.fields[owner][node.name] = ast.unparse(node.returns)
                owner = None
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value, block, owner)
            case ast.AnnAssign(target=ast.Name(name), annotation=annotation, value=value):
                text = ast.unparse(annotation)
                if owner is not None:
                    self.fields[owner][name] = text
                else:
                    block.types[name] = text.removeprefix("Final[").removesuffix("]") if "Final[" in text else text
                    self._bind(node.target, value, block, owner)
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                self._bind(target, value, block, owner)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._bind(target, ast.Starred(value), block, owner)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._bind(target, None, block, owner)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                block.values[name].append(None)
            case ast.Call():
                self.calls[name_of(node.func)].append((node, block))
        for value in map(node.__dict__.get, node._fields):  # as `ast.iter_child_nodes`, in half of the time
            for child in value if type(value) is list else (value,):
                if isinstance(child, ast.AST) and child._fields:
                    self._read(child, block, owner)

    def _bind(self, target: ast.expr, value: ast.expr | None, block: Block, owner: str | None) -> None:
        match target, value:
            case ast.Name(name), _:
                block.values[name].append(value)
                if isinstance(block.node, ast.Module) and value is not None:
                    self.constants[name].append((value, block))
            case (ast.Tuple(targets), ast.Tuple(values)) if len(targets) == len(values):
                for one, other in zip(targets, values, strict=True):
                    self._bind(one, other, block, owner)
            case ((ast.Tuple(targets) | ast.List(targets)), _):
                for one in targets:
                    self._bind(one.value if isinstance(one, ast.Starred) else one, value, block, owner)

    # types

    def type_of(self, node: ast.expr, block: Block, depth: int = 0) -> str | None:  # noqa: C901 - the same
        """Return the declared type of an expression, `| None` left out; None if it is not found by names."""
        if depth > 6:
            return None
        found: str | None = None
        match node:
            case ast.Name("self") if block.owner is not None:
                found = block.owner
            case ast.Name(name):
                home = find_home(block, name)
                if home is not None and name in home.types:
                    found = home.types[name]
                elif home is not None and len(home.values[name]) == 1 and home.values[name][0] is not None:
                    found = self.type_of(home.values[name][0], home, depth + 1)
            case ast.Starred(value) | ast.Subscript(value, ast.Constant() | ast.UnaryOp()):
                whole = self.type_of(value, block, depth + 1)
                wrapped = None if whole is None else _WRAPPED.fullmatch(whole)
                found = None if wrapped is None else wrapped[1]
            case ast.Subscript(value, ast.Slice()):
                found = self.type_of(value, block, depth + 1)
            case ast.Call(func=ast.Name("next" | "min" | "max"), args=[first, *_]):
                found = self.type_of(ast.Starred(first), block, depth + 1)
            case ast.Call(func=ast.Name("len" | "int" | "sum")):
                found = "int"
            case ast.Call(func=ast.Name("sorted" | "list" | "tuple" | "set"), args=[first, *_]):
                found = self.type_of(first, block, depth + 1)
            case ast.Call(func=ast.Name(name)) if name in self.fields or name in SAFE_TYPES:
                found = name
            case ast.Call(func=func):
                kinds = {ast.unparse(each.node.returns) for each in self._called(func) if each.node.returns is not None}
                found = kinds.pop() if len(kinds) == 1 else None
            case ast.Attribute(value, name):
                owner = self.type_of(value, block, depth + 1)
                if owner in self.fields:
                    found = self._field(owner, name)
                else:
                    kinds = {types[name] for types in self.fields.values() if name in types}
                    if all(self.is_safe_type(kind) for kind in kinds):
                        found = next(iter(kinds), None)
        return None if found is None else plain_type(found)

    def _field(self, owner: str, name: str) -> str | None:
        if name in self.fields[owner]:
            return self.fields[owner][name]
        found = [self._field(base, name) for base in self.bases.get(owner, ()) if base in self.fields]
        return next((each for each in found if each is not None), None)

    def _called(self, func: ast.expr) -> list[Block]:
        return self.functions.get(name_of(func), [])

    def is_safe_type(self, text: str) -> bool:
        """Return True if no value of a type holds a character that means something to a shell."""
        text = plain_type(text)
        if (wrapped := _WRAPPED.fullmatch(text)) is not None:
            return self.is_safe_type(wrapped[1])
        if text in SAFE_TYPES or text.startswith("Literal["):
            return True
        if any(base in {"StrEnum", "IntEnum"} for base in self.bases.get(text, ())):
            return True
        known = self.constants.get(text, [])
        return bool(known) and all(self.is_safe_type(ast.unparse(value)) for value, _ in known)

    # values

    def is_safe(self, node: ast.expr | None, block: Block) -> bool:
        """Return True if a shell takes each value of an expression as a part of one word, or as words of the program."""
        if node is None:
            return False
        if node not in self._known:
            self._known[node] = True  # a value that depends on itself
            self._known[node] = self._is_safe(node, block)
        return self._known[node]

    def _is_safe(self, node: ast.expr, block: Block) -> bool:
        kind = self.type_of(node, block)
        if kind is not None and self.is_safe_type(kind):
            return True
        match node:
            case ast.Constant():
                return True
            case ast.JoinedStr(values) | ast.BoolOp(values=values):
                return all(self.is_safe(each, block) for each in values)
            case ast.Tuple(values) | ast.List(values) | ast.Set(values):
                return all(self.is_safe(each, block) for each in values)
            case ast.Dict(keys, values):
                return all(self.is_safe(each, block) for each in (*keys, *values))
            case ast.FormattedValue(value) | ast.Starred(value) | ast.Subscript(value) | ast.NamedExpr(value=value):
                return self.is_safe(value, block)
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
                return self.is_safe(one, block) and self.is_safe(other, block)
            case ast.ListComp(elt) | ast.SetComp(elt) | ast.GeneratorExp(elt):
                return self.is_safe(elt, block)
            case ast.Name(name):
                return self._is_safe_name(name, block)
            case ast.Attribute():
                return ast.unparse(node) in SAFE_FIELDS
            case ast.Call():
                return self._is_safe_call(node, block)
        return False

    def _is_safe_name(self, name: str, block: Block) -> bool:
        home = find_home(block, name)
        if home is None:
            known = self.constants.get(name, [])
            return bool(known) and all(self.is_safe(value, each) for value, each in known)
        given = home.values.get(name, [])
        if name in parameters(home.node):
            return self._is_safe_parameter(name, home) and all(self.is_safe(each, home) for each in given)
        return bool(given) and all(self.is_safe(each, home) for each in given)

    def _is_safe_parameter(self, name: str, block: Block) -> bool:
        node = block.node
        if not isinstance(node, ast.FunctionDef):
            return False
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        is_method = names[:1] in (["self"], ["cls"])
        defaults = dict(zip(reversed(names), reversed(node.args.defaults), strict=False))
        defaults |= {one.arg: value for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)}
        is_private = node.name.startswith("_")
        calls = [each for each in self.calls.get(node.name, []) if not is_private or each[1].module is block.module]
        for call, caller in calls:
            given = next((each.value for each in call.keywords if each.arg == name), None)
            if given is None and name in names:
                at = names.index(name) - is_method
                given = call.args[at] if at < len(call.args) else defaults.get(name)
            elif given is None:
                given = defaults.get(name)
            if given is None or not self.is_safe(given, caller):
                return False
        return bool(calls)

    def _is_safe_call(self, node: ast.Call, block: Block) -> bool:
        name = name_of(node.func)
        if ast.unparse(node.func) in QUOTING:
            return True
        if isinstance(node.func, ast.Name) and name == "map" and ast.unparse(node.args[0]) in QUOTING:
            return True
        if isinstance(node.func, ast.Name) and name in KEEPING:
            return all(self.is_safe(each, block) for each in node.args)
        if isinstance(node.func, ast.Attribute) and name in KEEPING_METHODS:
            return all(self.is_safe(each, block) for each in (node.func.value, *node.args))
        results = [(each, found) for each in self._called(node.func) for found in returned(each.node)]
        return bool(results) and all(self.is_safe(value, found) for found, value in results)

    # commands

    def find_unquoted(self) -> Iterator[Place]:
        """Yield the values in commands that may hold what a shell does not take as a part of a word."""
        for module in self.modules:
            for node, block in module.block_of.items():
                if isinstance(node, ast.JoinedStr):
                    for value in values_in_commands(node):
                        name = ast.unparse(value.value)
                        known = (module.path, name) in SAFE_IN_FILES
                        if not known and not self.is_safe(value.value, block):
                            yield Place(module.path, node.lineno, name, text_of(node))
                elif is_composed_otherwise(node):
                    yield Place(module.path, node.lineno, ast.unparse(node), "not an f-string")


def plain_type(text: str) -> str:
    """Return a type without `| None` and quotation marks."""
    return " | ".join(part for part in text.strip("'\"").split(" | ") if part != "None")


def name_of(func: ast.expr) -> str:
    """Return the last name of what is called; `load("module:name")` calls that name."""
    match func:
        case ast.Call(func=ast.Name("load"), args=[ast.Constant(str(text))]):
            return text.rpartition(":")[2]
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def parameters(node: ast.AST) -> set[str]:
    """Return the names of the parameters of a function."""
    if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return set()
    extra = [each for each in (node.args.vararg, node.args.kwarg) if each is not None]
    return {each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *extra)}


def find_home(block: Block | None, name: str) -> Block | None:
    """Return the function that has a variable, or the module; None if it is imported or not found."""
    while block is not None and name not in block.values and name not in parameters(block.node):
        block = block.outer
    return block


def returned(node: ast.AST) -> list[ast.expr | None]:
    """Return what a function returns or yields, without what the functions in it do."""
    found: list[ast.expr | None] = []
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.Return, ast.Yield, ast.YieldFrom)):
            found.append(each.value)
        if not isinstance(each, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(each))
    return [each for each in found if not (isinstance(each, ast.Constant) and each.value is None)]


def text_of(node: ast.JoinedStr) -> str:
    """Return the text of an f-string with `{}` for each value."""
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)


def values_in_commands(node: ast.JoinedStr) -> list[ast.FormattedValue]:
    """Return the values of an f-string that belong to a command in it."""
    text = "".join(str(each.value) if isinstance(each, ast.Constant) else HOLE for each in node.values)
    values = iter([each for each in node.values if isinstance(each, ast.FormattedValue)])
    at_value = {at: next(values) for at, sign in enumerate(text) if sign == HOLE}
    inside: dict[int, ast.FormattedValue] = {}
    for command in COMMAND.finditer(text):
        end = END.search(text, command.start())
        stop = len(text) if end is None else end.start()
        inside |= {at: value for at, value in at_value.items() if command.start() < at < stop}
    return list(inside.values())


def is_composed_otherwise(node: ast.AST) -> bool:
    """Return True for a text with a command that is put together with `+`, `%` or `format`."""
    match node:
        case ast.BinOp(ast.Constant(str(text)), ast.Add() | ast.Mod()):
            return COMMAND.search(text) is not None
        case ast.Call(ast.Attribute(ast.Constant(str(text)), "format")):
            return COMMAND.search(text) is not None
    return False


def read_program(root: Path) -> Program:
    """Read all modules of the program."""
    return Program({str(each.relative_to(root)): each.read_text() for each in sorted((root / "scopes").rglob("*.py"))})
