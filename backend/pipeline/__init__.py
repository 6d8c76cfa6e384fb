"""From the ingest log to answers on Spark Structured Streaming: source, worker, sink."""
