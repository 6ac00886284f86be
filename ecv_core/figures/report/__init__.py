"""A run -> one HTML page to print or to send; runs, studies and advice -> text for a paper."""
