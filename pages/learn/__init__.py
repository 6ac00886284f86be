"""The chapters of the Learn page, one module each, and the way through them."""
