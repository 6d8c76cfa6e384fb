"""The sources of a running system: what foreign systems send is fetched or heard, read by a
connector, and sent on to the broker (docs/connectors.md). Each works alone; none waits for another.
"""
