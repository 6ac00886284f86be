"""What the commands give back to the shell."""

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
