"""What scored episodes show: tables, figures, and one page that explains each of them."""
