"""RIF-Core and Windowed Continuous Datalog (Monks et al., "Continuous Deductive Reasoning over
Streamed RDF Data"; W3C RIF Core Dialect, second edition)."""
