"""One module for each format.

A module declares a trace format as `FORMAT`, a source of expected calls as `SOURCE`, or both.
"""
