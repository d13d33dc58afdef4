"""Tables, figures and the report page for scored episodes."""
