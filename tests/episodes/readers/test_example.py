"""The example message is TensorFlow's."""

import numpy as np

from mzu.episodes.readers.example import decode, encode
from mzu.episodes.readers.tfrecord import RecordWriter, read_records


def test_the_example_message_is_tensorflows(tmp_path):
    import tensorflow as tf

    fields = {"a": np.array([1.5, np.pi], np.float32), "b": np.array([-3, 2**60]), "c": [b"x", b""]}
    example = tf.train.Example.FromString(encode(fields)).features.feature
    assert example["a"].float_list.value == fields["a"].tolist() and example["b"].int64_list.value == [-3, 2**60]
    assert list(example["c"].bytes_list.value) == [b"x", b""]
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path, "GZIP") as writer:
        writer.write(tf.train.Example.FromString(encode(fields)).SerializeToString())
    ((_, data),) = read_records(path)
    assert decode(data).keys() == fields.keys() and decode(data)["b"].tolist() == [-3, 2**60]
    with RecordWriter(path) as writer:
        writer.write(data)
    (again,) = tf.data.TFRecordDataset(path, "GZIP")
    assert again.numpy() == data
