"""Transforms of samples: what they are called with, and one after another."""

import traceback
from collections.abc import Iterator

from proa import _C
from proa.framework.attributes import a_list, wrong

__all__ = ["BaseTransform", "Compose"]


class Compose:
    """Transforms, one after another.

    Args:
        transforms (list): functions of a sample.

    Examples:
        >>> import numpy
        >>> T = proa.vision.transforms
        >>> T.Compose([T.Resize(4), T.ToTensor()])(numpy.zeros([8, 8, 3], "uint8")).shape
        [3, 4, 4]
    """

    def __init__(self, transforms):
        if not isinstance(transforms, Iterator):
            for i, transform in enumerate(a_list("Compose", "transforms", transforms, "a list of transforms")):
                if not callable(transform):
                    raise wrong("Compose", f"element {i} of transforms", "callable", transform)
        self.transforms = transforms

    def __call__(self, data):
        for transform in _joined(self.transforms):
            try:
                data = transform(data)
            except Exception as error:
                print(
                    f"fail to perform transform [{transform}] with error: {error} and stack:\n{traceback.format_exc()}"
                )
                raise
        return data

    def __repr__(self):
        return f"{type(self).__name__}(\n    " + "\n    ".join(map(str, self.transforms)) + "\n)"


def _joined(transforms):
    """The same transforms, but those that together take one pass in place of two as one."""
    if not isinstance(transforms, (list, tuple)):
        return transforms
    steps = []
    for transform in transforms:
        last = steps[-1] if steps else None
        together = last._joined(transform) if isinstance(last, BaseTransform) else None
        if together is None:
            steps.append(transform)
        else:
            steps[-1] = together
    return steps


class BaseTransform:
    """Base of transforms: `keys` says what the parts of a sample are, and `_apply_image` and so on what happens to them.

    Args:
        keys (list[str]|tuple[str], optional): "image", "coords", "boxes", "mask" or another name for each part of a
            sample; parts beyond them stay as they are. A sample that is not a tuple is an image.

    Subclasses may define `_get_params(inputs)`, called once a sample; its result is `self.params`.

    Examples:
        >>> class Negative(proa.vision.transforms.BaseTransform):
        ...     def _apply_image(self, image):
        ...         return 255 - image
        >>> import numpy
        >>> Negative(keys=("image", None))((numpy.zeros([1, 1], "uint8"), "a label"))
        (array([[255]], dtype=uint8), 'a label')
    """

    def __init__(self, keys=None):
        if keys is None:
            keys = ("image",)
        elif isinstance(keys, (list, tuple)):
            wrong = [key for key in keys if key is not None and not hasattr(self, f"_apply_{key}")]
            if wrong:
                raise _C.located(
                    NotImplementedError(
                        f"{type(self).__name__}: there is no _apply_{wrong[0]} for the key {wrong[0]!r}"
                    )
                )
        else:
            raise _C.located(
                ValueError(f"{type(self).__name__}: keys must be a list or tuple, not {type(keys).__name__}")
            )
        self.keys = keys
        self.params = None

    def _get_params(self, inputs):
        """What the parts of one sample share; called before them."""

    def _joined(self, following):
        """What does this and then the transform that follows, to the bit, for less; None unless there is such."""

    def __call__(self, inputs):
        single = not isinstance(inputs, tuple)
        inputs = (inputs,) if single else inputs
        self.params = self._get_params(inputs)
        outputs = []
        for i, value in enumerate(inputs):
            key = self.keys[i] if i < len(self.keys) else None
            apply = getattr(self, f"_apply_{key}", None) if key is not None else None
            outputs.append(value if apply is None else apply(value))
        return outputs[0] if single else tuple(outputs)

    def _apply_image(self, image):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define _apply_image"))

    def _apply_boxes(self, boxes):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define _apply_boxes"))

    def _apply_mask(self, mask):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define _apply_mask"))

    def _apply_coords(self, coords):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define _apply_coords"))
