import time

from mzu.training.clock import Time, now, passed


def test_sleeping_takes_time_but_no_processor():
    before = now()
    time.sleep(0.05)
    taken = passed(before)
    assert taken.wall >= 0.05 > taken.processor


def test_a_time_can_be_taken_several_times():
    assert Time(2.0, 3.0).times(2) == Time(4.0, 6.0)
