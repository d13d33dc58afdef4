"""Tables, figures and the report page of scored episodes."""
