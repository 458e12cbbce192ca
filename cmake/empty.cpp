// Stands in for a module that has headers only.
