"""Programs given as arguments: only what certainly runs no command and reads no file is harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.harmless_code import is_harmless

HARMLESS_PYTHON = [
    "print(1)",
    "import sys; print(sys.version)",
    "import json,sys; print(json.load(sys.stdin)['name'])",
    "import json, sys\nfor row in json.load(sys.stdin)['rows']:\n    print(row.get('id'), row['title'])",
    "from collections import Counter\nprint(Counter('abca').most_common(1))",
    "import datetime as d; print(d.datetime.now().isoformat())",
    "import urllib.parse as u; print(u.quote('a b'))",
    "import re,sys; [print(m.group(1)) for m in re.finditer(r'id=(\\d+)', sys.stdin.read())]",
    "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nprint(f(10))",
    "try:\n    print(int('x'))\nexcept ValueError as error:\n    print(error)",
    "print(sorted({'b': 1, 'a': 2}.items(), key=lambda pair: pair[1]))",
    "import hashlib; print(hashlib.sha256(b'x').hexdigest())",
    "while True:\n    break",
    "print(f'{3.14159:.2f}')",
    "",
]
HARMFUL_PYTHON = [
    "import os; os.system('rm -rf x')",
    "import os as json; json.system('x')",
    "from os import system as print; print('x')",
    "import subprocess; subprocess.run(['git', 'push'])",
    "import shutil; shutil.rmtree('x')",
    "import pathlib; pathlib.Path('x').unlink()",
    "open('.env').read()",
    "__import__('os').system('x')",
    "import importlib; importlib.import_module('os')",
    "exec('import os')",
    "eval(input())",
    "compile('x', 'y', 'exec')",
    "import sys; sys.modules['os'].system('x')",
    "import sys; sys._getframe()",
    "import json; json.codecs.open('.env')",
    "import re; re.enum.sys.modules",
    "print.__self__.open('.env')",
    "().__class__.__base__.__subclasses__()",
    "print(().__class__)",
    "__builtins__",
    "globals()['open']('.env')",
    "getattr(str, 'format')",
    "breakpoint()",
    "class A: pass",
    "with x as y: pass",
    "import urllib.request; urllib.request.urlopen('http://x')",
    "import urllib.parse; urllib.request",
    "from . import x",
    "from json import *",
    "import json as os; os.tool",
    "async def f(): pass",
    "import sys; json = sys; json.modules",
    "json.load",
    "print(",
    "\x00",
    "print(" * 2_000 + ")" * 2_000,
    "f = lambda exec: 0\nexec('import os')",
    "[0 for open in []]\nprint(open('.env').read())",
    "exec = 1\ndel exec\nexec('x')",
    "def f(open): return 1\nprint(open('.env'))",
    "if 0:\n    def eval(x): return x\neval('x')",
    "try:\n    int('x')\nexcept ValueError as open:\n    pass\nprint(open('.env'))",
    "for compile in []: pass\ncompile('x', 'y', 'exec')",
    "(input := 1) if 0 else 0\ninput()",
    "from math import pi as open\ndel open\nopen('.env')",
    "import json as eval\ndel eval\neval('x')",
    "def f(*open, **exec): pass\nopen('.env')",
    "print([open for help in []])",
]
HARMLESS_JAVASCRIPT = [
    "console.log(1)",
    "console.log('require(child_process)')",
    "console.log(require('./package.json').version)",
    'console.log(require("package.json").scripts.test)',
    "const a = 1; let b = a + 2; console.log(Math.max(a, b))",
    "console.log(JSON.stringify(String(1)))",
    "console.log(new Date().toISOString())",
]
HARMFUL_JAVASCRIPT = [
    "require('child_process').execSync('x')",
    "require('fs').readFileSync('.env')",
    "require('./run.js')",
    "process.exit()",
    "eval('x')",
    "console.log(process.env.TOKEN)",
    "console.log.constructor('return process')()",
    "console['log']",
    "import('fs')",
    "`${process}`",
    "const {constructor: c} = console",
    "Function('x')()",
    "globalThis.process",
    "console.log(\\u0065val('x'))",
    "fetch('http://x')",
    "const r = require; r('fs')",
    "(require=>0); require('child_process').execSync('x')",
    "{let process = 1}; process.kill(1)",
    "var f = x => {var fs = 1}; fs.rmSync('x')",
    "let child_process; child_process.execSync('x')",
    "[].map(eval => eval); eval('x')",
    "const $ = 1",
]
HARMLESS_PERL = [
    "s/a/b/g",
    "s|a|b|",
    "s/(\\d+)/<$1>/",
    "tr/a-z/A-Z/",
    "print if /x/",
    "print unless /^#/i;",
    'print "x"',
]
HARMFUL_PERL = [
    "system 'x'",
    "s/a/`x`/e",
    "s/a/system('x')/e",
    "s/a/b/ge",
    "s/(?{system 'x'})/b/",
    "s/a/@{[system 'x']}/",
    "print `x`",
    'print "@{[system 1]}"',
    "s/a/b/; system 'x'",
    "print if /$x/",
    "open F, '.env'",
]


def rows(program, *groups):
    return [(program, code) for group in groups for code in group]


@pytest.mark.parametrize(
    ("program", "code"),
    rows("python", HARMLESS_PYTHON) + rows("node", HARMLESS_JAVASCRIPT) + rows("perl", HARMLESS_PERL),
)
def test_a_program_of_allowed_names_is_harmless(program, code):
    assert is_harmless(program, code)


@pytest.mark.parametrize(
    ("program", "code"),
    rows("python", HARMFUL_PYTHON) + rows("node", HARMFUL_JAVASCRIPT) + rows("perl", HARMFUL_PERL),
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_a_program_with_anything_else_is_not(program, code):
    assert not is_harmless(program, code)


@pytest.mark.parametrize("program", ["ruby", "php", "lua", "sqlite3", ""])
def test_other_languages_are_never_harmless(program):
    assert not is_harmless(program, "print(1)")


@pytest.mark.parametrize("program", ["python", "pypy", "node", "nodejs", "bun", "perl"])
def test_a_very_long_program_is_not_read(program):
    assert not is_harmless(program, "1" * 20_001)


class Reached(Exception):
    """A harmless program called something that is not allowed."""


def _refuse(*_arguments, **_keywords):
    raise Reached


_PIECES = (
    "print", "open", "eval", "exec", "__import__", "getattr", "sys", "json", "os", "x", ".", ".", "(", ")", "[", "]", "=",
    ",", ";", "\n", "import ", "from ", " as ", "'x'", "1", "lambda: ", "path", "modules", "loads", "stdin", "format", "read",
)  # fmt: skip

_STATEMENTS = (
    "{0} = 1", "del {0}", "f = lambda {0}: 0", "[0 for {0} in []]", "def {0}(): return 1", "def f({0}): return 1",
    "def f(*{0}): return 1", "if 0:\n    {0} = 1", "for {0} in []: pass", "while 0:\n    {0} += 1", "({0} := 1)",
    "import json as {0}", "from math import pi as {0}", "try:\n    int('x')\nexcept ValueError as {0}:\n    pass",
    "{0}('x')", "print({0}('x'))", "x = {0}", "x('x')", "print([{0} for y in (1,)][0]('x'))", "(lambda z: z('x'))({0})",
    "try:\n    {0}('x')\nexcept TypeError:\n    pass",
)  # fmt: skip
_NAMES = ("open", "exec", "eval", "getattr", "compile", "input", "print", "x", "json")
_PROGRAMS = st.lists(st.tuples(st.sampled_from(_STATEMENTS), st.sampled_from(_NAMES)), min_size=1, max_size=5).map(
    lambda rows: "\n".join(statement.format(name) for statement, name in rows)
)


@given(_PROGRAMS | st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_no_drawn_program_that_is_harmless_reaches_a_dangerous_function(code):
    """Python itself is the oracle: the dangerous functions are replaced by one that raises."""
    if not is_harmless("python", code):
        return
    dangerous = dict.fromkeys(("open", "eval", "exec", "compile", "getattr", "breakpoint", "input"), _refuse)
    allowed = {"print": lambda *_arguments, **_keywords: None, "__import__": __import__}
    try:
        exec(code, {"__builtins__": {**dangerous, **allowed}})
    except Reached:
        pytest.fail(code)
    except Exception:  # noqa: BLE001 - most drawn programs fail
        pass
