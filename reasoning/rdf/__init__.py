"""RDF: reading it, its terms as terms of ASP and back (`mapping`), knowledge bases and which of
their triples rules can see (`knowledge`, `relevance`), and the rules of RDFS and OWL 2 RL.
Knowledge bases are completed here, by clingo; over streams the rules join a request's own."""
