"""Stream files: every kind of item, times, several files, and lines that are no items."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import clingo
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model import atoms
from citywise.reasoning.model.request import Request, Unit
from citywise.reasoning.rdf.mapping import XSD, Blank, Iri, Literal, Triple
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.recordings import (
    NoStreamError,
    Recording,
    TimeForm,
    format_time,
    write,
)

A, P, B = Iri("http://e/a"), Iri("http://e/p"), Iri("http://e/b")
TRIPLE = {"s": "<http://e/a>", "p": "<http://e/p>", "o": "<http://e/b>"}
PREFIX = "#prefix e : <http://e/>.\n"


def request(*streams: str, window: str = "[time 10s step 1s]", rules: str = "") -> Request:
    names = streams or ("urn:s",)
    froms = "".join(f"#from stream <{name}> {window}.\n" for name in names)
    return parse(PREFIX + froms + (rules or "a(X) :- e_p(X,Y).") + "\n")


def recorded(path: Path, *lines: object) -> Path:
    """A stream file; objects become JSON, text stands as it is."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    data = "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(path: Path, *lines: object, reading: Request | None = None) -> list[Item]:
    return list(Recording([recorded(path / "s.jsonl", *lines)], reading or request()))


def test_atoms_triples_and_graphs_are_items_in_order_of_arrival(tmp_path: Path) -> None:
    graph = "@prefix : <http://e/> . :a :p :b, 7 ."
    items = read(tmp_path, {"t": 5, "atom": "p( 1, \"a\" )"}, "", {"t": 6, **TRIPLE},
                 {"t": 7, "graph": graph, "until": 9})  # fmt: skip
    assert items == [
        Item(5, 'p(1,"a")', 0, None, "urn:s"),
        Item(6, (Triple(A, P, B),), 1, None, "urn:s"),
        Item(7, (Triple(A, P, B), Triple(A, P, Literal("7", XSD + "integer"))), 2, 9, "urn:s"),
    ]


def test_listing_2_2_of_the_thesis_holds_at_its_times(tmp_path: Path) -> None:
    """(a) one timestamp, (b) an interval, (c) a graph: each is in the windows that meet it."""
    rules = """
    at(E,S) :- e_detectedAt(E,S).
    by(E,S) :- e_detectedSource(E,S).
    #show at/2. #show by/2.
    """
    lines = [
        {"t": 1, **triple("event1", "detectedAt", "dangan")},
        {"t": 1, "until": 6, **triple("event2", "detectedAt", "newcastle")},
        {"t": 2, "graph": "@prefix : <http://e/> . :event3 :detectedAt :thomas; "
                          ":detectedSource :sensors ."},
    ]  # fmt: skip
    answers = answered(tmp_path, request(window="[time 0s step 1s]", rules=rules), lines, until=7)
    event2 = 'at("e_event2","e_newcastle")'
    assert answers == {
        1: ['at("e_event1","e_dangan")', event2],
        2: [event2, 'at("e_event3","e_thomas")', 'by("e_event3","e_sensors")'],
        **{key: [event2] for key in range(3, 7)},
        7: [],
    }


def triple(subject: str, predicate: str, value: str) -> dict[str, str]:
    names = (subject, predicate, value)
    return {key: f"<http://e/{name}>" for key, name in zip("spo", names, strict=True)}


def answered(
    folder: Path, reading: Request, lines: list[dict[str, object]], until: int
) -> dict[int, list[str]]:
    reasoner = Reasoner(reading)
    found = [e for item in read(folder, *lines, reading=reading) for e in reasoner.push(item)]
    found += reasoner.finish(until)
    return {e.time: list(e.answer_sets[0].atoms) for e in found}


def test_times_are_integers_in_the_unit_or_iso_with_a_zone_rounded_down(tmp_path: Path) -> None:
    seconds, milliseconds = request(), request(window="[time 10ms step 1ms]")
    iso = {"t": "2014-08-05T02:00:00.1239+02:00", "atom": "p", "until": "2014-08-05T00:00:01Z"}
    (item,) = read(tmp_path, iso, reading=seconds)
    assert (item.time, item.until) == (1407196800, 1407196801)
    (item,) = read(tmp_path, iso, reading=milliseconds)
    assert (item.time, item.until) == (1407196800123, 1407196801000)
    (item,) = read(tmp_path, {"t": 5, "atom": "p"}, reading=milliseconds)
    assert item.time == 5
    (item,) = read(tmp_path, {"t": "1969-12-31T23:59:59.5Z", "atom": "p"}, reading=seconds)
    assert item.time == -1


@pytest.mark.parametrize(
    ("time", "unit", "form", "text"),
    [
        (7, "s", "integer", 7),
        (1407196800, "s", "iso", "2014-08-05T00:00:00Z"),
        (1407196800123, "ms", "iso", "2014-08-05T00:00:00.123Z"),
        (1407196800000, "ms", "iso", "2014-08-05T00:00:00.000Z"),
    ],
)
def test_result_times_have_the_form_of_the_recording(
    time: int, unit: Unit, form: TimeForm, text: int | str
) -> None:
    assert format_time(time, unit, form) == text


