"""The running server: its sockets, who may ask what, and the application that joins protocol and page."""
