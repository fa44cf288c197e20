"""Assignments that grade themselves: questions, their checks, and grading (tutorials/teaching.md).

from mzu.classroom import check

check("2.1", puct_scores)    # the visible checks of question 2.1, from a notebook
"""

from mzu.classroom.assignments import check

__all__ = ["check"]