def test_a_recording_says_how_its_times_are_written(tmp_path: Path) -> None:
    for line, form in (
        ({"t": 1, "atom": "p"}, "integer"),
        ({"t": "2014-08-05Z", "atom": "p"}, None),
    ):
        recording = Recording([recorded(tmp_path / "s.jsonl", line)], request(), lambda _e: None)
        list(recording)
        assert recording.form == form


def test_files_are_merged_by_time_and_each_keeps_its_order(tmp_path: Path) -> None:
    one = recorded(tmp_path / "a.jsonl", *({"t": t, "atom": f"a({t})"} for t in (1, 5, 3, 6)))
    two = recorded(tmp_path / "b.jsonl.gz", *({"t": t, "atom": f"b({t})"} for t in (2, 4, 5, 7)))
    recording = Recording([one, two], request())
    items = list(recording)
    assert [i.content for i in items] == [
        "a(1)", "b(2)", "b(4)", "a(5)", "a(3)", "b(5)", "a(6)", "b(7)",
    ]  # fmt: skip
    assert [i.position for i in items] == list(range(8))
    assert recording.source(4) == f"{one}:3"
    assert recording.source(7) == f"{two}:4"


def test_blank_nodes_of_different_files_and_graphs_are_different(tmp_path: Path) -> None:
    line = {"t": 1, "s": "_:b0", "p": "<http://e/p>", "o": "_:f1-b0"}
    graph = {"t": 1, "graph": "_:b0 <http://e/p> [] ."}
    files = [recorded(tmp_path / name, line, graph, graph) for name in ("a.jsonl", "b.jsonl")]
    items = list(Recording(files, request()))
    labels = [t.label for i in items for one in i.content for t in one if isinstance(t, Blank)]
    assert len(labels) == len(set(labels)) == 12
    assert labels[0] == "b0"
    (again,) = (i for i in Recording(files[:1], request()) if i.position == 0)
    assert again == items[0]


def test_a_stream_is_named_where_there_are_several(tmp_path: Path) -> None:
    two = request("urn:s", "urn:t")
    (item,) = read(tmp_path, {"t": 1, "atom": "p", "stream": "urn:t"}, reading=two)
    assert item.stream == "urn:t"


def test_items_for_a_request_without_streams_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoStreamError, match="#from stream"):
        read(tmp_path, {"t": 1, "atom": "p"}, reading=parse("a :- b. b."))


BAD: list[tuple[object, str]] = [
    ('{"t": 1,', "not JSON"),
    ('["t"]', "expected a JSON object"),
    ('{"t": 1, "atom": "p", "t": 2}', '"t" stands twice'),
    ('{"t" :1, "atom": "p", "\\u0074":2}', '"t" stands twice'),
    ({"atom": "p"}, '"t" is missing'),
    ({"t": 1.5, "atom": "p"}, "expected an integer (s)"),
    ({"t": True, "atom": "p"}, "expected an integer (s)"),
    ({"t": 2**31, "atom": "p"}, "32 bits"),
    ({"t": "2014-08-05T00:00:00", "atom": "p"}, "has no zone"),
    ({"t": "yesterday", "atom": "p"}, "is no time"),
    ({"t": "2014-08-05T00:00:00Z", "atom": "p"}, "ISO 8601, but the items before"),
    ({"t": 1, "until": "2014-08-05T00:00:00Z", "atom": "p"}, "written differently"),
    ({"t": 5, "until": 4, "atom": "p"}, "before"),
    ({"t": 1}, "none of them"),
    ({"t": 1, "atom": "p", **TRIPLE}, '"atom" and "s", "p" and "o"'),
    ({"t": 1, "s": "<http://e/a>", "p": "<http://e/p>"}, '"o" is missing'),
    ({"t": 1, **TRIPLE, "o": "b"}, "expected N-Triples syntax"),
    ({"t": 1, **TRIPLE, "s": '"a"'}, "is a literal"),
    ({"t": 1, "atom": 7}, "expected a string"),
    ({"t": 1, "atom": ""}, "no ground atom"),
    ({"t": 1, "atom": "p(X)"}, "`X` is a variable"),
    ({"t": 1, "atom": "p(1)."}, "without `.`"),
    ({"t": 1, "atom": "p(1). q(2)"}, "no ground atom"),
    ({"t": 1, "atom": "not(1)"}, "word of the language"),
    ({"t": 1, "atom": "p(1..3)"}, "computes"),
    ({"t": 1, "atom": "p(é)"}, "`é` stands outside strings"),
    ({"t": 1, "atom": "p(2147483647+1)"}, "computes"),
    ({"t": 1, "atom": "p(@f())"}, "no ground atom"),
    ({"t": 1, "atom": "p(99999999999)"}, "32-bit"),
    ({"t": 1, "atom": f"p({'9' * 5000})"}, "32-bit"),
    ({"t": 1, "atom": 'p("a\0b")'}, "NUL"),
    ('{"t": 1, "atom": "p(\\"\\ud800\\")"}', "not JSON"),
    ({"t": 1, "atom": 'p("a'}, "not closed"),
    ({"t": 1, "atom": "p(" + "f(" * 100 + "1" + ")" * 101}, "brackets"),
    ({"t": 1, "atom": "p", "stream": "urn:t"}, "reads no stream 'urn:t'; it reads <urn:s>"),
    ({"t": 1, "graph": ":a :p"}, "not Turtle, line 1"),
    ({"t": 1, "graph": "<a> <http://e/p> <http://e/b> ."}, "<a> is a relative IRI"),
    ({"t": 1, "graph": "[ " * 3000}, "not Turtle"),
]


