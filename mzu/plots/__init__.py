"""Drawings of the notebooks: what a lesson shows, so that what a student reads in it is the idea.

circle.py    the circle of data, and where a notebook stands in it
worlds.py    the five states of notebook 01, the stored episodes of notebook 04
trees.py     search trees made of node objects
"""
