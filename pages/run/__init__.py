"""What the Run page is made of: the form that starts runs, and a run as it goes on."""
