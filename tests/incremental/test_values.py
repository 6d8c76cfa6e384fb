"""Values of the incremental engine read, sort, print and compute as clingo's terms do."""

from __future__ import annotations

from itertools import product

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.reasoning.model import values
from citywise.reasoning.model.values import Row, Value

NUMBERS = st.sampled_from([0, 1, -1, 7, 10, -12, values.LEAST, values.MOST]) | st.integers(-99, 99)
NAMES = st.sampled_from(["a", "b", "ab", "aa", "_a", "f", "fa", "notx", "x'"])
TEXTS = st.sampled_from(["", "a", "a b", "f(1,2)", '"', "\\", "\n", "ä", ",", ")", "1", "B"])


def functions(arguments: st.SearchStrategy[clingo.Symbol]) -> st.SearchStrategy[clingo.Symbol]:
    some = st.lists(arguments, min_size=1, max_size=3)
    named = st.builds(clingo.Function, NAMES, some, st.booleans())
    tuples = st.builds(clingo.Function, st.just(""), some, st.booleans())
    return named | tuples


SYMBOLS = st.recursive(
    st.builds(clingo.Number, NUMBERS)
    | st.builds(clingo.Function, NAMES, st.just([]), st.booleans())
    | st.builds(clingo.String, TEXTS)
    | st.builds(clingo.Function, st.just(""), st.just([]), st.booleans())
    | st.sampled_from([clingo.Infimum, clingo.Supremum]),
    functions,
    max_leaves=6,
)
ATOMS = st.builds(clingo.Function, NAMES, st.lists(SYMBOLS, max_size=3), st.booleans())


