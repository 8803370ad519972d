"""What a policy file may hold: every table and key, the values that are refused, and the line of each mistake."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.default_tests import DEFAULT_TESTS
from scopes.check.explain import explain_rule, list_rules
from scopes.check.findings import LEVELS
from scopes.check.own_rule_forms import _FORMS
from scopes.check.own_rules import KINDS
from scopes.check.policy import FAIL_ON, FORMS_HINT, PRESETS, Policy, parse_policy
from scopes.check.rules.registry import RULES
from scopes.errors import Invalid, NotFound
from tests.check.made_runs import judge, make_run, parse, shell

RULE = '[[rule]]\nid = "ours/x"\nexpect = "never run(a **)"\n'
SUPPRESSION = '[[suppress]]\nrule = "run/empty"\nreason = "why"\nuntil = 2027-03-31\n'
EXAMPLES = {bool: ["true", "1", '"x"'], int: ["3", "true", '"x"', "1.5"], float: ["0.25", "1", "true", '"x"'],
            list: ['["a"]', '"a"', "[1]", "3"], type(None): ["2", "2.5", '"2"', "true"]}  # fmt: skip
FITTING = {bool: 1, int: 1, float: 2, list: 1, type(None): 2}  # how many of the examples fit, the first ones


def mistake(text):
    """Return the message and the hint of the refusal of a policy."""
    with pytest.raises(Invalid) as caught:
        parse(text)
    return caught.value.message.removeprefix("scopes-check.toml:"), caught.value.hint


def test_an_empty_policy_is_the_default():
    assert parse("# nothing\n") == Policy(path="scopes-check.toml")
    assert (Policy().preset, Policy().fail_on, Policy().tests) == ("recommended", "error", DEFAULT_TESTS)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("fail_on", FAIL_ON)
def test_preset_and_limit_are_words_of_their_lists(preset, fail_on):
    policy = parse(f'preset = "{preset}"\nfail_on = "{fail_on}"\n')
    assert (policy.preset, policy.fail_on) == (preset, fail_on)


@pytest.mark.parametrize("level", LEVELS)
def test_each_rule_can_have_each_level(level):
    policy = parse("".join(f'[rules."{rule}"]\nlevel = "{level}"\n' for rule in RULES))
    assert policy.levels == dict.fromkeys(RULES, level)
    assert list(policy.lines.values()) == list(range(1, 2 * len(RULES), 2))


PARAMETERS = [(rule.id, each) for rule in RULES.values() for each in rule.parameters]


@pytest.mark.parametrize(("rule", "parameter"), PARAMETERS, ids=lambda each: getattr(each, "name", each))
def test_a_parameter_has_the_type_of_its_default(rule, parameter):
    """A list of numbers would end the check with an error in the middle of a run."""
    kind = type(parameter.default)
    for number, value in enumerate(EXAMPLES[kind]):
        text = f'[rules."{rule}"]\n{parameter.name} = {value}\n'
        if number < FITTING[kind]:
            assert parameter.name in parse(text).parameters[rule]
        else:
            assert mistake(text)[0].startswith(f"2:1: {parameter.name} of {rule} must be ")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("presett = 1\n", "1:1: a policy has no key 'presett'", "did you mean 'preset'?"),
        ("zzz = 1\n", "1:1: a policy has no key 'zzz'", None),
        ('\n\nfail_on = "bad"\n', "3:1: fail_on = 'bad' is not one of error, warning, note, none", None),
        ("preset = 1\n", "1:1: preset = 1 is not one of recommended, strict, read-only", None),
        ('tests = "pytest"\n', "1:1: tests is not a list of texts", None),
        ("tests = [1]\n", "1:1: tests is not a list of texts", None),
        ("rules = 1\n", "1:1: rules is not a table", None),
        ("rule = 1\n", "1:1: rule is not a list of tables: write [[rule]]", None),
        ('[suppress]\nrule = "x"\n', "1:2: suppress is not a list of tables: write [[suppress]]", None),
        ('[rules]\n"run/empty" = 1\n', "2:2: the settings of run/empty are not a table", 'write [rules."run/empty"] on a line of its own, and level = "off" below it, for example'),
        ('[rules."run/emty"]\n', "1:9: there is no rule 'run/emty'", "did you mean 'run/empty'?"),
        ('[rules."run/empty"]\nlevel = "high"\n', "2:1: level = 'high' is not one of error, warning, note, off", None),
        ('[rules."net/host"]\nhost = ["x"]\n', "2:1: net/host has no parameter 'host'", "did you mean 'hosts'?"),
        (RULE + "lvl = 1\n", "4:1: a rule has no key 'lvl'", "did you mean 'level'?"),
        (RULE + 'scope = "all"\n', "4:1: scope = 'all' is not one of run, each", None),
        (RULE + 'match = "a"\n', "4:1: match is not a list of texts", None),
        ('[[rule]]\nid = "ours/x"\n', "1:3: a rule needs `id` and `expect`", None),
        ('[[rule]]\nexpect = "some test"\n', "1:3: a rule needs `id` and `expect`", None),
        (RULE + '[[rule]]\nid = "ours/y"\n', "4:3: a rule needs `id` and `expect`", None),
        (RULE + RULE, "5:1: there is another rule 'ours/x'", None),
        (RULE.replace("ours/x", "run/empty"), "2:1: there is another rule 'run/empty'", None),
        (
            RULE + '[[rule]]\nid = "ours/y"\nexpect = "never rn(a)"\n',
            "6:1: ours/y: column 7: an event is missing: one of run, edit, read, tool, fetch, text, agent, test",
            f"did you mean 'run'?\n{FORMS_HINT}",
        ),
        (RULE + 'match = ["b"]\n', "4:1: ours/x does not match its example 'b'", None),
        (RULE + 'not_match = ["b", "x && a"]\n', "4:1: ours/x matches 'x && a' of `not_match`", None),
        (SUPPRESSION + "untill = 1\n", "5:1: a suppression has no key 'untill'", "did you mean 'until'?"),
        (SUPPRESSION.replace("2027-03-31", '"2027-03-31"'), "4:1: `until` is a date without quotes: until = 2027-03-31", None),
        (SUPPRESSION.replace('"why"', '" "'), "3:1: `reason` of a suppression is empty", None),
        (SUPPRESSION + SUPPRESSION.replace('"why"', "1"), "7:1: `reason` of a suppression is a text in quotes, not 1", None),
        (SUPPRESSION + 'directory = "web"\n', "5:1: `directory` of a suppression needs `match`", None),
        (
            SUPPRESSION.replace("03-31", "03-31T10:00:00"),
            "4:1: `until` is a date without a time: until = 2027-03-31",
            None,
        ),
        ('[rules."budget/cost"]\nmax_usd = nan\n', "2:1: max_usd of budget/cost must be a finite number", None),
        ('[rules."budget/cost"]\nmax_usd = inf\n', "2:1: max_usd of budget/cost must be a finite number", None),
        ('[rules."tools/failures"]\nmax_share = nan\n', "2:1: max_share of tools/failures must be a finite number", None),
        (SUPPRESSION + 'match = ["git push"]\n', "5:1: `match` of a suppression is a text in quotes, not ['git push']", None),
        ('[[tool_as_test]]\ntool = "x"\n', "2:1: a tool that runs tests has no key 'tool'", None),
        ("[[tool_as_test]]\n", "1:3: a tool that runs tests needs `name`", None),
        ('[[tool_as_test]]\nname = "a"\n[[tool_as_test]]\nname = 1\n', "4:1: `name` of a tool that runs tests is a text in quotes, not 1", None),
        ("a = \n", "1:5: Invalid value", "a policy is a TOML file, see: man scopes-check"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_line_its_column_and_the_nearest_word(text, message, hint):
    assert mistake(text) == (message, hint)


TWO_RULES = RULE + '[[rule]]\nid = "ours/y"\nexpect = "some test"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[rule]]\nid = 5\nexpect = "some test"\n', "2:1: `id` of a rule is a text in quotes, not 5"),
        ('[[rule]]\n  id = "x"\n  expect = 2027-01-01\n', "3:3: `expect` of a rule is a text in quotes, not 2027-01-01"),
        (TWO_RULES + "level = 1\n", "7:1: level = 1 is not one of"),
        (TWO_RULES.replace("[[rule]]", '[[rule]]\nlevel = "error"', 1) + "level = 1\n", "8:1: level = 1 is not one of"),
        (TWO_RULES + "message = true\n", "7:1: `message` of a rule is a text in quotes, not true"),
        (TWO_RULES + 'mesage = ""\n', "7:1: a rule has no key 'mesage'"),
        ('[rules."run/empty"]\nlevel = "error"\n[rules."run/lossy"]\nlevel = 1\n', "4:1: level = 1 is not one of"),
        ('[rules."shell/push"]\nallow = []\n[rules."shell/publish"]\nallow = 1\n', "4:1: allow of shell/publish must be"),
        ('tests = [\n  "a", # level = 1\n  "level = 2",\n]\n[rules."run/empty"]\nlevel = 3\n', "6:1: level = 3 is not"),
        ('rules."run/empty".level = 1\n', "1:19: level = 1 is not one of"),
        ('rules = {"run/empty" = {level = 1}}\n', "1:25: level = 1 is not one of"),
        ('[rules]\n"run/empty" = {min_calls = "a"}\n', "2:16: min_calls of run/empty must be"),
        ("[rules.'run/empty']\n'level' = 1\n", "2:2: level = 1 is not one of"),
        ('[rules."run\\u002fempty"]\n"lev\\u0065l" = 1\n', "2:2: level = 1 is not one of"),
        ("[[suppress]]\nrule = 5\n", "2:1: `rule` of a suppression is a text in quotes, not 5"),
        (SUPPRESSION + SUPPRESSION.replace("2027-03-31", "5"), "8:1: a suppression needs a last day"),
        (RULE + "message = \"\"\"\n[[rule]]\nlevel = 7\n\"\"\"\nlevel = 5\n", "8:1: level = 5 is not one of"),
    ],
)  # fmt: skip
def test_a_value_of_a_wrong_type_has_the_place_of_its_own_key(text, message):
    """It had that of the first key with the same name, or of the table."""
    assert mistake(text)[0].startswith(message)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("tests = []\n", "1:1: tests is empty: nothing would count as a test run", "leave it out for the usual commands"),
        ('[rules."tools/undeclared"]\nallow = []\n', "2:1: allow of tools/undeclared is empty: the rule would find", "level ="),
        ('[rules."files/protected"]\npaths = []\n', "2:1: paths of files/protected is empty", 'level = "off"'),
        ('[rules."order/tests-after-last-edit"]\npaths = []\n', "2:1: paths of order/tests-after-last-edit is empty", "off"),
        ('[rules."shell/publish"]\ncommands = []\n', "2:1: commands of shell/publish is empty", "leave commands out"),
        ('[rules."shell/push"]\nallow = [" "]\n', "2:1: allow of shell/push has an empty text, which matches nothing", ""),
    ],
)  # fmt: skip
def test_an_empty_list_that_would_turn_a_rule_off_is_a_mistake(text, message, hint):
    shown, given = mistake(text)
    assert (shown.startswith(message), hint in (given or "")) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        'tests = []\n[[tool_as_test]]\nname = "run_tests"\n',
        '[rules."net/host"]\nlevel = "error"\nhosts = []\n',
        '[rules."shell/recursive-delete"]\nallow = []\n',
        '[rules."files/protected"]\nlevel = "off"\npaths = []\n',
    ],
)
def test_an_empty_list_that_allows_nothing_is_accepted(text):
    assert parse(text).path == "scopes-check.toml"


def test_a_mistake_in_a_rule_of_the_policy_lists_all_forms_and_events():
    text, hint = mistake('[[rule]]\nid = "x"\nexpect = "never"\n')
    assert text.startswith("3:1: x: column ")
    assert all(f"{kind}(" in hint or f"\n{kind};" in hint or f" {kind};" in hint for kind in KINDS)
    words = {
        " ".join(word for word in form.split() if not word.isupper()) for form in hint.split("\n")[0][7:].split(", ")
    }
    assert words == set(_FORMS)


def test_each_suppression_has_the_line_of_its_own_table():
    """A note about one that is of no use names the line."""
    policy = parse(SUPPRESSION + "\n" + SUPPRESSION.replace("run/empty", "net/host") + 'match = "curl x"\n')
    assert [(each.rule, each.match, each.until, each.line) for each in policy.suppressions] == [
        ("run/empty", None, date(2027, 3, 31), 1),
        ("net/host", "curl x", date(2027, 3, 31), 6),
    ]


def test_a_tool_and_a_command_of_the_policy_count_as_tests():
    policy = parse('tests = ["check-all"]\n[[tool_as_test]]\nname = "run_tests"\n')
    rule = "order/tests-passed"
    assert judge(rule, make_run(shell("check-all", 1)), policy).status == "fail"
    assert judge(rule, make_run(("run_tests", {}, "failed")), policy).status == "fail"
    assert judge(rule, make_run(("run_tests", {}, "ok")), policy).status == "pass"
    assert judge(rule, make_run(shell("pytest", 1)), policy).status == "unknown"


def test_own_rules_have_defaults_and_keep_their_order():
    policy = parse(RULE + RULE.replace("ours/x", "ours/y") + 'level = "off"\nscope = "each"\nmessage = "no"\n')
    assert [(each.id, each.level, each.scope, each.message, each.line) for each in policy.own_rules] == [
        ("ours/x", "error", "run", "", 1),
        ("ours/y", "off", "each", "no", 4),
    ]


@given(st.sampled_from([rule.id for rule in RULES.values()]), st.sampled_from(LEVELS), st.sampled_from(PRESETS))
def test_the_list_of_rules_shows_the_level_of_the_policy_and_else_that_of_the_preset(rule, level, preset):
    plain = {row.id: row.level for row in list_rules(Policy(preset=preset)).rules}
    changed = {row.id: row.level for row in list_rules(Policy(preset=preset, levels={rule: level})).rules}
    assert changed == {**plain, rule: level}


def test_a_rule_is_explained_with_the_values_of_the_policy():
    policy = parse(RULE + '[rules."net/host"]\nhosts = ["*.example.org"]\n')
    (hosts,) = explain_rule(policy, "net/host").rule.parameters
    assert (hosts.name, hosts.value) == ("hosts", ["*.example.org"])
    own = explain_rule(policy, "ours/x").rule
    assert (own.own, own.level, own.explanation) == (True, "error", "never run(a **)")
    assert [row.id for row in list_rules(policy).rules] == [*RULES, "ours/x"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("net/hosts", "did you mean net/host?"),
        ("ours/y", "did you mean ours/x?"),
        ("", "list them: scopes check --list"),
    ],
)
def test_an_unknown_rule_names_the_nearest_one(name, hint):
    with pytest.raises(NotFound) as caught:
        explain_rule(parse(RULE), name)
    assert (caught.value.message, caught.value.hint) == (f"there is no rule {name!r}", hint)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('[[suppress]]\nuntil = 2099-13-01\n', "p.toml:2:9: 2099-13-01 is not a date"),
        ('[[suppress]]\nuntil = 2099-02-30\n', "p.toml:2:9: 2099-02-30 is not a date"),
        ('[[suppress]]\nuntil = 2099-1-1\n', "p.toml:2:9: 2099-1-1 is not a date"),
        ('fail_on = "error" x\n', "p.toml:1:19: "),
        ('fail_on = \n', "p.toml:1:11: "),
        ("[[suppress]\n", "p.toml:1:"),
        ('tests = [\n"a"', "p.toml:2:"),
        ('a = "2099-13-01\n', "p.toml:1:"),
    ],
)  # fmt: skip
def test_a_text_that_is_not_toml_has_its_place_in_the_form_of_all_mistakes(text, mistake):
    with pytest.raises(Invalid) as caught:
        parse_policy(text, "p.toml", {})
    assert caught.value.message.startswith(mistake)
    assert "(at" not in caught.value.message


NUMBERS = [
    (rule, each.name) for rule in RULES.values() for each in rule.parameters
    if each.default is None or (isinstance(each.default, int | float) and not isinstance(each.default, bool))
]  # fmt: skip


@pytest.mark.parametrize(("rule", "name"), NUMBERS, ids=[f"{rule.id}-{name}" for rule, name in NUMBERS])
def test_no_number_of_a_rule_is_negative(rule, name):
    """A limit of -1 would be broken by every run."""
    known = {rule.id: rule.parameters}
    with pytest.raises(Invalid) as caught:
        parse_policy(f'[rules."{rule.id}"]\n{name} = -1\n', "p.toml", known)
    assert caught.value.message == f"p.toml:2:1: {name} of {rule.id} must not be negative"


@pytest.mark.parametrize("value", ["3", "true", '["a"]', "2099-01-01"])
def test_the_message_of_an_own_rule_is_a_text(value):
    text = f'[[rule]]\nid = "x"\nexpect = "some test"\nmessage = {value}\n'
    with pytest.raises(Invalid, match="4:1: `message` of a rule is a text in quotes, not "):
        parse_policy(text, "p.toml", {})
