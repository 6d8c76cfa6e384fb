"""No reader of RDF opens what a document names, in the network or on the disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import rdflib.parser

from citywise.reasoning.errors import RequestError
from citywise.reasoning.model.request import KnowledgeSource
from citywise.reasoning.rdf.knowledge import KnowledgeBase, read

XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    '<rdf:Description rdf:about="http://e/a"><e:p>ENTITY</e:p></rdf:Description></rdf:RDF>'
)


def known(folder: Path, name: str, text: str) -> KnowledgeBase:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read(KnowledgeSource(str(path)))


def refused(folder: Path, name: str, text: str) -> str:
    with pytest.raises(RequestError) as caught:
        known(folder, name, text)
    return caught.value.message


@pytest.mark.parametrize(
    "document",
    [
        '{"@context": "HERE", "@id": "http://e/a", "x": "y"}',
        '{"@context": [null, {"x": "http://e/"}, ["HERE"]], "@id": "http://e/a", "x": "y"}',
        '{"@context": [[[["HERE"]]]], "@id": "http://e/a", "x": "y"}',
        '{"@context": [{"@context": ["HERE"]}], "@id": "http://e/a", "x": "y"}',
        '{"@context": {"@import": "HERE"}, "@id": "http://e/a", "x": "y"}',
        '{"@context": [[{"@import": "HERE"}]], "@id": "http://e/a", "x": "y"}',
        '{"@context": {"y": {"@id": "http://e/y", "@context": "HERE"}}, "y": {"x": "y"}}',
        '{"@context": {"y": {"@id": "http://e/y", "@context": [["HERE"]]}}, "y": {"x": "y"}}',
        '{"@context": {"C": {"@id": "http://e/C", "@context": ["HERE"]}}, "@type": "C", "x": "y"}',
        '{"@graph": [{"@id": "http://e/a", "http://e/p": {"@context": [["HERE"]], "x": "y"}}]}',
        '{"@context": {"@base": "BASE"}, "http://e/p": {"@context": "context", "x": "y"}}',
    ],
)
@pytest.mark.parametrize("scheme", ["http", "file", "relative"])
def test_no_context_is_fetched_wherever_a_document_names_it(
    tmp_path: Path, document: str, scheme: str
) -> None:
    (tmp_path / "context").write_text('{"@context": {"x": "http://e/x"}}')
    with _server() as (base, asked):
        base = {"http": base, "file": f"{tmp_path.as_uri()}/", "relative": ""}[scheme]
        text = document.replace("HERE", f"{base}context").replace("BASE", base)
        assert "not fetched" in refused(tmp_path, "k.jsonld", text)
    assert asked == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("k.rdf", '<!DOCTYPE r SYSTEM "HEREr.dtd">XML'),
        ("k.rdf", '<!DOCTYPE r PUBLIC "r" "HEREr.dtd">XML'),
        ("k.rdf", '<?xml-stylesheet href="HEREr.xsl"?>XML'),
        ("k.ttl", "@base <HERE> . <a> <b> <c> . <a> <http://www.w3.org/2002/07/owl#imports> <d> ."),
        ("k.n3", "<HEREa> <http://www.w3.org/2000/10/swap/log#semantics> <HEREb> ."),
        ("k.trig", "<HEREg> { <HEREa> <HEREb> <HEREc> }"),
        ("k.jsonld", '{"@id": "HEREa", "HEREp": {"@id": "HEREb"}}'),
    ],
)
def test_what_other_documents_name_is_not_fetched(tmp_path: Path, name: str, text: str) -> None:
    with _server() as (base, asked):
        text = text.replace("XML", XML).replace("HERE", base)
        assert known(tmp_path, name, text).triples
    assert asked == []


@pytest.mark.parametrize(
    "dtd", ['<!ENTITY % p SYSTEM "HEREp"> %p;', '<!ENTITY e SYSTEM "HEREe">', "<!ENTITY % p 'x'>"]
)
def test_no_entity_is_fetched(tmp_path: Path, dtd: str) -> None:
    with _server() as (base, asked):
        text = f"<!DOCTYPE r [{dtd.replace('HERE', base)}]>{XML.replace('ENTITY', '&e;')}"
        assert "lies outside the document" in refused(tmp_path, "k.rdf", text)
    assert asked == []


def test_reading_leaves_the_loader_of_rdflib_as_it_was(tmp_path: Path) -> None:
    opens = rdflib.parser._create_input_source_from_location
    refused(tmp_path, "k.jsonld", '{"@context": "http://e/c"}')
    assert rdflib.parser._create_input_source_from_location is opens


@contextmanager
def _server() -> Iterator[tuple[str, list[str]]]:
    """A server of contexts on this machine, its address, and what it was asked for."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/ld+json")
            self.end_headers()
            self.wfile.write(b'{"@context": {"x": "http://e/x"}}')

        def log_message(self, *_arguments: object) -> None:
            """Tell nobody."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", asked
        finally:
            server.shutdown()
            thread.join()
