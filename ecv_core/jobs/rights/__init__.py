"""Who may do what in a dashboard that several people use, and every change that its pages make.

Pages hide what somebody may not do; that it is refused is decided here.
"""
