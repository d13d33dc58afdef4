"""One module a format. Each declares `FORMAT`, a trace format, or `SOURCE`, a source of expected calls, or both."""
