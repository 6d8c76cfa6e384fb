"""Engines that compute the answer sets of a window."""
