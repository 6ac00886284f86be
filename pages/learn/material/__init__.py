"""What the Learn page tells in numbers, from recorded runs and the made-up dataset."""
