"""Letters to people: their addresses, what is waiting to be sent, and how it leaves.

The web process only writes down what is to be sent; the notifier sends it.
"""
