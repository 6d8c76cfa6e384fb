"""`citywise reason` of documents of RIF."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from citywise.backend.machine import REPOSITORY
from tests.command import Folder

EXAMPLES = sorted((REPOSITORY / "examples" / "rif").glob("*.rif*"))
GRANDPARENT = """
Document(
  Prefix(f <http://f/>)
  {window}
  Group((* f:grand[] *) Forall ?a ?b ?c (
    ?a[f:grandparent -> ?c] :- And(?a[f:parent -> ?b] ?b[f:parent -> ?c])
  ))
)
"""
HOT = """
Document(
  Prefix(t <http://t/>) Prefix(pred <http://www.w3.org/2007/rif-builtin-predicate#>)
  {window}
  Group(Forall ?s ?v (
    ?s[t:hot -> ?v] :- And(?s[t:reads -> ?v] External(pred:numeric-greater-than(?v 30)))
  ))
)
"""


def parent(t: int | str, child: str, of: str, **more: object) -> dict[str, object]:
    return {
        "t": t,
        "s": f"<http://f/{child}>",
        "p": "<http://f/parent>",
        "o": f"<http://f/{of}>",
    } | more


def reads(t: int | str, value: str, kind: str = "decimal") -> dict[str, object]:
    typed = f'"{value}"^^<http://www.w3.org/2001/XMLSchema#{kind}>'
    return {"t": t, "s": "<http://t/s1>", "p": "<http://t/reads>", "o": typed}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    found = Folder(tmp_path)
    found.write("grand.rifps", GRANDPARENT.format(window="3 s"))
    found.write("always.rifps", GRANDPARENT.format(window=""))
    found.write("hot.rifps", HOT.format(window="10 s"))
    found.write("family.jsonl", [parent(1, "ann", "bob"), parent(2, "bob", "cid")])
    return found


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda path: path.name)
def test_an_example_has_the_results_that_stand_beside_it(program: Path) -> None:
    folder = Folder(program.parent)
    expected = program.with_suffix(".results.jsonl").read_text(encoding="utf-8").splitlines()
    stream = program.with_suffix(".jsonl").name
    found = folder.results(program.name, "--stream", stream, "--deltas")
    assert found == list(map(json.loads, expected))


def test_an_answer_is_given_wherever_an_item_arrives_or_ceases_to_count(folder: Folder) -> None:
    assert folder.results("grand.rifps", "--stream", "family.jsonl") == [
        {"t": 1, "answer_sets": [[]]},
        {"t": 2, "answer_sets": [['f_grandparent("f_ann","f_cid")']]},
        {"t": 4, "answer_sets": [[]]},
        {"t": 5, "answer_sets": [[]]},
    ]


def test_without_a_window_items_count_for_ever(folder: Folder) -> None:
    assert folder.results("always.rifps", "--stream", "family.jsonl") == [
        {"t": 1, "answer_sets": [[]]},
        {"t": 2, "answer_sets": [['f_grandparent("f_ann","f_cid")']]},
    ]


def test_an_item_with_an_end_counts_for_the_range_after_it(folder: Folder) -> None:
    folder.write("ends.jsonl", [parent(1, "ann", "bob", until=4), parent(6, "bob", "cid")])
    found = folder.results("grand.rifps", "--stream", "ends.jsonl")
    assert [(line["t"], line["answer_sets"]) for line in found] == [
        (1, [[]]),
        (6, [['f_grandparent("f_ann","f_cid")']]),
        (7, [[]]),
        (9, [[]]),
    ]


def test_deltas_tell_of_the_streams_p_and_n(folder: Folder) -> None:
    again = [parent(1, "ann", "bob"), parent(2, "bob", "cid"), parent(3, "ann", "bob")]
    folder.write("again.jsonl", again)
    atom = 'f_grandparent("f_ann","f_cid")'
    found = folder.results("grand.rifps", "--stream", "again.jsonl", "--deltas")
    assert [line["t"] for line in found] == [1, 2, 3, 4, 5, 6]
    assert [(line["added"], line["removed"]) for line in found] == [
        ([], []),
        ([atom], []),
        ([], []),
        ([], []),
        ([], [atom]),
        ([], []),
    ]
    assert [line["entailed"] for line in found] == [
        [],
        [{"atom": atom, "from": 2, "until": 3}],
        [{"atom": atom, "from": 3, "until": 4}],
        [],
        [],
        [],
    ]
    assert [line["negated"] for line in found] == [
        [],
        [],
        [],
        [{"atom": atom, "from": 2, "until": 3}],
        [{"atom": atom, "from": 3, "until": 4}],
        [],
    ]


def test_what_holds_for_ever_has_no_end(folder: Folder) -> None:
    found = folder.results("always.rifps", "--stream", "family.jsonl", "--deltas")
    assert found[1]["entailed"] == [
        {"atom": 'f_grandparent("f_ann","f_cid")', "from": 2, "until": None}
    ]


def test_from_and_until_bound_the_evaluations(folder: Folder) -> None:
    stream = ("--stream", "family.jsonl")
    assert [e["t"] for e in folder.results("grand.rifps", *stream, "--until", "4")] == [1, 2, 4]
    assert [e["t"] for e in folder.results("grand.rifps", *stream, "--until", "3")] == [1, 2]
    assert folder.results("grand.rifps", *stream, "--from", "2") == [
        {"t": 2, "answer_sets": [[]]},
        {"t": 5, "answer_sets": [[]]},
    ]
    assert folder.results("grand.rifps", *stream, "--from", "3") == []


def test_times_are_written_as_the_recording_has_them(folder: Folder) -> None:
    folder.write("iso.jsonl", [parent("2014-08-05T02:00:00+02:00", "ann", "bob")])
    found = folder.results("grand.rifps", "--stream", "iso.jsonl", "--from", "2014-08-05T00:00:00Z")
    assert [line["t"] for line in found] == ["2014-08-05T00:00:00Z", "2014-08-05T00:00:03Z"]
    done = folder.run("reason", "grand.rifps", "--stream", "iso.jsonl", "--from", "0")
    assert done.returncode == 1
    assert "--from 0: the recording's times are ISO 8601" in done.stderr


def test_a_window_in_milliseconds_makes_instants_of_milliseconds(folder: Folder) -> None:
    folder.write("ms.rifps", GRANDPARENT.format(window="1500 ms"))
    items = [
        parent("2014-08-05T00:00:00.2Z", "ann", "bob"),
        parent("2014-08-05T00:00:01Z", "bob", "cid"),
    ]
    folder.write("ms.jsonl", items)
    found = folder.results("ms.rifps", "--stream", "ms.jsonl", "--deltas")
    assert [line["t"][17:] for line in found] == ["00.200Z", "01.000Z", "01.700Z", "02.500Z"]
    (instance,) = found[1]["entailed"]
    assert instance["from"] == "2014-08-05T00:00:01.000Z"
    assert instance["until"] == "2014-08-05T00:00:01.699Z"
    folder.write("integer.jsonl", [parent(0, "ann", "bob")])
    found = folder.results("ms.rifps", "--stream", "integer.jsonl")
    assert [line["t"] for line in found] == [0, 1500]


def test_an_item_at_fault_is_named_and_stops_nothing_else(folder: Folder) -> None:
    broken = {"t": 2, "graph": "@prefix t: <http://t/> . t:s2 t:reads 40 . t:s3 t:reads 41"}
    mixed = (
        "@prefix t: <http://t/> . t:s2 t:reads 40 , '4o'^^<http://www.w3.org/2001/XMLSchema#int> ."
    )
    items = [
        reads(1, "31.5"),
        reads(2, "thirty"),
        broken,
        {"t": 2, "graph": mixed},
        {"t": 3, "atom": "t_reads(X,40)"},
        {"t": 3, "atom": "t_reads(f(1),40)"},
        reads(3, "33"),
    ]
    folder.write("faults.jsonl", items)
    done = folder.run("reason", "hot.rifps", "--stream", "faults.jsonl", "--until", "3")
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["t"], line["answer_sets"]) for line in lines] == [
        (1, [['t_hot("t_s1","31.5")']]),
        (3, [['t_hot("t_s1","31.5")', 't_hot("t_s1",33)']]),
    ]
    told = [line for line in done.stderr.splitlines() if "error: " in line]
    assert len(told) == 5
    for line in (2, 3, 4, 5, 6):
        assert any(f"faults.jsonl:{line}: " in text for text in told), line


def test_an_item_that_comes_late_is_left_out_and_told(folder: Folder) -> None:
    folder.write("late.jsonl", [reads(1, "31"), reads(5, "32"), reads(4, "33"), reads(5, "34")])
    done = folder.run("reason", "hot.rifps", "--stream", "late.jsonl", "--until", "5")
    assert done.returncode == 0
    assert "late.jsonl:3: came 1s too late and is left out; sort the recording" in done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    values = [31, 32, 34]
    assert last == {"t": 5, "answer_sets": [[f't_hot("t_s1",{value})' for value in values]]}


def test_atoms_arrive_as_triples_and_as_atoms_of_rif(folder: Folder) -> None:
    folder.write(
        "atoms.rifps",
        """Document(Prefix(e <http://e/>) 5 s Group(
        Forall ?x ?y (?x[e:seen -> ?y] :- ?x[e:near -> ?y])
        Forall ?x ?y (e:pair(?x ?y) :- And(e:pairs(?x ?y) _ready()))))""",
    )
    items = ['e_near("e_a",7)', "e_pairs(1,(2,true))", "ready"]
    folder.write("atoms.jsonl", [{"t": 0, "atom": atom} for atom in items])
    found = folder.results("atoms.rifps", "--stream", "atoms.jsonl", "--until", "0")
    assert found[0]["answer_sets"] == [["e_pair(1,(2,true))", 'e_seen("e_a",7)']]


def test_a_knowledge_base_counts_at_every_instant(folder: Folder) -> None:
    folder.write("k.ttl", "<http://f/bob> <http://f/parent> <http://f/cid> .")
    folder.write("one.jsonl", [parent(7, "ann", "bob")])
    found = folder.results("grand.rifps", "--stream", "one.jsonl", "--kb", "k.ttl", "--deltas")
    atom = 'f_grandparent("f_ann","f_cid")'
    assert [(line["t"], line["answer_sets"]) for line in found] == [(7, [[atom]]), (10, [[]])]
    assert found[0]["entailed"] == [{"atom": atom, "from": 7, "until": 9}]


def test_without_a_stream_there_is_one_answer(folder: Folder) -> None:
    folder.write("k.ttl", "@prefix f: <http://f/> . f:ann f:parent f:bob . f:bob f:parent f:cid .")
    atom = 'f_grandparent("f_ann","f_cid")'
    (found,) = folder.results("always.rifps", "--kb", "k.ttl", "--deltas")
    assert (found["t"], found["answer_sets"], found["added"]) == (None, [[atom]], [atom])
    assert found["entailed"] == []  # it holds always: no event of the streams


def test_a_window_needs_a_stream(folder: Folder) -> None:
    done = folder.run("reason", "grand.rifps")
    assert done.returncode == 2
    assert "grand.rifps has a window on a stream; give a recording: --stream FILE" in done.stderr


def test_a_stream_without_items_has_no_answer(folder: Folder) -> None:
    folder.write("empty.jsonl", "")
    assert folder.results("grand.rifps", "--stream", "empty.jsonl") == []


def test_the_solver_is_refused_and_other_options_change_nothing(folder: Folder) -> None:
    stream = ("grand.rifps", "--stream", "family.jsonl")
    done = folder.run("reason", *stream, "--engine", "solver")
    assert done.returncode == 1
    assert "grand.rifps is a document of RIF, which the incremental engine evaluates" in done.stderr
    plain = folder.run("reason", *stream)
    for options in (("--engine", "incremental"), ("--engine", "auto"), ("--models", "2")):
        assert folder.run("reason", *stream, *options) == plain
    parallel = folder.run("reason", *stream, "--parallel", "4")
    assert parallel.returncode == 0
    assert parallel.stdout == plain.stdout
    assert "grand.rifps is evaluated in one process: documents of RIF are not" in parallel.stderr


def test_what_is_entailed_leaves_as_a_stream_that_another_document_reads(folder: Folder) -> None:
    done = folder.run("reason", "grand.rifps", "--stream", "family.jsonl", "--emit", "istream")
    assert done.returncode == 0
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {
            "t": 2,
            "s": "<http://f/ann>",
            "p": "<http://f/grandparent>",
            "o": "<http://f/cid>",
            "until": 3,
        }
    ]
    folder.write("p.jsonl", done.stdout)
    folder.write(
        "next.rifps",
        """Document(Prefix(f <http://f/>) 1 s Group(
        Forall ?a ?c (?c[f:ancestor_of -> ?a] :- ?a[f:grandparent -> ?c])))""",
    )
    assert folder.results("next.rifps", "--stream", "p.jsonl") == [
        {"t": 2, "answer_sets": [['f_ancestor_of("f_cid","f_ann")']]},
        {"t": 4, "answer_sets": [[]]},
    ]


def test_what_is_shown_and_what_ends_leave_as_streams_too(folder: Folder) -> None:
    folder.write("values.jsonl", [reads(1, "31.50"), reads(3, "32", "int")])
    options = ("--stream", "values.jsonl", "--emit-as", "http://t/out")
    emitted = {}
    for operator in ("rstream", "dstream"):
        done = folder.run("reason", "hot.rifps", *options, "--emit", operator)
        emitted[operator] = [json.loads(line) for line in done.stdout.splitlines()]
    one = '"31.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    two = '"32"^^<http://www.w3.org/2001/XMLSchema#integer>'
    triple = {"s": "<http://t/s1>", "p": "<http://t/hot>", "stream": "http://t/out"}
    assert emitted["rstream"] == [
        {"t": t, "o": value} | triple for t, value in ((1, one), (3, one), (3, two), (11, two))
    ]
    assert emitted["dstream"] == [{"t": t, "o": v} | triple for t, v in ((11, one), (13, two))]


def test_an_atom_of_rif_leaves_as_an_atom(folder: Folder) -> None:
    folder.write("p.rifps", "Document(2 s Group(Forall ?x (_q(?x) :- _p(?x))))")
    folder.write("p.jsonl", [{"t": 5, "atom": "p(1)"}])
    done = folder.run("reason", "p.rifps", "--stream", "p.jsonl", "--emit", "istream")
    assert json.loads(done.stdout) == {"t": 5, "atom": "q(1)", "until": 6}


def test_an_instant_at_which_all_is_inconsistent_fails_alone(folder: Folder) -> None:
    folder.write(
        "k.ttl",
        """@prefix owl: <http://www.w3.org/2002/07/owl#> .
        <http://e/A> owl:disjointWith <http://e/B> .""",
    )
    folder.write(
        "odd.rifps",
        """Document(Prefix(e <http://e/>)
        Import(<k.ttl> <http://www.w3.org/ns/entailment/OWL-RDF-Based>) 2 s
        Group(Forall ?x (?x[e:is -> e:a] :- ?x # e:A)))""",
    )
    graph = "@prefix e: <http://e/> . e:x a e:A ; e:odd e:y . {} "
    items = [graph.format(""), graph.format("e:x a e:B ."), graph.format("")]
    folder.write("odd.jsonl", [{"t": 3 * n, "graph": g} for n, g in enumerate(items)])
    done = folder.run("reason", "odd.rifps", "--stream", "odd.jsonl", "--deltas")
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["t"], "error" in line) for line in lines] == [
        (0, False),
        (2, False),
        (3, True),
        (5, False),
        (6, False),
        (8, False),
    ]
    assert [line.get("answer_sets") for line in lines] == [
        [['e_is("e_x","e_a")']],
        [[]],
        None,
        [[]],
        [['e_is("e_x","e_a")']],
        [[]],
    ]
    after = lines[3]
    assert [after[key] for key in ("added", "removed", "entailed", "negated")] == [[], [], [], []]
    assert "at 3: what counts contradicts itself: " in done.stderr
    assert "disjoint classes" in done.stderr
    assert "<http://e/x>" in done.stderr


