"""Data of other packages: pandas, Pillow, scikit-learn, PyTorch."""

import numpy as np
import pytest

import proa


def _frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.0, 2.0]}, index=["x", "y", "z"])


def test_frames_and_columns_of_pandas():
    frame = _frame()
    assert proa.to_tensor(frame).tolist() == [[1.0, 0.5], [2.0, 1.0], [3.0, 2.0]]
    assert proa.to_tensor(frame["a"]).dtype == proa.int64
    rows = proa.io.TensorDataset([frame, frame["a"]])  # by number, whatever the index says
    x, y = next(iter(proa.io.DataLoader(rows, batch_size=2)))
    assert x.tolist() == [[1.0, 0.5], [2.0, 1.0]] and y.tolist() == [1, 2]
    x, _ = next(iter(proa.io.DataLoader([(frame.iloc[i], i) for i in range(3)], batch_size=3)))
    assert x.shape == [3, 2]


class _Labelled:
    """What pandas has of a column: an array, rows by name and by number."""

    def __init__(self, array, labels):
        self._array, self._labels, self.shape, self.iloc = array, labels, array.shape, array

    def __array__(self, dtype=None, copy=None):
        return self._array.astype(dtype) if dtype else self._array

    def __getitem__(self, label):
        return self._array[self._labels.index(label)]


def test_columns_are_read_by_number():
    column = _Labelled(np.array([5.0, 6.0]), ["x", "y"])
    assert proa.io.TensorDataset([column, [0, 1]])[1][0].item() == 6.0
    assert next(iter(proa.io.DataLoader([column, column], batch_size=2))).shape == [2, 2]


def test_what_holds_no_numbers_says_so():
    column = _Labelled(np.array(["a"], dtype=object), ["x"])
    with pytest.raises(TypeError, match="elements of object, not numbers of one dtype; choose the columns"):
        next(iter(proa.io.DataLoader([column], batch_size=1)))


def test_images_of_pillow():
    image = pytest.importorskip("PIL.Image").new("RGB", (4, 3), (1, 2, 3))
    x, label = next(iter(proa.io.DataLoader([(image, 0), (image, 1)], batch_size=2)))
    assert x.shape == [2, 3, 4, 3] and x.dtype == proa.uint8 and x[0, 0, 0].tolist() == [1, 2, 3]
    assert proa.to_tensor(image).shape == [3, 4, 3] and label.tolist() == [0, 1]


def test_tensors_in_a_pipeline_of_scikit_learn():
    pipeline = pytest.importorskip("sklearn.pipeline")
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    proa.seed(0)
    x = proa.randn([60, 3])
    y = (x[:, 0] > 0).astype("int64")
    model = pipeline.make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    want = pipeline.make_pipeline(StandardScaler(), LogisticRegression()).fit(x.numpy(), y.numpy())
    assert np.array_equal(model.predict(x), want.predict(x.numpy())) and model.score(x, y) > 0.9


class _Foreign:
    """What of PyTorch `from_torch` uses."""

    def __init__(self, array):
        self._array = array

    def detach(self):
        return self._array

    def __dlpack__(self, **unused):
        raise BufferError("it requires a gradient")


def test_tensors_of_torch_share_memory():
    array = np.zeros(3, "float32")
    tensor = proa.utils.dlpack.from_torch(_Foreign(array))
    array[1] = 7.0
    assert tensor.tolist() == [0.0, 7.0, 0.0]
    for wrong in (array, [1.0], None, proa.ones([1])):
        with pytest.raises(TypeError, match="a torch.Tensor is needed, not"):
            proa.utils.dlpack.from_torch(wrong)


def test_torch_itself():
    torch = pytest.importorskip("torch")
    value = torch.ones(2, requires_grad=True)
    tensor = proa.utils.dlpack.from_torch(value)
    with torch.no_grad():
        value[0] = 3.0
    assert tensor.tolist() == [3.0, 1.0]
