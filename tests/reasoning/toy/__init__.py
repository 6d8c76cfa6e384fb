"""A language in one folder: `jam when slow and busy unless holiday`, over one stream."""
