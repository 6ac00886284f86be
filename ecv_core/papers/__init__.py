"""What papers print, cell by cell and run by run, beside what is recorded here; a leaf."""