def one_by_one(texts: list[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for text in texts:
        name, row = values.parsed(text)
        found.setdefault(f"{name}/{len(row)}", []).append(row)
    return found


@settings(max_examples=25)
@given(ATOMS)
def test_an_atom_is_read_and_printed_as_clingo_writes_it(atom: clingo.Symbol) -> None:
    name, row = values.parsed(str(atom))
    assert name == ("" if atom.positive else "-") + atom.name
    assert row == tuple(map(values.value, atom.arguments))
    assert values.atom_text(name, row) == str(atom)


@settings(max_examples=25)
@given(SYMBOLS, SYMBOLS)
def test_two_values_are_equal_where_their_terms_are(
    one: clingo.Symbol, other: clingo.Symbol
) -> None:
    assert (values.value(one) == values.value(other)) == (one == other)


@settings(max_examples=25)
@given(st.lists(SYMBOLS, max_size=8))
def test_values_sort_as_clingo_sorts_terms(symbols: list[clingo.Symbol]) -> None:
    found = sorted(map(values.value, symbols), key=values.order)
    assert found == list(map(values.value, sorted(symbols)))


def test_every_kind_of_term_has_its_place_in_the_order() -> None:
    written = (
        '#inf -3 0 5 () _a a aa ab b -a -ab "" "\\n" "\\\\" "a" "ab" (1,) f(0) f(a) g(0) (1,2)'
    )
    symbols = [
        clingo.parse_term(text) for text in f"{written} f(0,0) -f(1) -g(0) -f(1,2) #sup".split()
    ]
    assert symbols == sorted(symbols)
    assert [*map(values.value, symbols)] == sorted(
        map(values.value, reversed(symbols)), key=values.order
    )


@given(st.lists(ATOMS.map(str) | st.builds("p({},{})".format, NUMBERS, NUMBERS), max_size=12))
@settings(max_examples=25)
def test_many_atoms_read_at_once_are_those_read_one_by_one(texts: list[str]) -> None:
    assert values.parsed_many(texts) == one_by_one(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["p(1,2)", "p(-3,0)", "p(-2147483648,2147483647)"],
        ["p(1)", "p(1,2)", "p", "-p(1)"],
        ["p(true)", "p(null,1)", "p(1)"],
        ["p((1,2))", "p((1,),3)", "p(())"],
        ['p("a,b",1)', 'p(")(")', 'p("\\"],[")', 'p("1")'],
        ['p("a,")', 'p("b,")'],
        ["p(1407196800,-2147483648)", "p(3,4)"],
        ["p(1)", "p((1,2))", "p(-1,-a)"],
        ["q(p(1),2)", "q(1,2)"],
        ["p(f(1),-f(2),-a)", "p(#inf)", "p(#sup,x')"],
        ["p(1)", "p(2,3)"],
        ["p(a)", "p(b,c)"],
        ["p(a,b)", "p(c)", "p(d,e,g)"],
        ["p(a)", "q(b)", "p(c)", "r"],
        ["r", "p(a)"],
        ["p(2)", "p", "p"],
        ["-p", "-p(1)"],
        ["p(a,1)", 'p(b,"x y")', "p(x',-3)", 'p("",-a)'],
        ['p(";")', 'p("a;")', "p(b)"],
        ['p(c,d,"a,;,b")', "p(e)"],
        ['p(a,"x)p(y")', "p(b,c)"],
        ['p("ä",a)', 'p("\\"",b)', 'p("/",c)'],
    ],
    ids=" ".join,
)
def test_batches_of_every_kind_are_read(texts: list[str]) -> None:
    assert values.parsed_many(texts) == one_by_one(texts)
    written = [
        values.atom_text(relation.rpartition("/")[0], row)
        for relation, rows in values.parsed_many(texts).items()
        for row in rows
    ]
    assert sorted(written) == sorted(texts)


def test_numbers_in_batches_are_numbers_and_nothing_else() -> None:
    """The fast way reads JSON, in which `true` is no constant."""
    assert values.parsed_many(["p(12,-34)", "p(0,1)"]) == {"p/2": [(12, -34), (0, 1)]}
    assert values.parsed_many(["p(true)", "p(1)"]) == {"p/1": [("true",), (1,)]}
    assert all(type(value) is int for (value,) in values.parsed_many(["p(1)", "p(0)"])["p/1"])


LIMITS = (values.LEAST, values.LEAST + 1, values.MOST)
OPERANDS = (0, 1, -1, 2, -2, 3, 7, -7, 31, 100, *LIMITS)
OTHERS: list[Value] = ["a", "-a", '"s"', ("f", 1), ("-f", 1), ("", 1, 2), ("",), "#inf", "#sup"]


def asked(left: str, right: str, operations: dict[str, str]) -> dict[tuple[str, str, str], str]:
    """What clingo computes, by operation and operands."""
    found = {}
    rules = [f'r("{key}",X,Y,{term}) :- x(X), y(Y).' for key, term in operations.items()]
    control = clingo.Control(["--warn=none"])
    control.add("base", [], f"x({left}). y({right}). {' '.join(rules)} #show r/4.")
    control.ground([("base", [])])
    with control.solve(yield_=True) as handle:
        for symbol in handle.model().symbols(shown=True):
            key, x, y, result = symbol.arguments
            found[key.string, str(x), str(y)] = str(result)
    return found


BINARY = {key: f"X {key} Y" for key in ("+", "-", "*", "/", "**", "&", "?", "^")}
BINARY["mod"] = "X \\ Y"
UNARY = {"neg": "-X", "|": "|X|", "~": "~X"}


def test_arithmetic_gives_what_clingo_gives() -> None:
    """Division towards 0, powers below 0, 32 bits that wrap, operations without a value.

    clingo itself breaks down on the least number divided by -1.
    """
    for x, y in product(OPERANDS, repeat=2):
        operations = dict(BINARY)
        if (x, y) == (values.LEAST, -1):
            del operations["/"], operations["mod"]
        expected = asked(str(x), str(y), operations)
        for key in operations:
            result = values.computed("\\" if key == "mod" else key, (x, y))
            wanted = expected.get((key, str(x), str(y)))
            assert (None if result is None else str(result)) == wanted, (x, key, y)


def test_operations_on_one_value_give_what_clingo_gives() -> None:
    for x in (*OPERANDS, *OTHERS):
        expected = asked(values.text(x), "0", UNARY)
        for key in UNARY:
            result = values.computed(key, (x,))
            wanted = expected.get((key, values.text(x), "0"))
            assert (None if result is None else values.text(result)) == wanted, (key, x)


@pytest.mark.parametrize("operation", ["+", "*", "/", "**", "&"])
@pytest.mark.parametrize("operand", OTHERS, ids=str)
def test_what_is_no_number_is_not_computed_with(operation: str, operand: Value) -> None:
    assert values.computed(operation, (operand, 1)) is None
    assert values.computed(operation, (1, operand)) is None


def test_a_name_that_a_constant_defines_is_replaced_wherever_it_stands() -> None:
    found = values.replaced(("f", "n", "-n", '"n"', ("n", "m")), {"n": 3, "m": "k"})
    assert found == ("f", 3, -3, '"n"', ("n", "k"))
