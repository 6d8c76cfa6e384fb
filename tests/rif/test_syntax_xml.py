"""RIF in XML: read as the presentation syntax is, and safely."""

from __future__ import annotations

import pytest

from citywise.reasoning.errors import RequestError
from citywise.reasoning.languages.rif import parsing
from citywise.reasoning.languages.rif.document import RIF, Document, Import, RifWindow
from citywise.reasoning.languages.rif.xml import OURS
from tests.rif.test_syntax_faults import faults

XS = "http://www.w3.org/2001/XMLSchema#"
DEEP = 120


def document(inner: str, more: str = "") -> str:
    return f'<Document xmlns="{RIF}"{more}>{inner}</Document>'


def sentence(inner: str) -> str:
    return document(f"\n<payload><Group><sentence>{inner}</sentence></Group></payload>")


def const(text: str, space: str = f"{RIF}iri") -> str:
    return f'<Const type="{space}">{text}</Const>'


def atom(*arguments: str, name: str = "http://e/p") -> str:
    return f"<Atom><op>{const(name)}</op><args>{''.join(arguments)}</args></Atom>"


def frame(subject: str, *slot: str) -> str:
    return f"<Frame><object>{subject}</object><slot>{''.join(slot)}</slot></Frame>"


def implies(condition: str, *names: str) -> str:
    declared = "".join(f"<declare><Var>{name}</Var></declare>" for name in names)
    rule = f"<Implies><if>{condition}</if><then>{atom()}</then></Implies>"
    return f"<Forall>{declared}<formula>{rule}</formula></Forall>"


def read(text: str) -> Document:
    return parsing.parse(text, file="d.rif")


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (atom(const("http://e/a")), "ex:p(ex:a)"),
        (atom(const(" http://e/a\n")), "ex:p(ex:a)"),
        (atom(const("a b", f"{RIF}local")), 'ex:p("a b"^^rif:local)'),
        (atom(const("7", f"{XS}integer"), const(" x ", f"{XS}string")), 'ex:p(7 " x ")'),
        (atom('<Const type="http://www.w3.org/2001/XMLSchema#string"/>'), 'ex:p("")'),
        (
            atom(f'<Const type="{XS}string" xml:lang="da">æ</Const>'),
            'ex:p("æ"@da)',
        ),
        (atom("<List/>", f"<List>{const('a', f'{RIF}local')}</List>"), "ex:p(List() List(_a))"),
        (
            f"<And><formula>{atom()}</formula><formula>{atom()}</formula></And>",
            "And(ex:p() ex:p())",
        ),
        (
            frame(const("http://e/a"), const("http://e/b"), const("1", f"{XS}integer")),
            "ex:a[ex:b -> 1]",
        ),
        (
            implies(f"<Or><formula>{atom('<Var> x </Var>')}</formula></Or>", "x"),
            "Forall ?x (ex:p() :- Or(ex:p(?x)))",
        ),
        (
            implies(
                f"<Exists><declare><Var>x</Var></declare><formula>{atom('<Var>x</Var>')}"
                "</formula></Exists>",
                "y",
            ),
            "Forall ?y (ex:p() :- Exists ?x (ex:p(?x)))",
        ),
    ],
)
def test_it_says_what_the_presentation_syntax_says(written: str, same: str) -> None:
    expected = parsing.parse(f"Document(Prefix(ex <http://e/>) {same})")
    assert read(sentence(written)).rules == expected.rules


def test_directives_and_the_window_which_is_ours() -> None:
    window = f'<Window xmlns="{OURS}" unit="m">\n 2 </Window>'
    imports = "<Import><location>a.ttl</location></Import>"
    found = read(
        document(
            f"<directive>{imports}</directive>\n<directive>{window}</directive>",
            f' xmlns:ex="http://e/" xmlns:w="{OURS}" xml:base="http://b/"',
        )
    )
    assert found.window == RifWindow(120)
    assert found.imports == (Import("a.ttl"),)
    assert (found.prefixes, found.base) == ({"ex": "http://e/"}, "http://b/")
    assert read(document(f'<directive><Window xmlns="{OURS}">5</Window></directive>')).window


def test_relative_iris_are_relative_to_the_base() -> None:
    text = sentence(atom(const("a#b"))).replace("<Document", '<Document xml:base="http://e/c/"')
    assert read(text).rules == parsing.parse("Document(<http://e/p>(<http://e/c/a#b>))").rules


def test_an_id_is_the_label_and_metadata_is_passed_over() -> None:
    meta = f"<id>{const('http://e/rules#slow')}</id><meta><Frame/></meta>"
    rule = implies(atom(), "x").replace("<Forall>", f"<Forall>{meta}")
    found = read(sentence(rule)).rules[0]
    assert (found.label, found.line, found.column) == ("slow", 2, 27)
    inner = implies(atom(), "x").replace("<Implies>", f"<Implies>{meta}")
    assert read(sentence(inner)).rules[0].label == "slow"


def test_entities_may_stand_for_namespaces() -> None:
    text = '<!DOCTYPE Document [<!ENTITY e "http://e/">]>' + sentence(atom(const("&e;a")))
    assert read(text).rules == parsing.parse("Document(<http://e/p>(<http://e/a>))").rules


def test_places_count_characters_after_letters_of_several_bytes() -> None:
    (fault,) = faults(sentence("\n<!-- æ€🚲 -->" + atom("<Var/>")), "d.rif")
    assert str(fault.location) == f"d.rif:3:{13 + len(atom('')) - len('</args></Atom>')}"


