"""TFRecord files: records in order, checksums by their definition."""

import tempfile
import zlib

from hypothesis import given, settings
from hypothesis import strategies as st

from mzu.episodes.readers.tfrecord import RecordWriter, masked_crc, read_records


@settings(max_examples=30, deadline=None)
@given(data=st.lists(st.binary(max_size=40), max_size=6))
def test_records_come_back_in_order(data):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/records"
        with RecordWriter(path) as writer:
            for record in data:
                writer.write(record)
        assert [record for _, record in read_records(path)] == data


@settings(max_examples=50, deadline=None)
@given(data=st.binary(max_size=100))
def test_the_checksum_equals_its_definition_bit_by_bit(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    assert masked_crc(data) == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % 2**32
    assert not data or masked_crc(data) != zlib.crc32(data)
