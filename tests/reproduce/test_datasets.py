"""The paper's models: what is drawn, from which random numbers, and which arguments make no sense."""

import numpy as np
import pytest

from stbmta import datasets

MODELS = (datasets.unif, datasets.cluster, datasets.sphere, datasets.sparse)


def points(draw, rng):
    return draw(rng).bags.data


@pytest.mark.parametrize(
    "draw",
    [
        *(lambda rng, model=model: model(6, 60, rng=rng) for model in MODELS),
        lambda rng: datasets.rotated_gaussians(6, 4, rng=rng),
    ],
    ids=[*(model.__name__ for model in MODELS), "rotated_gaussians"],
)
def test_random_numbers_come_from_rng_alone(draw):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    once = points(draw, 3)
    np.testing.assert_array_equal(points(draw, np.random.default_rng(3)), once)
    generator = np.random.default_rng(3)
    points(draw, generator)
    assert not np.array_equal(points(draw, generator), once)  # it has moved on
    assert not np.array_equal(points(draw, None), points(draw, None))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_models_are_those_of_the_paper():
    """Sizes and means as the paper has them; points are means and standard normal noise."""
    unif = datasets.unif(2000, 60, rng=0).means
    assert (np.abs(unif[:, :10]) <= 20).all()
    assert (unif[:, 10:] == 0).all()
    np.testing.assert_allclose(unif[:, :10].var(axis=0), 400 / 3, rtol=0.1)
    cluster = datasets.cluster(2000, 200, rng=0).means
    nearest = np.sqrt(((cluster[:20, None] - cluster[None, 20:]) ** 2).mean(axis=2)).min(axis=1)
    np.testing.assert_allclose(nearest, 0.1 * np.sqrt(2), rtol=0.2)
    far = np.sqrt(((cluster[:20, None] - cluster[None, :20]) ** 2).mean(axis=2)).max()
    np.testing.assert_allclose(far, np.sqrt(2), rtol=0.2)
    sphere = datasets.sphere(2000, 60, rng=0).means
    np.testing.assert_allclose((sphere[:, :6] ** 2).sum(axis=1), 2500)
    np.testing.assert_allclose((sphere[:, :6] ** 2).mean(axis=0), 2500 / 6, rtol=0.1)
    assert (sphere[:, 6:] == 0).all()
    sparse = datasets.sparse(rng=0).means
    assert sparse.shape == (2000, 50)
    assert ((sparse != 0).sum(axis=1) == 2).all()
    assert 0 < sparse[sparse != 0].min() < sparse.max() < 20
    assert (sparse != 0).sum(axis=0).min() > 40
    assert [model(1).means.shape[1] for model in MODELS] == [1000, 1000, 1000, 50]
    for model in MODELS:
        sample = model(300, 60, bag_size=2, rng=1)
        noise = sample.bags.data - np.repeat(sample.means, 2, axis=0)
        np.testing.assert_allclose([noise.mean(), noise.std()], [0, 1], atol=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.unif(5, 5), "active=10 must lie between 1 and dim=5"),
        (lambda: datasets.sphere(5, 20, active=0), "active=0 must lie between 1 and dim=20"),
        (lambda: datasets.sparse(5, 3, n_nonzero=4), "n_nonzero=4 must lie between 1 and dim=3"),
        (lambda: datasets.cluster(5, 3, n_clusters=0), "there must be a cluster"),
        (lambda: datasets.rotated_gaussians(5, n_clusters=0), "there must be a cluster"),
        (
            lambda: datasets.rotated_gaussians(3, [1, 2]),
            r"bag_size=\[1, 2\] must be an integer, or 3 of them",
        ),
        (lambda: datasets.rotated_gaussians(3, 2.5), "bag_size=2.5 must be an integer"),
        (lambda: datasets.load_digits_blocks(0), "there are no 0 blocks of 20 images"),
        (lambda: datasets.load_digits_blocks(8, -1), "there are no 8 blocks of -1 images"),
        (lambda: datasets.load_digits_blocks(9, 20), "digit 0 has 178 images; 9 blocks of 20 are too many"),
        (lambda: datasets.load_flights([]), "nothing to group flights by; choose from dest"),
    ],
)
def test_arguments_that_make_no_sense_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
