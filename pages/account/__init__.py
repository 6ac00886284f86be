"""The parts of the page that says what one may do."""
