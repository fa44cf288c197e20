"""The dataset doctor: what is checked before data are believed, and its report."""