def test_a_document_without_rules_shows_what_its_profile_entails(folder: Folder) -> None:
    folder.write(
        "s.ttl",
        """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix e: <http://e/> .
        e:Loop rdfs:subClassOf e:Sensor . e:old a e:Loop .""",
    )
    folder.write(
        "s.rifps",
        """Document(Prefix(e <http://e/>)
        Import(<s.ttl> <http://www.w3.org/ns/entailment/RDFS>) 3 s)""",
    )
    graph = "@prefix e: <http://e/> . e:{0} a e:Loop ."
    folder.write("s.jsonl", [{"t": t, "graph": graph.format(f"new{t}")} for t in (1, 2)])
    found = folder.results("s.rifps", "--stream", "s.jsonl", "--deltas")
    one, two = (f'rdf_type("e_new{t}","e_Sensor")' for t in (1, 2))
    assert [(line["t"], line["added"], line["removed"]) for line in found] == [
        (1, [one], []),
        (2, [two], []),
        (4, [], [one]),
        (5, [], [two]),
    ]
    assert [line["entailed"] for line in found[:2]] == [
        [{"atom": one, "from": 1, "until": 3}],
        [{"atom": two, "from": 2, "until": 4}],
    ]


@pytest.mark.parametrize(
    ("form", "said"), [("text", "grand"), ("json", '"grand"'), ("dot", "digraph")]
)
def test_the_plan_of_a_document_names_its_rules(folder: Folder, form: str, said: str) -> None:
    done = folder.run("plan", "grand.rifps", "--format", form)
    assert done.returncode == 0
    assert said in done.stdout
    if form == "json":
        json.loads(done.stdout)
