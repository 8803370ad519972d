"""What programs run for their arguments and their input: the programs themselves are asked, if they are installed."""

from __future__ import annotations

import shlex
import shutil

import pytest

from tests.check.marked_runs import prepare, reads_of, runs_mark

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

RUNS = {  # lines in which the program runs `mark`
    "tar": [
        "tar cf t.tar a; tar xf t.tar --to-command=mark",
        "tar cf t.tar a; tar xf t.tar --to-command mark",
        "tar cf t.tar a; tar xf t.tar --to-com=mark",
        "tar cf /dev/null a --checkpoint=1 --checkpoint-action=exec=mark",
        "tar cf /dev/null a --checkpoint=1 --checkpoint-action='exec=mark x'",
        "tar -I mark -cf t a",
        "tar -cf t --use-compress-program=mark a",
        "tar cf t --use-compress-program 'mark -x' a",
        "tar -cI mark -f t a",
    ],
    "split": ["split --filter=mark a", "split --filter 'mark; cat' a"],
    "sort": ["sort -S1k --compress-program=mark big", "sort -S 1k --compress-program mark big"],
    "awk": [
        "awk 'BEGIN{system(\"mark\")}'",
        "awk 'BEGIN { \"mark\" | getline }'",
        "awk 'BEGIN { print 1 | \"mark\" }'",
        "awk '{system($0)}' <<< mark",
        "awk -v c=mark 'BEGIN{system(c)}'",
        "awk 'BEGIN{c=\"ma\" \"rk\"; system(c)}'",
        "awk -f - <<< 'BEGIN{system(\"mark\")}'",
        "awk -f /dev/stdin <<< 'BEGIN{system(\"mark\")}'",
        "echo 'BEGIN{system(\"mark\")}' > x.awk; awk -f x.awk",
    ],
    "sed": [
        "sed '1e mark' a",
        "sed -n 'e mark' a",
        "sed 's/.*/mark/e' a",
        "sed -E 's/.*/mark/e' a",
        "sed -e p -e '1e mark' a",
        "sed --expression='1e mark' a",
        "sed '1{e mark\n}' a",
        "sed '/one/e mark' a",
        "echo '1e mark' > x.sed; sed -f x.sed a",
        "sed -f - a <<< '1e mark'",
    ],
    "make": [
        "make -f - <<< 'x:;mark'",
        "make -f- <<< 'x:;@mark'",
        "make --eval='x:;mark' x",
        "make --eval 'x:;-@mark' x",
        "make --eval='$(shell mark)' x",
        "make --eval='Y != mark' x",
        "make -f /dev/null --eval='x:;mark' x",
        "printf 'x:\\n\\tmark\\n' | make -f -",
        "printf 'x:\\n\\tmark\\n' > Makefile; make",
        "make -n -f - <<< 'x:;+mark'",
        "make SHELL=mark -f - <<< 'x:;a b'",
    ],
    "find": [
        "find . -exec mark \\;",
        "find . -name a -exec mark {} +",
        "find . -execdir mark \\;",
        "find . -maxdepth 0 -exec sh -c mark \\;",
    ],
    "xargs": ["echo a | xargs mark", "xargs -a a mark", "echo mark | xargs -I{} {}", "echo a | xargs -n1 sh -c mark"],
    "env": ["env mark", "env -i PATH=\"$PATH\" MARKED=\"$MARKED\" mark", "env -S 'mark a'", "env --chdir=. mark"],
    "nice": ["nice mark", "nice -n 5 mark", "nice -5 mark", "nice --adjustment=5 mark"],
    "timeout": ["timeout 5 mark", "timeout -s 9 5 mark", "timeout --foreground -k 1 5 mark"],
    "setsid": ["setsid -w mark", "setsid --wait mark"],
    "stdbuf": ["stdbuf -oL mark", "stdbuf -o L mark"],
    "script": ["script -qc mark /dev/null", "script -q -c mark t", "script --command=mark t"],
    "flock": ["flock t mark", "flock -n t -c mark", "flock t --command mark"],
    "perl": ["perl -e 'system \"mark\"'", "perl -we 'exec \"mark\"'", "perl -E '`mark`'", "perl <<< 'system \"mark\"'", "perl -ne '`mark`' a"],
    "python3": [
        "python3 -c 'import os; os.system(\"mark\")'",
        "python3 -Ic 'import os; os.system(\"mark\")'",
        "python3 - <<< 'import os; os.system(\"mark\")'",
        "python3 <<< 'import os; os.system(\"mark\")'",
        "python3 /dev/stdin <<< 'import os; os.system(\"mark\")'",
        "python3 <(echo 'import os; os.system(\"mark\")')",
        "echo 'import os; os.system(\"mark\")' | python3",
    ],
    "node": ["node -e 'require(\"child_process\").execSync(\"mark\")'", "node -p 'require(\"child_process\").execSync(\"mark\")'"],
    "ed": ["printf '!mark\\nq\\n' | ed -s", "ed -s <<< '!mark'"],
    "vim": ["vim -es -c '!mark' -c q </dev/null", "vim -es +'!mark' +q </dev/null", "vim -es -c ':call system(\"mark\")' -c q"],
    "m4": ["m4 <<< 'syscmd(mark)'", "echo 'syscmd(mark)' | m4"],
    "zip": ["zip -q t.zip a -T -TT 'mark #'"],
    "rsync": ["rsync -e mark x:y .", "rsync --rsh=mark x:y .", "rsync --rsh mark x:y ."],
    "sqlite3": ["sqlite3 :memory: '.shell mark'", "sqlite3 :memory: '.system mark'", "sqlite3 <<< '.shell mark'"],
    "gdb": ["gdb -batch -ex 'shell mark'", "gdb -batch -ex '!mark'"],
    "busybox": ["busybox sh -c mark", "busybox env mark", "busybox ash -c 'mark'"],
    "dash": ["dash -c mark", "echo mark | dash", "dash <<< mark", "dash -ec 'mark'"],
}  # fmt: skip
ORDINARY = [  # nothing is run, and the line is read completely
    "tar czf t.tgz a", "tar --checkpoint=1 --checkpoint-action=dot -cf /dev/null a", "tar -I gzip -cf t a",
    "split -l 1 a", "sort -k1,1 -u a", "sort --compress-program=gzip a", "awk '{print $1}' a", "awk -F: '$1 ~ /mark|x/' a",
    "awk '{print \"mark\"}' a", "sed -n 1,5p a", "sed 's/one/mark/g' a", "sed -i s/e/mark/ a", "sed '/mark/d;s/e/e/' a",
    "sed 'a mark' a", "find . -name mark", "find . -name '*.py' -print", "python3 -c 'print(\"mark\")'", "perl -pi -e 's/one/mark/' a",
    "perl -ne 'print if /mark/' a",
]  # fmt: skip
LINES = [(program, line) for program, lines in RUNS.items() for line in lines]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A home directory with a small file and one that sort needs several temporary files for."""
    return prepare(tmp_path_factory.mktemp("inline"), "echo one > a; seq 20000 > big")


@pytest.mark.parametrize(("program", "line"), LINES, ids=[line for _, line in LINES])
@pytest.mark.cases(16)
def test_a_command_in_the_arguments_is_found_or_the_line_is_opaque(prepared, tmp_path, program, line):
    programs, opaque = reads_of(line)
    assert "mark" in programs or opaque, shlex.join([line])
    if shutil.which(program) is None or not runs_mark(prepared, line, tmp_path):
        pytest.skip(f"this {program} does not run it")


@pytest.mark.parametrize("line", ORDINARY)
@pytest.mark.cases(16)
def test_an_ordinary_line_runs_nothing_else_and_is_read_completely(prepared, tmp_path, line):
    programs, opaque = reads_of(line)
    assert opaque == []
    assert programs == {line.split()[0]}
    assert not runs_mark(prepared, line, tmp_path)


@pytest.mark.parametrize("program", ["tar", "awk", "sed", "find", "xargs", "env", "nice", "timeout"])
def test_most_lines_of_the_common_programs_run_it(prepared, tmp_path, program):
    """The table would prove nothing if the programs refused its lines."""
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    ran = [runs_mark(prepared, line, tmp_path / str(number)) for number, line in enumerate(RUNS[program])]
    assert sum(ran) >= len(ran) * 0.6


@pytest.mark.parametrize(
    "binding",
    ["start:execute(rm -rf /)", "ctrl-a:execute-silent[ls]", "enter:become:vim {}", "change:reload(rg x)", "f1:transform(echo x)",
     "a:preview(cat {})", "start:$ACTION"],
)  # fmt: skip
def test_a_key_of_fzf_that_runs_a_command_is_opaque(binding):
    for line in (f"fzf --bind '{binding}'", f"ls | fzf -m '--bind={binding}'"):
        assert reads_of(line)[1] == ["fzf runs a command that it computes"]


@pytest.mark.parametrize("binding", ["ctrl-a:select-all", "f2:toggle-preview", "ctrl-d:preview-page-down,ctrl-u:up"])
def test_a_key_of_fzf_that_moves_or_selects_is_read(binding):
    assert reads_of(f"fzf --bind '{binding}'") == ({"fzf"}, [])
