"""Methods that answer what a test tells them."""
