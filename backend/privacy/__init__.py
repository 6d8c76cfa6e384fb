"""What is a person's: withdrawing consent, taking one's data along, being forgotten.

It reaches through all rooms that hold something of a person; docs/privacy.md lists them.
"""
