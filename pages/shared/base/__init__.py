"""What all that pages share stands on: components of our own, lectures, the glossary."""