@pytest.mark.parametrize(
    ("text", "place", "code", "words"),
    [
        ("", "1:1", "xml", ["no element found"]),
        (f'<Document xmlns="{RIF}">\n<payload>', "2:10", "xml", ["no element found"]),
        (document("\n<a></b>"), "2:6", "xml", ["mismatched tag"]),
        ("<Document/>", "1:1", "syntax", ["no namespace", f'xmlns="{RIF}"']),
        (f'<Group xmlns="{RIF}"/>', "1:1", "syntax", ["found `Group`", "`Document`"]),
        (document("\nwords"), "1:1", "syntax", ["found text `words` in `Document`"]),
        (document("\n<Group/>"), "2:1", "syntax", ["`directive` or `payload`"]),
        (document('\n<x xmlns="http://x/"/>'), "2:1", "syntax", ["`x` is of http://x/"]),
        (document("\n<directive/>"), "2:1", "syntax", ["holds 0 elements, expected one"]),
        (document("<directive>\n<Import/></directive>"), "2:1", "syntax", ["a `location`"]),
        (document("<directive>\n<Base/></directive>"), "2:1", "syntax", ["`Import` or `Window`"]),
        (sentence("\n<Var>x</Var>"), "3:1", "syntax", ["found `Var`", "a formula"]),
        (sentence("\n<Atom/>"), "3:1", "syntax", ["one `op`"]),
        (sentence(atom("\n<Atom/>")), "3:1", "syntax", ["found `Atom`", "a term"]),
        (sentence(atom("\n<Const>a</Const>")), "3:1", "syntax", ["a `type` on it"]),
        (sentence(atom("\n<Var/>")), "3:1", "syntax", ["a name in it"]),
        (sentence("\n<Member/>"), "3:1", "syntax", ["`Member` has no `instance`"]),
        (sentence("<Implies>\n<than/></Implies>"), "3:1", "syntax", ["one `if` and one `then`"]),
        (sentence("\n<Frame/>"), "3:1", "syntax", ["one `object`"]),
        (sentence("\n<Forall/>"), "3:1", "syntax", ["a `declare` with a `Var`"]),
        (sentence("\n<Subclass/>"), "3:1", "core", ["`##`"]),
        (sentence(implies("\n<Naf/>", "x")), "3:1", "core", ["no negation"]),
        (sentence("<Atom><op/>\n<slot/></Atom>".replace("<op/>", f"<op>{const('http://e/p')}</op>")),
         "3:1", "core", ["named arguments"]),
        (sentence(atom("<List>\n<rest/></List>")), "3:1", "core", ["a list with a tail"]),
        (sentence(atom("\n<List><Var>x</Var></List>")), "3:1", "core", ["no variables"]),
        (sentence(atom("\n<Expr/>")), "3:1", "core", ["`External(func:name(…))`"]),
        (sentence("\n<Equal><left><Var>x</Var></left><right><Var>x</Var></right></Equal>"),
         "3:1", "head", ["an equation"]),
        (sentence(atom("\n<Var>x</Var>")), "3:1", "free-variable", ["`?x` is not declared"]),
        (sentence(atom("\n" + const("x", f"{XS}integer"))), "3:1", "literal", ['"x"^^']),
        (sentence(atom("\n" + const("1", "xs:integer"))), "3:1", "iri", ["in full", XS]),
        (sentence(atom("\n" + const("x"))), "3:1", "iri", ["relative IRI"]),
        (document(f'<directive>\n<Window xmlns="{OURS}">x</Window></directive>'),
         "2:1", "window", ["`x` is no whole number"]),
        (sentence("\n" + "<And><formula>" * DEEP + "</formula></And>" * DEEP),
         "3:1387", "size", ["more than 100"]),
        (document("\n" + "<x>" * 500 + "</x>" * 500), "2:1198", "size", ["more than 400 elements"]),
    ],
)  # fmt: skip
def test_a_fault_is_said_where_it_stands(
    text: str, place: str, code: str, words: list[str]
) -> None:
    (fault,) = faults(text, "d.rif")
    assert str(fault).startswith(f"d.rif:{place}: error {code}: "), fault
    assert all(word in fault.message for word in words), fault


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY a "1234567890"><!ENTITY b "&a;&a;&a;"><!ENTITY x "&b;&b;">',
        '<!ENTITY x "' + "1" * 300 + '">',
        "".join(f'<!ENTITY x{number} "">' for number in range(101)),
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;',
        "<!ENTITY % x \"<!ENTITY y 'z'>\"> %x;",
    ],
    ids=lambda declared: declared[:40],
)
def test_entities_that_grow_or_are_files_are_refused(declared: str) -> None:
    text = f"<!DOCTYPE Document [{declared}]>" + document("&x;")
    (fault,) = faults(text, "d.rif")
    assert fault.code == "entity"
    assert fault.location.line == 1


def test_many_short_entities_do_not_make_a_large_text() -> None:
    entity = f'<!DOCTYPE Document [<!ENTITY a "{"x" * 256}">]>'
    for text in (document("&a;" * 60_000), document("", f' a="{"&a;" * 60_000}"')):
        (fault,) = faults(entity + text, "d.rif")
        assert (fault.code, fault.location.line) == ("size", 1)


def test_a_dtd_in_a_file_is_not_read() -> None:
    declared = '<!DOCTYPE Document SYSTEM "http://localhost:1/x.dtd">'
    assert read(declared + document("")).rules == ()
    with pytest.raises(RequestError, match=r"the entity `x` is not declared in the text"):
        read(declared + document("&x;"))
