"""A run or a study -> one HTML page to print, to send or to put on a web site."""
