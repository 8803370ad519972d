"""Recognize short programs in other languages that run no command and read no file, by what they may contain.

The lists name what is allowed: a program that has anything else is not harmless.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from scopes.lazy_patterns import compile_lazily

if TYPE_CHECKING:
    import ast

_MAX_LENGTH: Final = 20_000
_MODULES: Final = {  # of Python, with the names that may be used; None for all
    "sys": {"stdin", "stdout", "stderr", "argv", "exit", "version", "version_info", "path", "executable", "platform",
            "maxsize", "prefix", "byteorder", "getsizeof", "float_info"},
    "json": {"load", "loads", "dump", "dumps", "JSONDecodeError"},
    "re": {"findall", "finditer", "search", "match", "fullmatch", "sub", "split", "compile", "escape", "I", "M", "S",
           "DOTALL", "MULTILINE", "IGNORECASE", "VERBOSE"},
    "math": None,
    "time": {"time", "strftime", "gmtime", "localtime", "perf_counter", "monotonic", "sleep"},
    "datetime": {"datetime", "date", "timedelta", "timezone", "time", "UTC"},
    "collections": {"Counter", "defaultdict", "OrderedDict", "deque", "namedtuple"},
    "itertools": None,
    "statistics": {"mean", "median", "stdev"},
    "string": {"ascii_letters", "digits", "punctuation", "ascii_lowercase", "ascii_uppercase"},
    "hashlib": {"md5", "sha1", "sha256", "sha512"},
    "base64": {"b64encode", "b64decode", "urlsafe_b64encode", "urlsafe_b64decode"},
    "binascii": {"hexlify", "unhexlify"},
    "uuid": {"uuid4", "UUID", "uuid1", "uuid5"},
    "textwrap": {"dedent", "indent", "fill", "wrap"},
    "secrets": {"token_hex", "token_urlsafe", "token_bytes"},
    "random": {"random", "randint", "choice", "seed", "sample"},
    "urllib.parse": {"quote", "unquote", "urlparse", "parse_qs", "urlencode"},
    "html": {"escape", "unescape"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "struct": {"pack", "unpack", "calcsize"},
    "unicodedata": None,
}  # fmt: skip
_BUILTINS: Final = frozenset(
    {"print", "len", "range", "sorted", "sum", "min", "max", "abs", "round", "int", "float", "str", "bool", "list",
     "dict", "set", "tuple", "frozenset", "enumerate", "zip", "map", "filter", "any", "all", "reversed", "repr",
     "chr", "ord", "hex", "bin", "oct", "bytes", "bytearray", "isinstance", "type", "divmod", "pow", "hash",
     "iter", "next", "slice", "Exception", "ValueError", "KeyError", "TypeError", "IndexError", "StopIteration",
     "format", "complex", "SystemExit", "exit", "quit"}
)  # fmt: skip
_METHODS: Final = frozenset(
    {"get", "items", "keys", "values", "append", "extend", "insert", "pop", "remove", "update", "add", "discard",
     "setdefault", "copy", "clear", "index", "count", "sort", "reverse", "strip", "lstrip", "rstrip", "split",
     "rsplit", "splitlines", "join", "replace", "startswith", "endswith", "lower", "upper", "title", "capitalize",
     "encode", "decode", "isdigit", "isalpha", "isspace", "isalnum", "isupper", "islower", "find", "rfind",
     "partition", "rpartition", "removeprefix", "removesuffix", "zfill", "ljust", "rjust", "center", "format",
     "read", "readline", "readlines", "group", "groups", "groupdict", "start", "end", "span", "findall", "search",
     "match", "sub", "finditer", "fullmatch", "hexdigest", "digest", "isoformat", "strftime", "timestamp",
     "strptime", "fromtimestamp", "utcnow", "now", "today", "date", "total_seconds", "fromisoformat", "year",
     "month", "day", "hour", "minute", "second", "days", "seconds", "most_common", "elements", "union",
     "intersection", "difference", "issubset", "issuperset", "hex", "flush", "from_bytes", "to_bytes",
     "bit_length", "swapcase", "casefold", "expandtabs", "translate", "popleft", "appendleft", "fromkeys",
     "is_integer", "real", "imag", "netloc", "path", "scheme", "query", "hostname", "port", "major", "minor",
     "micro", "releaselevel", "buffer", "pos", "lineno", "msg", "colno", "utc", "max", "min"}
)  # fmt: skip
_SYNTAX: Final = frozenset(
    {"Module", "Expr", "Import", "alias", "Assign", "AugAssign", "AnnAssign", "Name", "Load", "Store", "Constant",
     "Call", "Attribute", "keyword", "Subscript", "Slice", "List", "Tuple", "Dict", "Set", "BinOp", "UnaryOp",
     "BoolOp", "Compare", "IfExp", "If", "For", "While", "Break", "Continue", "Pass", "ListComp", "DictComp",
     "SetComp", "GeneratorExp", "comprehension", "JoinedStr", "FormattedValue", "Starred", "ImportFrom", "Assert",
     "Try", "ExceptHandler", "Raise", "Lambda", "arguments", "arg", "FunctionDef", "Return", "NamedExpr", "Delete",
     "Del", "Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "LShift", "RShift", "BitOr", "BitXor", "BitAnd",
     "MatMult", "And", "Or", "Not", "Invert", "UAdd", "USub", "Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is",
     "IsNot", "In", "NotIn"}
)  # fmt: skip
_PYTHON_GLOBALS: Final = frozenset((*dir(builtins), "copyright", "credits", "help", "license"))
_STRING: Final = compile_lazily(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
_JSON_REQUIRE: Final = compile_lazily(r"\brequire\(\s*['\"](?:\.{0,2}/)?[\w@./-]+\.json['\"]\s*\)")
_JAVASCRIPT_WORD: Final = compile_lazily(r"(\.?)\s*([A-Za-z_$][\w$]*)")
_JAVASCRIPT_NAMES: Final = frozenset(
    {"console", "log", "error", "JSON", "stringify", "parse", "Math", "Object", "Array", "String", "Number",
     "Boolean", "Date", "Map", "Set", "const", "let", "var", "for", "of", "in", "if", "else", "return", "true",
     "false", "null", "undefined", "typeof", "new", "function", "Infinity", "NaN", "parseInt", "parseFloat",
     "isNaN"}
)  # fmt: skip
_JAVASCRIPT_DENIED: Final = frozenset(
    {"constructor", "__proto__", "prototype", "call", "apply", "bind", "env", "mainModule"}
)
# Globals of Node.js and Bun with which a program could do more; modules are globals of `node -e`.
_NODE_GLOBALS: Final = frozenset(
    {"require", "module", "exports", "process", "global", "globalThis", "self", "window", "eval", "Function",
     "import", "Reflect", "Proxy", "WebAssembly", "Worker", "fetch", "Request", "WebSocket", "EventSource",
     "navigator", "setTimeout", "setInterval", "setImmediate", "queueMicrotask", "Buffer", "Performance",
     "performance", "BroadcastChannel", "async_hooks", "buffer", "child_process", "cluster", "crypto", "dgram",
     "diagnostics_channel", "dns", "domain", "fs", "http", "http2", "https", "inspector", "net", "os", "perf_hooks",
     "readline", "repl", "sea", "sqlite", "stream", "sys", "test", "timers", "tls", "trace_events", "tty", "util",
     "v8", "vm", "wasi", "worker_threads", "zlib", "Bun", "Deno", "$"}
)  # fmt: skip
_JAVASCRIPT_TEXT: Final = compile_lazily(r"[\w\s.,;:(){}+\-*%<>=!&|?$]*")
_PERL: Final = compile_lazily(
    r"(?:s|tr|y)([/|#,!%])((?:(?!\1)[^\\$@`]|\\[^\\]|\$(?=\1|\))|\$\d|\\\\)*)\1((?:(?!\1)[^\\$@`]|\\.|\$\d|\$&)*)\1[gimsxr]*\s*;?"
    r"|print(?:\s+(?:if|unless)\s+/(?:[^/\\$@`]|\\.)*/[imsx]*|\s+\d+|\s+\"[^\"$@\\`]*\")?\s*;?"
)


def is_harmless(program: str, code: str) -> bool:
    """Return True if a program in Python, JavaScript or Perl is certainly harmless."""
    if len(code) > _MAX_LENGTH:
        return False
    if program in {"python", "pypy"}:
        return _is_harmless_python(code)
    if program in {"node", "nodejs", "bun"}:
        return _is_harmless_javascript(code)
    return program == "perl" and "(?" not in code and _PERL.fullmatch(code.strip()) is not None


def _is_harmless_python(code: str) -> bool:
    try:
        from ast import parse

        tree: ast.Module = parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    from ast import walk

    nodes = list(walk(tree))
    if any(type(node).__name__ not in _SYNTAX for node in nodes):
        return False
    names = _imported(nodes)
    if names is None:
        return False
    bound = set(_bound(nodes))
    if bound & names.keys() or any(_hides_builtin(name) for name in bound | names.keys()):
        return False
    return all(_is_allowed(node, names, bound) for node in nodes)


def _hides_builtin(name: str) -> bool:
    """Return True for a name that means something that is not allowed wherever the program has not bound it."""
    return name in _PYTHON_GLOBALS and name not in _BUILTINS


def _imported(nodes: list[Any]) -> dict[str, str] | None:
    """Return the imported modules by name; None if one of them, or a name from one, is not allowed."""
    names: dict[str, str] = {}
    for node in nodes:
        kind = type(node).__name__
        if kind == "ImportFrom":
            allowed = _MODULES.get(node.module or "", set())
            if node.level or any(allowed is not None and each.name not in allowed for each in node.names):
                return None
        elif kind == "Import":
            for each in node.names:
                if each.name not in _MODULES or ("." in each.name and each.asname is None):
                    return None
                names[each.asname or each.name] = each.name
    return names


def _bound(nodes: list[Any]) -> Iterator[str]:
    """Yield the names that a program defines itself, or imports from an allowed module."""
    for node in nodes:
        kind = type(node).__name__
        if kind == "ImportFrom":
            yield from (each.asname or each.name for each in node.names)
        elif kind == "Name" and type(node.ctx).__name__ == "Store":
            yield node.id
        elif kind == "arg":
            yield node.arg
        elif kind == "FunctionDef" or (kind == "ExceptHandler" and node.name):
            yield node.name


def _is_allowed(node: ast.AST, names: dict[str, str], bound: set[str]) -> bool:
    kind = type(node).__name__
    if kind == "Name":
        name = getattr(node, "id", "")
        return "__" not in name and (name in bound or name in names or name in _BUILTINS)
    if kind == "Attribute":
        attribute, owner = getattr(node, "attr", ""), getattr(node, "value", None)
        module = names.get(getattr(owner, "id", ""))
        if module is None:
            return attribute in _METHODS
        allowed = _MODULES[module]
        return not attribute.startswith("_") and (allowed is None or attribute in allowed)
    return True


def _is_harmless_javascript(code: str) -> bool:
    text = _STRING.sub("''", _JSON_REQUIRE.sub("''", code)).replace("''", "")
    if "[" in text or not _JAVASCRIPT_TEXT.fullmatch(text):
        return False
    declared = set(re.findall(r"(?:const|let|var)\s+([A-Za-z_$][\w$]*)", text)) | set(
        re.findall(r"([\w$]+)\s*=>", text)
    )
    if declared & _NODE_GLOBALS:
        return False  # the declaration may hold in another block or function than the use
    return all(
        name not in _JAVASCRIPT_DENIED and (dot or name in _JAVASCRIPT_NAMES or name in declared)
        for dot, name in _JAVASCRIPT_WORD.findall(text)
    )
