"""Walk the syntax tree of a command line and collect the commands that run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from scopes.check.shell_builtins import assign, declare, forget_changed, run_builtin, unset
from scopes.check.shell_collector import Collector, Frame, context_of
from scopes.check.shell_command import Command, Redirection
from scopes.check.shell_grammar import Grammar, leaves, stages_of
from scopes.check.shell_misread import find_misread
from scopes.check.shell_opaque import COMMAND_NOT_FOUND_HANDLERS, find_opaque_assignment, find_opaque_text
from scopes.check.shell_redirections import Redirections, read_redirections
from scopes.check.shell_startup import find_opaque_start
from scopes.check.shell_state import Function, Input, State, Word, either_input, resolve
from scopes.check.shell_unwrap import unwrap
from scopes.check.shell_words import WordReader, add_words, text_of
from scopes.check.shell_wrappers import Step
from scopes.check.shell_written import Script, find_script, read_script
from scopes.lazy_patterns import compile_lazily

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 40  # of statements in statements
MAX_VALUES = 12  # of a loop that is read once for each value
_IN_BACKQUOTES = compile_lazily(r"\\([\\`$])")
_SEVERAL = compile_lazily(r"[*?\[{]")  # a word that may become several
_ASSIGNING = {"variable_assignment", "unset_command", "test_command"}
_NOT_PLAIN = compile_lazily(
    r"\w+(?:\[[^\]]*\])?\+?=|(?:while|until|for|select|if|case|function|exec|time|coproc|!|\[\[)$|\{"
)  # words at the start of a group that make it more than a command
_TOP_OF_REPOSITORY = ["git", "rev-parse", "--show-toplevel"]
_BRANCHES = {"elif_clause", "else_clause", "case_item"}


class Reader:
    """Collects commands; use one for each command line."""

    def __init__(self) -> None:
        self._log = Collector()
        self._grammar = Grammar()
        self._handlers: dict[str, Callable[[Node, Frame, Redirections], None]] = {
            "command": self._command,
            "pipeline": lambda node, frame, tail: self._pipe(stages_of(node), frame, tail, None),
            "list": self._list,
            "redirected_statement": self._redirected,
            "declaration_command": self._declare,
            "file_redirect": self._read_file,
            "negated_command": lambda node, frame, tail: self._all(node.named_children, frame, tail),
        }
        self._compounds: dict[str, Callable[[Node, Frame], None]] = {
            "subshell": self._subshell,
            "command_substitution": self._subshell,
            "process_substitution": self._subshell,
            "if_statement": self._branches,
            "case_statement": self._branches,
            "while_statement": self._loop,
            "c_style_for_statement": self._loop,
            "for_statement": self._for,
            "function_definition": self._function,
            "variable_assignment": self._assign,
            "unset_command": lambda node, frame: unset(node, frame.state, self._reader(frame)),
        }

    @property
    def commands(self) -> list[Command]:
        """The commands so far."""
        return self._log.commands

    def report(self, text: str, directory: str | None, reason: str) -> None:
        """Add a command that cannot be read."""
        self._log.report(text, directory, reason)

    def run_text(self, source: bytes, frame: Frame) -> None:
        """Read a text as a shell runs it."""
        self._log.count(1 + len(source) // 200)
        source, tree = self._grammar.parse(source)
        if tree is None:
            reason: str | None = "it takes too long to read"
        else:
            reason = (
                "it has a syntax error" if tree.has_error else find_misread(tree, source) or find_opaque_text(source)
            )
        if tree is not None:
            self._statement(tree, frame._replace(source=source, depth=frame.depth + 1))
        if reason is not None:
            self._log.report(source.decode("utf-8", "replace"), frame.state.directory, reason, frame)

    def _reader(self, frame: Frame) -> WordReader:
        return WordReader(frame.source, frame.state, lambda node: self._substitute(node, frame))

    def _statement(self, node: Node, frame: Frame, tail: Redirections = Redirections()) -> None:  # noqa: B008
        self._log.count(1 + len(frame.state.variables) // 50)
        if frame.depth > MAX_DEPTH:
            self._log.report(text_of(node, frame.source), frame.state.directory, "it is nested too deeply", frame)
            return
        frame = frame.one_deeper()
        if (handler := self._handlers.get(node.type)) is not None:
            handler(node, frame, tail)
            return
        start = len(self._log.commands)
        if tail.input is not None:
            frame = frame._replace(input=tail.input)
        compound = self._compounds.get(node.type)
        if node.type in _ASSIGNING:
            self._check_assigned(node, frame)
        if compound is not None:
            compound(node, frame)
        elif node.named_child_count:
            self._sequence(node, frame)
            if frame.source.startswith(b"((", node.start_byte):
                self._check_assigned(node, frame)
                forget_changed(text_of(node, frame.source), frame.state)
        self._log.attach(start, tail.files, frame)

    def _read_file(self, node: Node, frame: Frame, _: Redirections) -> None:
        """Read `$(< FILE)`, a redirection without a command."""
        own = read_redirections([node], self._reader(frame), frame.source)
        self._log.emit((), frame, text_of(node, frame.source), own.files)

    def _all(self, nodes: Iterable[Node], frame: Frame, tail: Redirections = Redirections()) -> None:  # noqa: B008
        for node in nodes:
            self._statement(node, frame, tail)

    def _sequence(self, node: Node, frame: Frame) -> None:
        """Read the statements in a node; one before `&` runs in a shell of its own."""
        children = node.children
        for number, child in enumerate(children):
            if child.is_named:
                frame.state.keep_failed_places()
                is_background = number + 1 < len(children) and children[number + 1].type == "&"
                frame.state.files.background += is_background
                self._statement(child, frame._replace(state=frame.state.copy()) if is_background else frame)
                frame.state.files.background -= is_background

    def _substitute(self, node: Node | bytes, frame: Frame) -> Word:
        """Run a command substitution, or a text in backquotes; return its output, or a placeholder for it."""
        start = len(self._log.commands)
        self._log.output = None
        raw = f"`{node.decode('utf-8', 'replace')}`" if isinstance(node, bytes) else text_of(node, frame.source)
        if isinstance(node, bytes):
            self._backquoted(raw, frame._replace(input=None, state=frame.state.copy()))
        else:
            self._statement(node, frame._replace(input=Input() if raw.startswith(">(") else None))
        emitted = self._log.commands[start:]
        output = self._log.take_output()
        is_text = isinstance(node, bytes) or node.type == "command_substitution"
        known = output.value if output is not None and is_text else None
        if known is not None and all(each.program == "cd" for each in emitted[:-1]):
            return Word(known.rstrip("\n"), known.rstrip("\n"))
        name = self._log.placeholder(raw)
        programs = tuple(each.program for each in emitted if each.program)[:8]
        frame.state.variables[name] = word = Word(None, f"${name}", programs)
        return word

    def _subshell(self, node: Node, frame: Frame) -> None:
        inner = frame._replace(state=frame.state.copy())
        raw = text_of(node, frame.source)
        if raw.startswith("`") and "\\" in raw:  # a backslash escapes one more level
            self._backquoted(raw, inner)
        else:
            self._sequence(node, inner)
            self._run_traps(inner, frame.state.traps)

    def _backquoted(self, raw: str, frame: Frame) -> None:
        text = _IN_BACKQUOTES.sub(r"\1", raw[1:-1])
        self.run_text(text.encode("utf-8", "surrogatepass"), frame._replace(depth=frame.depth + 1))

    def _redirected(self, node: Node, frame: Frame, tail: Redirections) -> None:
        body = node.child_by_field_name("body")
        own = read_redirections(node.children_by_field_name("redirect"), self._reader(frame), frame.source)
        joined = Redirections(own.files + tail.files, own.input or tail.input, own.words + tail.words, ())
        start = len(self._log.commands)
        if body is None:
            self._log.attach(start, joined.files, frame)
        else:
            self._statement(body, frame, joined)
        for following in own.following:
            if following.type == "pipeline":
                self._pipe(stages_of(following), frame, Redirections(), self._log.input_after(start, None))
            else:
                self._statement(following, frame)

    def _pipe(self, stages: list[Node], frame: Frame, tail: Redirections, given: Input | None) -> None:
        for number, stage in enumerate(stages, 1):
            start = len(self._log.commands)
            self._log.output = None
            is_here = frame.state.pipes_here and number == len(stages)
            state = frame.state if is_here else frame.state.copy()
            inner = frame._replace(state=state, input=given or frame.input)
            self._statement(stage, inner, tail if number == len(stages) else Redirections())
            given = self._log.input_after(start, given)

    def _list(self, node: Node, frame: Frame, tail: Redirections) -> None:
        rights: list[tuple[str, Node]] = []
        while node.type == "list":
            operator = next((child.type for child in node.children if child.type in {"&&", "||"}), "&&")
            rights.append((operator, node.named_children[-1]))
            node = node.named_children[0]
        self._statement(node, frame)
        state = frame.state
        failed: tuple[str, ...] = ()
        skipped: list[State] = []  # what the shell remembers where the rest of `a && b` was not run
        for number, (operator, right) in enumerate(reversed(rights), 1):
            own = tail if number == len(rights) else Redirections()
            if operator == "&&":
                failed += state.failed + state.places
                state.failed = ()
                skipped.append(state.copy())
                self._statement(right, frame, own)
                continue
            other = state.copy()
            other.join_values(skipped)
            if state.failed:
                other.directory, other.others, other.failed = state.failed[0], state.failed[1:], ()
            self._statement(right, frame._replace(state=other), own)
            state.failed, skipped = (), []
            if leaves(right, frame.source):
                failed = ()
            else:
                state.join([other])
        state.join_values(skipped)
        state.may_have_failed(failed)

    def _branches(self, node: Node, frame: Frame) -> None:
        before = frame.state.copy()
        current = before.copy()
        ends = []
        condition, is_condition = node.child_by_field_name("condition"), False
        complete = node.type == "if_statement" and any(child.type == "else_clause" for child in node.named_children)
        for child in node.named_children:
            if child.type in _BRANCHES:
                ends.append(current)
                current = before.copy()
            elif is_condition:  # it succeeded
                current.failed = ()
            else:
                current.keep_failed_places()
            is_condition = child == condition
            self._statement(child, frame._replace(state=current))
        ends.append(current)
        if not complete:
            ends.append(before)
        ends[0].join(ends[1:])
        frame.state.become(ends[0])

    def _loop(self, node: Node, frame: Frame) -> None:
        """Read a loop; what its body assigns is unknown in it, since an earlier round may have assigned it."""
        inner = frame.state.copy()
        text, body = text_of(node, frame.source), node.child_by_field_name("body")
        if node.type == "while_statement":
            forget_changed(text, inner)
        for child in node.named_children:
            if child == body and node.type != "while_statement":  # behind its initializer
                forget_changed(text, inner)
            self._statement(child, frame._replace(state=inner))
        self._read_again(node, frame, inner)
        frame.state.join([inner])

    def _read_again(self, node: Node, frame: Frame, after: State) -> None:
        """Read a loop once more if its body hands on what its first commands do not know: a function, say."""
        if frame.state.hands_on_less_than(after):
            again = frame.state.copy()
            again.join([after])
            for child in node.named_children:
                self._statement(child, frame._replace(state=again))
            after.join([again])

    def _for(self, node: Node, frame: Frame) -> None:
        variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if variable is None or body is None:
            return
        name = text_of(variable, frame.source)
        values = self._expand(node.children_by_field_name("value"), frame)
        if not 0 < len(values) <= MAX_VALUES:
            values = [Word(None, f"${name}", tuple(program for word in values for program in word.programs)[:8])]
        if any(word.value is None or _SEVERAL.search(word.value) for word in values):
            forget_changed(text_of(body, frame.source), frame.state)
        before = frame.state.copy()
        for value in values:
            frame.state.assign(name, value)
            self._statement(body, frame)
        if len(values) == 1 and before.hands_on_less_than(frame.state):
            self._statement(body, frame)

    def _check_assigned(self, node: Node, frame: Frame) -> None:
        text = text_of(node, frame.source)
        if (reason := find_opaque_assignment(text)) is not None:
            self._log.report(text, frame.state.directory, reason, frame)

    def _assign(self, node: Node, frame: Frame) -> None:
        assign(node, frame.state, self._reader(frame))

    def _declare(self, node: Node, frame: Frame, tail: Redirections) -> None:
        """Read `export` and the like; without an operand, or with -p, it prints variables, and is a command."""
        self._check_assigned(node, frame)
        start, children = len(self._log.commands), node.named_children
        options = [text for child in children if (text := text_of(child, frame.source)).startswith("-")]
        if len(options) == len(children) or any("p" in option for option in options):
            names = [Word(text, text) for text in (text_of(child, frame.source) for child in node.children)]
            self._log.emit(tuple(names), frame, text_of(node, frame.source), tail.files)
            return
        declare(node, frame.state, self._reader(frame))
        self._log.attach(start, tail.files, frame)

    def _function(self, node: Node, frame: Frame) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            if text_of(name, frame.source) in COMMAND_NOT_FOUND_HANDLERS:
                self._log.report(text_of(node, frame.source), frame.state.directory, "it runs for any name", frame)
            frame.state.functions[text_of(name, frame.source)] = (Function(body, frame.source),)

    def _expand(self, nodes: Iterable[Node], frame: Frame) -> list[Word]:
        reader = self._reader(frame)
        words = [word for node in nodes if node.type != "comment" for word in reader.expand(node)]
        self._log.count(len(words))
        return words

    def _command(self, node: Node, frame: Frame, tail: Redirections) -> None:
        reader = self._reader(frame)
        words: list[Word] = []
        redirects, end = [], node.start_byte
        environment = list(frame.environment)
        changed: State | None = None  # variables in front of a command are not those of its shell
        for child in node.named_children:
            gap, end = frame.source[end : child.start_byte], child.end_byte
            if child.type == "variable_assignment":
                changed = changed or frame.state.copy()
                name, value = assign(child, changed, reader)
                self._check_assigned(child, frame)
                environment.append((name, value.value if isinstance(value, Word) else None))
            elif child.type.endswith("_redirect"):
                redirects.append(child)
            elif child.type in {"subshell", "compound_statement"}:  # `time (...)`
                self._statement(child, frame)
            elif child.type not in {"comment", "ERROR"}:
                add_words(words, reader.expand(child), gap)
        own = read_redirections(redirects, reader, frame.source)
        words += [word for extra in (*own.words, *tail.words) for word in reader.expand(extra)]
        self._log.count(len(words))
        if words and words[0].value == "exec" and all(word.text.isdecimal() for word in words[1:]):  # such as `0<`
            frame.state.input = own.input or tail.input or frame.state.input
        given = own.input or tail.input or either_input(frame.state.input, frame.input)
        inner = frame._replace(input=given, environment=tuple(environment))
        own_values = (
            {}
            if changed is None
            else {name: changed.variables[name] for name, _ in environment if name in changed.variables}
        )
        before = frame.state.lend(own_values)
        self._run(tuple(words), inner, text_of(node, frame.source), own.files + tail.files)
        frame.state.take_back(before)

    def _run(self, words: tuple[Word, ...], frame: Frame, text: str, files: tuple[Redirection, ...]) -> None:
        """Run a command: a function, a builtin, what it wraps, or itself."""
        self._log.count(1)
        self._log.output = None
        if frame.wrappers[-1:] in {("time",), ("coproc",)}:  # the grammar reads a group behind these as words
            words = self._without_brace(words, frame, text)
        name = words[0].value if words else None
        bodies = frame.state.functions.get(name or "", ())
        if frame.depth > MAX_DEPTH:
            self._log.report(text, frame.state.directory, "it is nested too deeply", frame)
        elif bodies:
            self._call_any(bodies, words, frame, text, files)
        elif (script := find_script(words, frame.state, (context := context_of(words, frame)).environment)) is not None:
            self._run_file(script, words, frame, text, files)
        elif steps := unwrap(words, frame.input, context.environment, context.settings):
            reason = context.reason or find_opaque_start(words, frame.state, context.environment)
            if reason is not None:
                self._log.report(text, frame.state.directory, reason, frame)
            self._run_steps(steps, words, frame, text, files)
        else:
            directory = frame.state.directory
            self._log.emit(words, frame, text, files)
            run_builtin(words, frame.state, frame.input)
            if name == "pwd" and directory is not None:
                self._log.output = Word(directory, directory)
            elif [word.value for word in words] == _TOP_OF_REPOSITORY:
                self._log.output = frame.state.top_of_repository

    def _run_steps(
        self, steps: list[Step], words: tuple[Word, ...], frame: Frame, text: str, files: tuple[Redirection, ...]
    ) -> None:
        if steps[0].kept:
            self._log.emit(words, frame, text, files)
        for step in steps:
            self._step(step, frame, text, () if step.kept else files)
        if steps[0].wrapper == "trap":
            run_builtin(words, frame.state, frame.input)
            if any(word.text.upper() == "DEBUG" for word in words[2:]):
                self._log.report(text, frame.state.directory, "a trap runs in front of every command", frame)

    def _run_file(
        self, script: Script, words: tuple[Word, ...], frame: Frame, text: str, files: tuple[Redirection, ...]
    ) -> None:
        """Run a file that an earlier command wrote: its texts, if a shell runs them."""
        is_running = script.path in frame.calls
        texts, reason = read_script(script)
        self._log.emit(words, frame, text, files, "a script runs itself" if is_running else reason, is_read=True)
        inner = frame._replace(calls=(*frame.calls, script.path))
        for each in () if is_running else texts:
            step = Step(script.wrapper, script=Word(each, each), arguments=script.arguments, kept=True)
            self._step(step, inner, text, ())

    def _without_brace(self, words: tuple[Word, ...], frame: Frame, text: str) -> tuple[Word, ...]:
        """Return the words behind the `{` of a group."""
        start = next((number for number, word in enumerate(words[:2], 1) if word.text.partition(" ")[0] == "{"), None)
        if start is None:
            return words
        inner = words[start:]
        if frame.wrappers[-1] == "coproc" or (inner and _NOT_PLAIN.match(inner[0].text)):
            self._log.report(text, frame.state.directory, "the grammar reads this group as words", frame)
        return inner[1:] if inner and inner[0].value == "{" else inner

    def _step(self, step: Step, frame: Frame, text: str, files: tuple[Redirection, ...]) -> None:
        state = frame.state
        wrappers = (*frame.wrappers, step.wrapper) if step.wrapper else frame.wrappers
        if step.directory is not None:
            state = state.copy()
            state.directory = resolve(state.directory, self._log.readable(step.directory.text))
        inner = frame._replace(
            state=state,
            wrappers=wrappers,
            environment=frame.environment + step.environment,
            depth=frame.depth + 1,
            settings=frame.settings + step.settings,
        )
        if step.script is None:
            self._run(step.words, inner, text, files)
            return
        if step.wrapper not in {"eval", "trap", "source", "."}:
            inner = inner._replace(state=state.copy())
            inner.state.lend({name: Word(value, value or f"${name}") for name, value in inner.environment})
            inner.state.variables.pop("IFS", None)  # a shell does not take it from its environment
        inner.state.arguments, before = step.arguments or inner.state.arguments, inner.state.arguments
        start = len(self._log.commands)
        self.run_text(step.script.text.encode("utf-8", "surrogatepass"), inner)
        if inner.state is not state:
            self._run_traps(inner, state.traps)
        inner.state.arguments = before
        self._log.attach(start, files, frame)

    def run_line(self, source: bytes, frame: Frame) -> None:
        """Read a command line, and what it leaves for the end of its shell."""
        self.run_text(source, frame)
        self._run_traps(frame, ())

    def _run_traps(self, frame: Frame, inherited: tuple[Word, ...]) -> None:
        """Read again what traps run at the end of a shell, if it differs by then."""
        traps = [each for each in frame.state.traps if each not in inherited]
        if not traps:
            return
        known = {(each.words, each.directory) for each in self._log.commands}
        start = len(self._log.commands)
        frame.state.traps = ()
        for trap in traps:
            inner = frame._replace(wrappers=(*frame.wrappers, "trap"), depth=frame.depth + 1)
            self.run_text(trap.text.encode("utf-8", "surrogatepass"), inner)
        added = self._log.commands[start:]
        self._log.commands[start:] = [each for each in added if (each.words, each.directory) not in known]

    def _call_any(
        self,
        bodies: tuple[Function | None, ...],
        words: tuple[Word, ...],
        frame: Frame,
        text: str,
        files: tuple[Redirection, ...],
    ) -> None:
        """Call a function that has one of several bodies; None stands for the program of its name."""
        before, ends = frame.state.copy(), []
        for function in bodies:
            inner = frame._replace(state=before.copy())
            start = len(self._log.commands)
            if function is None:
                inner.state.functions.pop(words[0].text)
                self._run(words, inner, text, files)
            elif function in frame.calls:
                self._log.emit(words, inner, text, files, "a function calls itself")
            else:
                self._call(function, words, inner)
                self._log.attach(start, files, inner)
            ends.append(inner.state)
        ends[0].join(ends[1:])
        frame.state.become(ends[0])

    def _call(self, function: Function, words: tuple[Word, ...], frame: Frame) -> None:
        inner = frame._replace(
            source=function.source,
            wrappers=(*frame.wrappers, f"{words[0].text}()"),
            depth=frame.depth + 1,
            calls=(*frame.calls, function),
        )
        frame.state.arguments, before = words, frame.state.arguments
        self._statement(function.body, inner)
        frame.state.arguments = before
