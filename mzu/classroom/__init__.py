"""Exercises and assignments that check themselves: questions, their checks, and grading (tutorials/teaching.md).

from mzu.classroom import check

check.exercise_06_3(inject_discrete)    # exercise 3 of notebook 06; check.hint("06.3"), check.solution("06.3")
check("2.1", puct_scores)               # the visible checks of question 2.1 of an assignment
"""

from mzu.classroom.checking import check

__all__ = ["check"]
