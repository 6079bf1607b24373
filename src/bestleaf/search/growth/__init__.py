"""How the graph grows: when and where (`schedule`), and by which child (`random`, `prior`, `rave`, `lookahead`)."""