@pytest.mark.parametrize(("line", "says"), BAD)
def test_a_line_that_is_no_item_is_told_of_with_its_place_and_reading_goes_on(
    tmp_path: Path, line: object, says: str
) -> None:
    good = {"t": 1, "atom": "p"}
    path = recorded(tmp_path / "s.jsonl", good, line, good)
    errors: list[ItemError] = []
    items = list(Recording([path], request(), errors.append))
    assert [i.position for i in items] == [0, 1]
    assert len(errors) == 1
    assert str(errors[0]).startswith(f"{path}:2: ")
    assert says in str(errors[0])
    assert len(str(errors[0])) < 700


def test_without_a_callback_the_first_bad_line_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match=r"s\.jsonl:1: not JSON"):
        read(tmp_path, "{")


def test_a_stream_is_missing_where_there_are_several(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match=r"which stream\?.*<urn:s>, <urn:t>"):
        read(tmp_path, {"t": 1, "atom": "p"}, reading=request("urn:s", "urn:t"))


def test_a_file_that_is_missing_or_broken_off_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match="nowhere"):
        list(Recording([tmp_path / "nowhere.jsonl"], request()))
    whole = recorded(tmp_path / "s.jsonl.gz", *({"t": t, "atom": "p"} for t in range(1000)))
    whole.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(ItemError, match=r"s\.jsonl\.gz.*to its end"):
        list(Recording([whole], request()))


def test_a_line_of_a_megabyte_is_an_item(tmp_path: Path) -> None:
    (item,) = read(tmp_path, {"t": 1, "atom": f'p("{"x" * 1_000_000}")'})
    assert len(item.content) == 1_000_005


contents = st.one_of(
    st.sampled_from(["p", 'p(1,"a b")', "-q(f(-3),c)"]),
    st.lists(
        st.builds(
            Triple,
            st.sampled_from([A, B]),
            st.just(P),
            st.one_of(st.just(B), st.builds(Literal, st.text(), st.none(), st.none())),
        ),
        min_size=1,
        max_size=3,
        unique=True,
    ).map(tuple),
)


@given(
    st.lists(st.tuples(contents, st.integers(0, 3)), max_size=4),
    st.sampled_from(["integer", "iso"]),
)
def test_written_items_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    given_items: list[tuple[str | tuple[Triple, ...], int]],
    form: TimeForm,
) -> None:
    items = [
        Item(time, content, time, time + length, "urn:s")
        for time, (content, length) in enumerate(given_items)
    ]
    path = tmp_path_factory.mktemp("written") / "s.jsonl"
    assert list(Recording([recorded(path, *write(items, "s", form))], request())) == items


texts = st.text(st.characters(codec="utf-8", exclude_characters='"\\\n\0'), max_size=5)
arguments = st.recursive(
    st.one_of(
        st.integers(-(2**31), 2**31 - 1).map(str),
        st.sampled_from(["a", "_b1", "c'", "notion", "#inf", '"\\\\ \\n \\""', "-a"]),
        texts.map('"{}"'.format),
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"f({','.join(parts)})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({','.join(parts)})"),
    ),
    max_leaves=4,
)


@given(st.sampled_from(["p", "-p", "_q1", "r'"]), st.lists(arguments, max_size=3))
def test_atoms_are_spelt_as_clingo_spells_them(name: str, parts: list[str]) -> None:
    text = f"{name}({','.join(parts)})" if parts else name
    expected = str(clingo.parse_term(text))
    spaced = f"{name}( {' , '.join(parts)} )" if parts else name
    assert atoms.ground(text) == atoms.ground(spaced) == expected


@given(st.text(st.sampled_from("pqX19\"'().,;:-+_ @#&|{}~\\\n\0notf"), max_size=12))
def test_what_is_taken_for_an_atom_is_one_fact_and_nothing_else(text: str) -> None:
    try:
        atom = atoms.ground(text)
    except ItemError:
        return
    control = clingo.Control()
    control.add("base", [], f"{atom}.")
    control.ground([("base", [])])
    assert [str(a.symbol) for a in control.symbolic_atoms] == [atom]
