"""`citywise plan`: fragment, strata, graphs and partitions, for people and for machines."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.machine import REPOSITORY
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.description import Description, describe, to_dot, to_json, to_text
from citywise.reasoning.partition.plan import Follow, Key, PlanName, Share
from citywise.reasoning.run.language import read
from tests.command import Folder
from tests.reasoning.parallel.listings import FIRE, FOLDER, JAM, R7

PROGRAMS = [
    path
    for path in sorted(FOLDER.glob("listing_*.*p"))
    if " error " not in path.with_suffix(".expected").read_text(encoding="utf-8")
]
PLANS: tuple[PlanName, ...] = ("sound", "greedy", "whole")
KEYS = {
    *("language", "fragment", "engine", "input_predicates"),
    *("extended_graph", "input_graph", "partitions"),
}
"""What other programs rely on."""
NAME = r'"(?:[^"\\]|\\.)*"'
ATTRIBUTES = rf"\[\w+=(?:\w+|{NAME})(?:, \w+=(?:\w+|{NAME}))*\]"
STATEMENT = re.compile(
    rf"digraph {NAME} {{|subgraph {NAME} {{|}}|label={NAME};|node {ATTRIBUTES};"
    rf"|(?P<node>{NAME}) {ATTRIBUTES};|(?P<p>{NAME}) -> (?P<q>{NAME})(?: {ATTRIBUTES})?;"
)


def described(path: Path, name: PlanName = "sound") -> Description:
    return describe(read(path).request, path, name)


def plan_of(folder: Path, text: str, *options: str) -> Any:
    """What the command prints as JSON of a C-ASP text."""
    made = Folder(folder)
    made.write("p.casp", text)
    done = made.run("plan", "p.casp", "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_listing_of_the_thesis_has_a_plan_in_every_format(path: Path, name: PlanName) -> None:
    found = described(path, name)
    printed = json.loads(json.dumps(to_json(found)))
    assert printed.keys() > KEYS
    assert to_text(found).startswith(f"{path.name}: ")
    check_dot(to_dot(found))
    if name != "greedy":
        assert {n for p in printed["partitions"] for n in p["rules"]} == {
            r.name for r in found.rules
        }


def check_dot(text: str) -> None:
    """See that a graph is well formed and its edges join nodes it declares."""
    assert text.count("{") == text.count("}") == 3
    nodes, ends = set(), set()
    for line in text.splitlines():
        statement = STATEMENT.fullmatch(line.strip())
        assert statement, line
        nodes.add(statement["node"])
        ends |= {statement["p"], statement["q"]}
    assert ends <= nodes | {None}


def test_the_running_example_prints_as_the_contract_says() -> None:
    done = Folder(FOLDER).run("plan", "listing_5_4.casp", "--format", "json")
    printed = json.loads(done.stdout)
    assert (printed["language"], printed["fragment"]) == ("casp", "stratified")
    assert printed["input_predicates"] == sorted(JAM + FIRE)
    assert ["traffic_light/2", "traffic_light/2"] in printed["input_graph"]["edges"]
    assert ["car_fire/1", "give_notification/1"] in printed["extended_graph"]["directed"]
    assert ["many_cars/1", "very_slow_speed/1"] in printed["extended_graph"]["undirected"]
    assert [(p["predicates"], p["rules"]) for p in printed["partitions"]] == [
        ([*JAM], ["r1", "r2", "r3", "r5"]),
        ([*FIRE], ["r4", "r6"]),
    ]
    assert [p["key"][JAM[0]] for p in printed["partitions"][:1]] == [1]


def test_what_is_printed_is_sorted_and_partitions_keep_the_numbers_reasons_give(
    tmp_path: Path,
) -> None:
    text = "(r10) h(X) :- q(X), z(X).\n(r2) h(X) :- z(X), q(X).\n(r1) g(X) :- b(X), a(X).\n"
    printed = plan_of(tmp_path, text)
    assert printed["input_graph"]["edges"] == [["a/1", "b/1"], ["q/1", "z/1"]]
    assert printed["partitions"][0]["predicates"] == ["a/1", "b/1"]
    assert printed["partitions"][0]["number"] > 1
    (whole,) = plan_of(tmp_path, text, "--plan", "whole")["partitions"]
    assert whole["rules"] == ["r1", "r10", "r2"]


def test_a_rule_without_a_label_is_named_by_its_line(tmp_path: Path) -> None:
    printed = plan_of(tmp_path, "\n\nh(X) :- a(X).\n", "--plan", "whole")
    (partition,) = printed["partitions"]
    assert (partition["rules"], partition["key"]) == (["3"], None)


FRAGMENTS = [
    ("h(X) :- a(X).\n", "positive", [["a/1", "h/1"]]),
    ("h(X) :- a(X), not b(X). :- c.\n", "stratified", [["a/1", "b/1", "c/0"], ["h/1"]]),
    ("h(X) :- a(X), not g(X). g(X) :- a(X), not h(X).\n", "normal", None),
    ("h(X) ; g(X) :- a(X).\n", "disjunctive", [["a/1", "g/1", "h/1"]]),
    ("h(X) :- a(X). :~ h(X). [1,X]\n", "optimisation", [["a/1", "h/1"]]),
]


@pytest.mark.parametrize(("text", "fragment", "strata"), FRAGMENTS)
def test_fragment_and_strata_are_named(
    tmp_path: Path, text: str, fragment: str, strata: list[list[str]] | None
) -> None:
    printed = plan_of(tmp_path, text)
    assert (printed["fragment"], printed["strata"]) == (fragment, strata)


def test_text_says_what_is_split_by_what_and_why(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    made.write("p.casp", (FOLDER / "listing_6_1.casp").read_text(encoding="utf-8"))
    text = made.run("plan", "p.casp").stdout
    for said in (
        "p.casp: casp, positive, engine incremental",
        "uniben_advisor/2 -- itself",
        "component 1: rdf_type/2, uniben_subOrganizationOf/2, uniben_worksFor/2",
        "Plan `sound`: 2 partitions",
        "uniben_takesCourse/2 by argument 2",
        "to every bucket: commonPulication/2",
        "in any bucket: canRequestRecommendationLetter/2",
        "\nWhy\n  - ",
    ):
        assert said in text


def test_a_key_is_told_in_full() -> None:
    found = described(FOLDER / "listing_5_4.casp", "whole")
    speed, light, cars, fire, jam = (
        Signature(name, arity)
        for name, arity in (
            *(("average_speed", 2), ("traffic_light", 2), ("car_number", 2)),
            *(("car_fire", 1), ("traffic_jam", 1)),
        )
    )
    key = Key(
        {speed: 1},
        following={light: Follow(1, speed, 2)},
        spread=frozenset({jam}),
        whole=frozenset({fire}),
        once=frozenset({"r6"}),
        shares={"r2": Share(0, cars, 2)},
    )
    (partition,) = found.plan.partitions
    keyed = replace(partition, key=key, others=(Key({cars: 1}),))
    found = replace(found, plan=replace(found.plan, partitions=(keyed,)))
    (printed,) = to_json(found)["partitions"]
    assert printed["key"] == {"average_speed/2": 1}
    follow = {"argument": 1, "of": "average_speed/2", "there": 2}
    assert printed["following"] == {"traffic_light/2": follow}
    assert (printed["spread"], printed["whole"]) == (["traffic_jam/1"], ["car_fire/1"])
    assert (printed["once"], printed["other_keys"]) == (["r6"], [{"car_number/2": 1}])
    assert printed["shares"] == {"r2": {"argument": 2, "of": "car_number/2"}}
    assert to_text(found).split("    key     ")[1].splitlines() == [
        "average_speed/2 by argument 1",
        "            traffic_light/2 follows average_speed/2: its argument 1 is argument 2 there",
        "            to every bucket: car_fire/1",
        "            rule r2 reads its bucket's share of car_number/2, by argument 2",
        "            in any bucket: traffic_jam/1",
        "            in the first bucket only: rules r6",
    ]


def test_text_names_the_cycle_where_there_are_no_strata(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    made.write("p.casp", "p :- q, not r.\nr :- p.\n")
    text = made.run("plan", "p.casp").stdout
    assert "none, for a cycle leads through negation: p/0 needs not r/0, r/0 needs p/0" in text


def test_greedy_prints_its_copies_and_its_losses(tmp_path: Path) -> None:
    made = Folder(tmp_path)
    listing = (FOLDER / "listing_5_4.casp").read_text(encoding="utf-8")
    made.write("p.casp", listing + R7 + "lost(X) :- lonely(X).\n")
    text = made.run("plan", "p.casp", "--plan", "greedy").stdout
    assert "Plan `greedy`: 2 partitions" in text
    assert "car_number/2 is copied to partitions 1, 2" in text
    assert "lonely/1 is in no partition" in text


def test_colours_tell_the_partitions_apart_and_copies_have_several(tmp_path: Path) -> None:
    path = tmp_path / "p.casp"
    listing = (FOLDER / "listing_5_4.casp").read_text(encoding="utf-8")
    path.write_text(listing + R7, encoding="utf-8")
    text = to_dot(described(path, "greedy"))
    looks = dict(re.findall(r'"inputs: (\w+)/\d" \[(label=.*)\];', text))
    colours = {name: re.findall(r"#\w{6}", look) for name, look in looks.items()}
    assert colours["average_speed"] != colours["car_speed"]
    assert colours["car_number"] == colours["average_speed"] + colours["car_speed"]
    assert 'label="car_number/2\\n1, 2"' in looks["car_number"]


def test_quotes_and_backslashes_in_a_files_name_stay_inside_the_name(tmp_path: Path) -> None:
    path = tmp_path / 'a"b\\c.casp'
    path.write_text("h(X) :- a(X), -b(X).\n", encoding="utf-8")
    text = to_dot(described(path))
    assert text.startswith('digraph "a\\"b\\\\c.casp" {')
    check_dot(text)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("p.casp", "\nh(X) :- not a(X).\n", "p.casp:2:"),
        ("p.txt", "h(X) :- a(X).\n", "`.txt` is no language of ours"),
    ],
)
def test_a_program_at_fault_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    made = Folder(tmp_path)
    made.write(name, text)
    done = made.run("plan", name)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_an_unknown_format_is_wrong_usage() -> None:
    assert Folder(FOLDER).run("plan", "listing_5_4.casp", "--format", "svg").returncode == 2


def test_the_documentation_shows_what_is_printed_and_names_every_key() -> None:
    page = (REPOSITORY / "docs" / "plan.md").read_text(encoding="utf-8")
    found = described(FOLDER / "listing_5_4.casp")
    (shown,) = re.findall(r"```\n(listing_5_4.*?)```", page, re.DOTALL)
    whole = [line for line in shown.splitlines() if "…" not in line]
    assert set(whole) <= set(to_text(found).splitlines())
    printed = to_json(found)
    for key in {*printed, *printed["partitions"][0]}:
        assert f"`{key}`" in page, key


@pytest.mark.thorough
def test_what_is_printed_does_not_depend_on_hash_seeds() -> None:
    program = (
        "import sys; from pathlib import Path; from citywise.reasoning.run.language import read\n"
        "from citywise.reasoning.partition.description import describe\n"
        "from citywise.reasoning.partition.description import to_dot, to_json, to_text\n"
        "for name in ('sound', 'greedy', 'whole'):\n"
        "    for path in map(Path, sys.argv[1:]):\n"
        "        found = describe(read(path).request, path, name)\n"
        "        print(to_json(found), to_text(found), to_dot(found))\n"
    )
    paths = [str(path) for path in PROGRAMS]
    printed = {
        subprocess.run(
            [sys.executable, "-c", program, *paths],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1
