"""Images in folders."""

import os

from proa import _C
from proa.io import Dataset
from proa.vision.image import converted, get_image_backend, image_load

__all__ = ["DatasetFolder", "ImageFolder", "default_loader", "has_valid_extension", "make_dataset"]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_valid_extension(filename, extensions):
    """Whether a name ends in one of these, in upper or lower case."""
    return filename.lower().endswith(tuple(extensions))


def default_loader(path):
    """`vision.image_load`; of Pillow's images, as RGB."""
    return converted(path, "RGB") if get_image_backend() == "pil" else image_load(path)


def _chosen(what, extensions, is_valid_file):
    if (extensions is None) == (is_valid_file is None):
        raise _C.located(ValueError(f"{what}: give either extensions or is_valid_file"))
    return is_valid_file or (lambda path: has_valid_extension(path, extensions))


def make_dataset(directory, class_to_idx, extensions, is_valid_file=None):
    """A list of (path, number of the class), of the files under a folder for each class, by name."""
    valid = _chosen("make_dataset", extensions, is_valid_file)
    found = []
    for name in sorted(class_to_idx):
        folder = os.path.join(os.path.expanduser(directory), name)
        for root, _, files in sorted(os.walk(folder, followlinks=True)):
            paths = [os.path.join(root, file) for file in sorted(files)]
            found += [(path, class_to_idx[name]) for path in paths if valid(path)]
    return found


class DatasetFolder(Dataset):
    """Files in a folder for each class.

    Args:
        root (str): the folder of folders; their names, sorted, are the classes.
        loader (Callable, optional): from a path to a sample; images unless given.
        extensions (list[str], optional): endings of the files that count; those of images unless given.
        transform (Callable, optional): of the sample.
        is_valid_file (Callable, optional): says which paths count, instead of extensions.

    A sample is (sample, number of the class). `classes`, `class_to_idx`, `samples` and `targets` say what was found.

    Raises:
        RuntimeError: no file counts.

    Examples:
        >>> import os, tempfile
        >>> root = tempfile.mkdtemp()
        >>> for name in ("cat", "dog"):
        ...     os.mkdir(os.path.join(root, name))
        ...     open(os.path.join(root, name, "a.txt"), "w").close()
        >>> found = proa.vision.datasets.DatasetFolder(root, loader=os.path.basename, extensions=[".txt"])
        >>> found.classes, found[1]
        (['cat', 'dog'], ('a.txt', 1))
    """

    def __init__(self, root, loader=None, extensions=None, transform=None, is_valid_file=None):
        self.root = root
        self.transform = transform
        if extensions is None and is_valid_file is None:
            extensions = IMG_EXTENSIONS
        self.extensions = extensions
        self.classes, self.class_to_idx = self._find_classes(root)
        self.samples = make_dataset(root, self.class_to_idx, extensions, is_valid_file)
        if not self.samples:
            wanted = ", ".join(extensions) if extensions else "what is_valid_file accepts"
            raise _C.located(RuntimeError(f"DatasetFolder: no files in the folders of {root}; wanted are {wanted}"))
        self.loader = loader or default_loader
        self.targets = [target for _, target in self.samples]
        self.dtype = _C.get_default_dtype()

    def _find_classes(self, dir):
        classes = sorted(entry.name for entry in os.scandir(dir) if entry.is_dir())
        return classes, {name: i for i, name in enumerate(classes)}

    def __getitem__(self, index):
        path, target = self.samples[index]
        sample = self.loader(path)
        return (sample if self.transform is None else self.transform(sample)), target

    def __len__(self):
        return len(self.samples)


class ImageFolder(Dataset):
    """All images under a folder, without classes; see DatasetFolder. A sample is [image].

    Examples:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> folder = tempfile.TemporaryDirectory()
        >>> Image.new("RGB", (4, 6), (255, 0, 0)).save(os.path.join(folder.name, "red.png"))
        >>> data = proa.vision.datasets.ImageFolder(folder.name, transform=proa.vision.transforms.ToTensor())
        >>> (image,) = data[0]
        >>> len(data), image.shape, image[:, 0, 0].tolist()
        (1, [3, 6, 4], [1.0, 0.0, 0.0])
        >>> folder.cleanup()
    """

    def __init__(self, root, loader=None, extensions=None, transform=None, is_valid_file=None):
        self.root = root
        self.transform = transform
        if extensions is None and is_valid_file is None:
            extensions = IMG_EXTENSIONS
        valid = _chosen("ImageFolder", extensions, is_valid_file)
        self.samples = []
        for folder, _, files in sorted(os.walk(os.path.expanduser(root), followlinks=True)):
            paths = [os.path.join(folder, file) for file in sorted(files)]
            self.samples += [path for path in paths if valid(path)]
        if not self.samples:
            raise _C.located(RuntimeError(f"ImageFolder: no files that count under {root}"))
        self.loader = loader or default_loader
        self.extensions = extensions

    def __getitem__(self, index):
        sample = self.loader(self.samples[index])
        return [sample if self.transform is None else self.transform(sample)]

    def __len__(self):
        return len(self.samples)
