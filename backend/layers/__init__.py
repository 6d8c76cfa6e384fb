"""Layers of a city: all places of a kind, which come together as GeoJSON (docs/layers.md).

`reading` checks a file, `taking` puts its places in the stead of those there were.
"""
