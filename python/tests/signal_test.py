"""stft and istft against SciPy, and against sums by their definition where SciPy has no such form."""

import numpy as np
import pytest
import scipy.signal

import proa

RNG = np.random.default_rng(8)


def _by_definition(x, n_fft, hop, window, center, mode, onesided):
    if center:
        x = np.pad(x, n_fft // 2, mode=mode)
    frames = [x[t : t + n_fft] * window for t in range(0, len(x) - n_fft + 1, hop)]
    out = np.fft.fft(np.array(frames), axis=1).T
    return out[: n_fft // 2 + 1] if onesided else out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("mode", ["reflect", "constant"])
@pytest.mark.parametrize("lengths", [(16, 4, 16), (15, 5, 11), (8, 8, 8), (9, None, None)])
def test_stft(dtype, center, onesided, mode, lengths):
    n_fft, hop, win = lengths
    x = RNG.normal(size=(2, 50)).astype(dtype)
    window = np.hanning((win or n_fft) + 2)[1:-1].astype(dtype)
    got = proa.signal.stft(
        proa.to_tensor(x), n_fft, hop, win, proa.to_tensor(window), center, mode, onesided=onesided
    ).numpy()
    before = (n_fft - len(window)) // 2
    full = np.pad(window, (before, n_fft - len(window) - before))
    want = [_by_definition(row, n_fft, hop or n_fft // 4, full, center, mode, onesided) for row in x.astype("float64")]
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(got, np.array(want), rtol=tolerance, atol=tolerance)
    assert got.dtype == ("complex64" if dtype == "float32" else "complex128")


def test_stft_is_scipys():
    x, window = RNG.normal(size=64), scipy.signal.get_window("hann", 16)
    _, _, want = scipy.signal.stft(x, window=window, nperseg=16, noverlap=12, padded=False, boundary="even")
    got = proa.signal.stft(proa.to_tensor(x), 16, 4, window=proa.to_tensor(window)).numpy() / window.sum()
    np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("lengths", [(16, 4, 16), (15, 5, 15), (16, 3, 10), (16, None, None)])
def test_istft_gives_the_signal_back(normalized, center, lengths):
    n_fft, hop, win = lengths
    x = RNG.normal(size=(2, 60))
    # A window without zeros at its ends: without center the first samples are in one frame only.
    window = None if win is None else proa.to_tensor(np.hanning(win + 2)[1:-1] + 0.1)
    if not center and win == 10:
        pytest.skip("the ends are in no frame")
    s = proa.signal.stft(proa.to_tensor(x), n_fft, hop, win, window, center, normalized=normalized)
    back = proa.signal.istft(s, n_fft, hop, win, window, center, normalized).numpy()
    n = min(back.shape[1], 60)
    np.testing.assert_allclose(back[:, :n], x[:, :n], atol=1e-12)
    if center:
        # Behind the signal a short window, which n_fft surrounds with zeros, leaves samples that no frame tells of.
        beyond = lambda: proa.signal.istft(s, n_fft, hop, win, window, center, normalized, length=80)  # noqa: E731
        if win == 10:
            with pytest.raises(ValueError, match="the window adds up to 0 at sample 65"):
                beyond()
        for length in (40, 60) if win == 10 else (40, 60, 80):
            cut = proa.signal.istft(s, n_fft, hop, win, window, center, normalized, length=length).numpy()
            assert cut.shape == (2, length)
            m = min(length, n)
            np.testing.assert_allclose(cut[:, :m], x[:, :m], atol=1e-12)


def test_complex_signals():
    x = RNG.normal(size=40) + 1j * RNG.normal(size=40)
    s = proa.signal.stft(proa.to_tensor(x), 8, 2, onesided=False)
    assert s.shape == [8, 21]
    back = proa.signal.istft(s, 8, 2, onesided=False, return_complex=True)
    np.testing.assert_allclose(back.numpy(), x, atol=1e-12)


def test_gradients():
    x = proa.to_tensor(RNG.normal(size=24), stop_gradient=False)
    window = proa.to_tensor(np.hanning(10)[1:-1] + 0.1, stop_gradient=False)

    def f(x, window):
        s = proa.signal.stft(x, 8, 2, window=window)
        y = proa.signal.istft(s * s, 8, 2, window=window)
        return (y * y).sum()

    gx, gw = proa.grad(f(x, window), [x, window])
    for t, g in ((x, gx), (window, gw)):
        for i in (0, 3, 7):
            step = np.zeros(t.shape)
            step[i] = 1e-5
            args = lambda d: [(v + proa.to_tensor(d)).detach() if v is t else v.detach() for v in (x, window)]  # noqa: E731
            slope = (f(*args(step)).item() - f(*args(-step)).item()) / 2e-5
            np.testing.assert_allclose(g.numpy()[i], slope, rtol=1e-5, atol=1e-6)


def test_errors():
    x = proa.zeros([20])
    stft, istft = proa.signal.stft, proa.signal.istft
    for call, says in (
        (lambda: stft(x, 0), "n_fft must be a positive int"),
        (lambda: stft(x, 8, -1), "hop_length must be a positive int"),
        (lambda: stft(x, 8, win_length=9), "win_length 9 is larger than n_fft 8"),
        (lambda: stft(x, 8, window=proa.ones([7])), r"window must be \[8\]"),
        (lambda: stft(x, 8, pad_mode="same"), "pad_mode must be"),
        (lambda: stft(x.astype("complex64"), 8), "onesided must be False"),
        (lambda: stft(proa.zeros([2, 2, 20]), 8), "x must have 1 or 2 dims"),
        (lambda: stft(x, 30, center=False), "frame_length 30 is longer than the signal"),
        (lambda: stft(x.astype("int32"), 8), "float32, float64 or complex"),
        (lambda: istft(x.reshape([5, 4]), 8), "x must be complex"),
        (lambda: istft(proa.zeros([4, 4], "complex64"), 8), "x must have 5 frequencies"),
        (lambda: istft(proa.zeros([5, 4], "complex64"), 8, window=proa.zeros([8])), "the window adds up to 0"),
        (lambda: istft(proa.zeros([5, 4], "complex64"), 8, 9), "hop_length 9 is larger than win_length 8"),
        (lambda: istft(proa.zeros([5, 4], "complex64"), 8, length=0), "length must be a positive int"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            call()
