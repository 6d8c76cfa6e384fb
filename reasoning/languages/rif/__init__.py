"""RIF-Core and Windowed Continuous Datalog (Monks et al., "Continuous Deductive Reasoning over
Streamed RDF Data"; W3C RIF Core Dialect, second edition). Text or XML to `Document`, with what it
imports to `Theory`, to rules of the incremental engine (`compile`), evaluated at each instant at
which something changes (`reasoner`). RDF itself, and what RDFS and OWL infer, is in `rdf`."""
