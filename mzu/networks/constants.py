"""The numbers that the Keras networks and their compiled twin must share. Imports neither TensorFlow nor Numba."""

NORM_EPSILON = 1e-5  # added to the variance in Layer Normalisation; the smallest span when hidden states are scaled
HEAD_PLANES = 16  # our choice: planes of a picture that a head looks at; for the twin, one panel
SCALAR_EPSILON = 0.001  # the linear part of h(x) = sign(x) (sqrt(|x| + 1) - 1) + 0.001 x
MIN_POLICY_SCALE = 1e-3  # keeps the Gaussian a density
INITIAL_SCALE_LOGIT = 0.5413  # softplus of it is 1: an untrained policy covers [-1, 1]
