"""RDF and ASP: how triples become ground atoms and atoms become triples."""
