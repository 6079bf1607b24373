"""What is proved: the record of it, its words, and a checker that needs neither of them."""
