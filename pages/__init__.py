"""The dashboard's pages: read state, call the library, draw."""
