"""Two hundred wrong uses: each has the right exit code, and a message that says what would be right."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from corepath import Episode, call, episode_json
from corepath.cli import main

TASKS = "- {id: bank/pay, procedure: 'check() >> pay()'}\n- {id: bank/stop, procedure: 'stop()'}\n"

WRONG_USE = """
nonsense
scores
--nonsense
score
score gone.jsonl
score e.jsonl gone.jsonl
score e.jsonl --nonsense
score e.jsonl -t
score e.jsonl -t gone.yaml
score e.jsonl -t fram
score e.jsonl -t farm/nothing
score e.jsonl -t t.yaml::bank/gone
score e.jsonl -t t.yaml --profile papre
score e.jsonl -t t.yaml --lambda two
score e.jsonl -t t.yaml --lambda 2
score e.jsonl -t t.yaml --lambda nan
score e.jsonl -t t.yaml --beta 0
score e.jsonl -t t.yaml --beta 1
score e.jsonl -t t.yaml --order-fallback maybe
score e.jsonl -t t.yaml --order-fallback 7
score e.jsonl -t t.yaml --hlr-references golden
score e.jsonl -t t.yaml --errors ignore
score e.jsonl -t t.yaml --undefined-efficiency one
score e.jsonl -t t.yaml --ktc-budget -1
score e.jsonl -t t.yaml --ktc-budget many
score e.jsonl -t t.yaml --fail-under
score e.jsonl -t t.yaml --fail-under pc
score e.jsonl -t t.yaml --fail-under pc=
score e.jsonl -t t.yaml --fail-under pc=high
score e.jsonl -t t.yaml --fail-under pc=nan
score e.jsonl -t t.yaml --fail-under pc=inf
score e.jsonl -t t.yaml --fail-under PC=1
score e.jsonl -t t.yaml --fail-under harm_count=1
score e.jsonl -t t.yaml --fail-under pc=90
score e.jsonl t.yaml
score e.jsonl -t t.yaml --fail-under =1
score e.jsonl -t t.yaml --max-harm -1
score e.jsonl -t t.yaml --max-harm none
score e.jsonl -t t.yaml --max-harm 0.5
score e.jsonl -t t.yaml --worst 0
score e.jsonl -t t.yaml --worst all
score e.jsonl -t t.yaml --junit j.xml
score e.jsonl -t t.yaml --max-harm 9 --junit nowhere/j.xml
score e.jsonl -t t.yaml --max-harm 9 --junit folder
score folder
explain
explain gone.jsonl
explain folder
explain e.jsonl -t t.yaml --episode 0
explain e.jsonl -t t.yaml --episode -1
explain e.jsonl -t t.yaml --episode one
explain e.jsonl -t t.yaml --episode 99
explain e.jsonl -t t.yaml --worst 0
explain e.jsonl -t t.yaml --agent anne
explain e.jsonl -t t.yaml --task bank/sto
explain e.jsonl -t t.yaml --agent ann --task bank/stop
explain e.jsonl -t gone
table
table gone
table folder
table e.jsonl -t t.yaml --by agents
table e.jsonl -t t.yaml --as html
table e.jsonl -t t.yaml --weights pc
table e.jsonl -t t.yaml --weights pc=x
table e.jsonl -t t.yaml --weights pc=-1
table e.jsonl -t t.yaml --weights pc=0
table e.jsonl -t t.yaml --weights pcc=1
table e.jsonl -t t.yaml --weights pc=1,pc=2
table e.jsonl -t t.yaml --profile both
table e.jsonl -t farm/x
report
report gone
report folder
report e.jsonl -t t.yaml --out e.jsonl
report e.jsonl -t t.yaml --profile x
report e.jsonl -t gone.py
view gone
view folder
compare
compare e.jsonl
compare gone e.jsonl
compare e.jsonl gone
compare gone@ann e.jsonl@bob
compare folder e.jsonl
compare e.jsonl@ann e.jsonl@bob -t t.yaml --scores
compare e.jsonl@ann e.jsonl@bob -t t.yaml --scores pcc
compare e.jsonl@ann e.jsonl@bob -t t.yaml --scores ,
compare e.jsonl@ann e.jsonl@bob -t t.yaml --fail-if-worse
compare e.jsonl@ann e.jsonl@bob -t t.yamll
compare e.jsonl e.jsonl e.jsonl
compare e.jsonl@anne e.jsonl@bob -t t.yaml
compare e.jsonl e.jsonl -t t.yaml
sensitivity
sensitivity gone
sensitivity folder
sensitivity e.jsonl -t t.yaml --profile none
run --agent orakel
run --agent oracle --world fram
run --agent oracle --world farm --task farm/nothing
run --agent oracle --task t.yaml
run --agent oracle --task gone.yaml
run --agent oracle --world gone.py
run --agent oracle --task farm/dry_plants --epochs 0
run --agent oracle --task farm/dry_plants --epochs many
run --agent oracle --task farm/dry_plants --seed x
run --agent oracle --task farm/dry_plants --limit 0
run --agent oracle --task farm/dry_plants --jobs -1
run --agent oracle --task farm/dry_plants --profile x
run --agent oracle --task farm/dry_plants --redact ,
run --agent oracle --task farm/dry_plants --retry
run --agent oracle --task farm/dry_plants --base-url http://localhost:1
run --agent oracle --task farm/dry_plants --max-connections 0
run --agent oracle --task farm/dry_plants --max-retries -1
run --agent oracle --task farm/dry_plants --timeout 0
run --agent oracle --task farm/dry_plants --threads 0
run --agent swapped:much --task farm/dry_plants
run --agent swapped:7 --task farm/dry_plants
run --agent swapped:-1 --task farm/dry_plants
run --agent gone.py:act --task farm/dry_plants
run --agent agent.py:atc --task farm/dry_plants
run --agent agent.py: --task farm/dry_plants
run --agent agent.py --task farm/dry_plants
run --agent agent.py:number --task farm/dry_plants
run --agent no_such_module:act --task farm/dry_plants
run --resume gone
run --resume folder
run --resume e.jsonl
run --resume r --agent oracle
run --resume r --epochs 2
run --model m --base-url http://user:key@localhost/v1 --task farm/dry_plants
run extra
run oracle
run dry_plants
run farm --resume r
rescore
rescore gone
rescore folder
rescore r --profile x
tasks fram
tasks farm/nothing
tasks gone.yaml
tasks gone.py::x
tasks t.yaml::gone
tasks farm --seed x
tasks --items gone
tasks --items folder
tasks farm --items r --seed 0 --nonsense
worlds fram
worlds t.yaml
check
check gone
check gone.yaml
check t.yaml::gone
check fram
show
show fram
show farm
show farm/nothing
show gone.yaml
show t.yaml --as png
show t.yaml --as svg
show bank/gone --tasks t.yaml
show t.yaml::bank/gone
show farm/dry_plants --seed x
verify fram
verify farm/nothing
verify gone.py
verify t.yaml
verify farm/dry_plants --seeds 0
verify farm/dry_plants --seeds many
verify farm/dry_plants --nodes -1
verify farm/dry_plants --jobs 0
new
new world
new planet x
new world 2x
new world class
new world a-b
new world ../x
new task t
schema run
import
import gone.json
import e.jsonl --from nonsense
import e.jsonl --from openia
import e.jsonl --task ""
import e.jsonl --task x --task-by y
import e.jsonl --map gone.yaml
import e.jsonl --map gone.yaml --task-by x
import e.jsonl --tools gone.yaml
import e.jsonl --writes sequence
import e.jsonl --reads progress
import e.jsonl --tasks-out t.out --writes sometimes
import e.jsonl --from generic:gone.yaml
import e.jsonl --from openai --out folder
import e.jsonl --task t.yaml::gone
import e.jsonl --task t.yaml
check e.jsonl
check t.yml
export
export gone.jsonl
export folder
export e.jsonl --to anthropic
export e.jsonl --out folder
export e.jsonl --as prometheus
export e.jsonl --as otel --to openai
export e.jsonl --send http://localhost
export e.jsonl --only pc
export e.jsonl --sessions
export e.jsonl --as otel --only nothing
export e.jsonl --as otel --send localhost
export e.jsonl --as otel --send http://me:key@localhost
export e.jsonl --as otel --out folder
export folder --as otel
derive
derive gone.json
derive e.jsonl --from nonsense
derive e.jsonl --tools gone.yaml
derive e.jsonl --writes sometimes
derive e.jsonl --reads no
derive e.jsonl --out gone/t.yaml
tools
tools gone.jsonl
tools e.jsonl --from nonsense
tools e.jsonl --out t.yaml
tools e.jsonl --out folder
tools e.jsonl --out gone/tools.yaml
learn
learn gone.jsonl
learn e.jsonl --tools gone.yaml
learn e.jsonl --out t.yaml
learn e.jsonl --out folder --force
learn e.jsonl --out gone/t.yaml
learn e.jsonl --world nothing
learn e.jsonl --world farm
learn e.jsonl --refused maybe
learn e.jsonl --bad e.jsonl
learn --rules e.jsonl --out gone/rules.yaml
learn --rules e.jsonl --add e.jsonl
learn --rules e.jsonl --world farm/dry_plants
learn --rules e.jsonl --refused harm
learn --add e.jsonl t.yaml::bank/pay --tools t.yaml
learn --add e.jsonl t.yaml::bank/pay --world farm/dry_plants
learn --add e.jsonl t.yaml::bank/pay --refused harm
learn --add e.jsonl t.yaml::bank/pay --bad e.jsonl
learn --add e.jsonl t.yaml::bank/pay --out gone/t.yaml
learn --add gone.jsonl t.yaml::bank/pay
learn --bad e.jsonl t.yaml::bank/pay --refused harm
check t.yaml --mutants
check t.yaml --good gone.jsonl
serve
serve fram
serve farm
serve farm/nothing
serve gone.yaml
serve t.yaml
serve t.yaml::bank/pay
serve farm/dry_plants --port 80
serve farm/dry_plants --http --port 99999
serve farm/dry_plants --http --host nowhere.invalid
serve farm/dry_plants --idle 5
serve farm/dry_plants --seed x
"""

BAD_INPUT = """
score bad.jsonl -t t.yaml
score e.jsonl
score e.jsonl -t farm
score e.jsonl -t bad.yaml
score e.jsonl -t bad.py
score e.jsonl -t empty.py
score empty.jsonl -t t.yaml
score foreign.jsonl -t t.yaml
explain bad.jsonl -t t.yaml
explain e.jsonl
table bad.jsonl -t t.yaml
table empty.jsonl
report bad.jsonl -t t.yaml
view bad.jsonl -t t.yaml
sensitivity bad.jsonl -t t.yaml
rescore bad.jsonl -t t.yaml
export bad.jsonl
export empty.jsonl
export bad.jsonl --as otel
export e.jsonl --as otel
export empty.jsonl --as otel
export e.jsonl --as phoenix --send http://127.0.0.1:9
import bad.jsonl
import empty.jsonl
import e.jsonl --from anthropic
check bad.yaml
check bad.py
check wrong
tasks bad.yaml
show bad.yaml
verify bad.py
verify empty.py
run --world bad.py
run --agent broken.py:act --task farm/dry_plants
run --agent agent.py:raises --task farm/dry_plants --out raised
derive bad.jsonl
tools bad.jsonl
tools empty.jsonl
tools bad.py
tools empty.py
learn bad.jsonl --out learned.yaml
learn empty.jsonl
learn e.jsonl --tools bad.yaml
learn --rules e.jsonl
learn --add bad.jsonl t.yaml::bank/pay
learn --add e.jsonl t.yaml::bank/gone
check t.yaml --good bad.jsonl
check t.yaml --good empty.jsonl
table damaged
score damaged
explain damaged
report damaged
run --resume damaged
rescore damaged
tasks --items damaged
serve bad.yaml
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wrong")
    good = Episode("bank/pay", (call("check()"), call("pay()")), "ann")
    bad = Episode("bank/pay", (call("pay()"),), "bob")
    stopped = Episode("bank/stop", (call("stop()"),), "bob")
    files = {
        "t.yaml": TASKS,
        "e.jsonl": "".join(episode_json(one) + "\n" for one in (good, bad, stopped)),
        "bad.jsonl": 'x\n{"task": 1}\n{"task": "bank/pay", "calls": [{"name": "pay", "args": {}}]}\n',
        "empty.jsonl": "",
        "foreign.jsonl": '{"messages": [{"role": "user", "content": "hello"}]}\n',
        "bad.yaml": "id: a\nprocedure: b >\n",
        "bad.py": "import nothing_of_the_sort\n",
        "empty.py": "x = 1\n",
        "broken.py": "def act(session:\n",
        "agent.py": "number = 1\ndef act(session):\n    return 'done'\ndef raises(session):\n    raise ValueError\n",
        "folder/notes.txt": "no run here\n",
        "wrong/bad.yaml": "id: [1]\n",
        "damaged/manifest.json": json.dumps({"format": "corepath-run", "version": 1, "epochs": "many"}),
        "damaged/episodes.jsonl": "x\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def uses(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def files(place: Path) -> list[Path]:
    """All files in a folder, without the bytecode caches of Python."""
    return sorted(path for path in place.rglob("*") if "__pycache__" not in path.parts)


def ends(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str) -> tuple[int, str]:
    """The exit code and the output of a command."""
    monkeypatch.setattr(sys, "argv", ["corepath", *shlex.split(line)])
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    said = "".join(capfd.readouterr())
    return code, said


def test_there_are_two_hundred_of_them() -> None:
    assert len(uses(WRONG_USE)) + len(uses(BAD_INPUT)) >= 200


@pytest.mark.parametrize(
    ("code", "line"), [*((2, line) for line in uses(WRONG_USE)), *((1, line) for line in uses(BAD_INPUT))]
)
def test_a_wrong_use_says_what_is_wrong(code, line, place, monkeypatch, capfd) -> None:
    monkeypatch.chdir(place)
    before = files(place)
    if any(part in f" {line} " for part in ("--resume r ", "rescore r ", "--items r ")) and not (place / "r").exists():
        monkeypatch.setattr(
            sys, "argv", shlex.split("corepath run --agent oracle --task farm/dry_plants --out r --jobs 1")
        )
        with pytest.raises(SystemExit):
            main()
        capfd.readouterr()
        before = files(place)
    if "--http --host" in line and find_spec("uvicorn") is None:
        code = 3  # without the extra, there is nothing to listen with
    found, said = ends(capfd, monkeypatch, line)
    assert found == code, said
    assert said.strip()
    assert "Traceback" not in said
    assert "\\n" not in said
    if code == 2:
        assert files(place) == before, "something was written"
