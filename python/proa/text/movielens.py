"""Movielens: what people thought of films (Harper and Konstan, 2015)."""

import re

import numpy as np

from proa import _C
from proa.dataset.packed import contents, open_zip
from proa.framework.attributes import known_int, known_real
from proa.io import Dataset
from proa.text.datasets import _checked, _file

__all__ = ["MovieInfo", "Movielens", "UserInfo"]

_AGES = [1, 18, 25, 35, 45, 50, 56]


class MovieInfo:
    """A film: its number, kinds and title."""

    def __init__(self, index, categories, title):
        self.index, self.categories, self.title = int(index), categories, title

    def value(self, categories_dict, movie_title_dict):
        """[[number], numbers of its kinds, numbers of its title's words]."""
        return [
            [self.index],
            [categories_dict[kind] for kind in self.categories],
            [movie_title_dict[word.lower()] for word in self.title.split()],
        ]

    def __repr__(self):
        return f"<MovieInfo id({self.index}), title({self.title}), categories({self.categories})>"


class UserInfo:
    """Somebody who rates films: number, sex, age (a number of seven classes) and occupation."""

    def __init__(self, index, gender, age, job_id):
        self.index, self.is_male, self.age, self.job_id = int(index), gender == "M", _AGES.index(int(age)), int(job_id)

    def value(self):
        """[[number], [0 male, 1 female], [class of age], [occupation]]."""
        return [[self.index], [0 if self.is_male else 1], [self.age], [self.job_id]]

    def __repr__(self):
        sex = "M" if self.is_male else "F"
        return f"<UserInfo id({self.index}), gender({sex}), age({_AGES[self.age]}), job({self.job_id})>"


class Movielens(Dataset):
    r"""Ratings of films.

    Args:
        data_file (str, optional): the archive ml-1m.zip; fetched if not given and `download`.
        mode (str): "train" or "test".
        test_ratio (float): the part of all ratings that is for tests.
        rand_seed (int): decides which.
        download (bool): fetch the archive if it is not there.

    A sample is the four numbers of UserInfo, the three lists of MovieInfo, and [rating] from -3 to 5.

    Raises:
        ValueError: for another mode, or another archive.
        RuntimeError: the archive could not be fetched.

    Examples:
        >>> import os, tempfile, zipfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "ml-1m.zip")
        >>> with zipfile.ZipFile(path, "w") as archive:
        ...     archive.writestr("ml-1m/movies.dat", "7::Toy Story (1995)::Animation|Comedy\n")
        ...     archive.writestr("ml-1m/users.dat", "1::F::25::10::48067\n")
        ...     archive.writestr("ml-1m/ratings.dat", "1::7::5::978300760\n")
        >>> data = proa.text.Movielens(path, test_ratio=0.0)
        >>> [part.tolist() for part in data[0]]  # user, sex, age, job; film, kinds, title; rating
        [[1], [1], [2], [10], [7], [0, 1], [1, 0], [5.0]]
        >>> folder.cleanup()
    """

    _URL = "https://dataset.bj.bcebos.com/movielens%2Fml-1m.zip"
    _MD5 = "c4d9eecfca2ab87c1945afe126590906"

    def __init__(self, data_file=None, mode="train", test_ratio=0.1, rand_seed=0, download=True):
        self.mode = _checked("Movielens", mode, ("train", "test"))
        self.test_ratio = known_real("Movielens", "test_ratio", test_ratio)
        self.rand_seed = known_int("Movielens", "rand_seed", rand_seed)
        self.data_file = _file("Movielens", data_file, download, self._URL, self._MD5, "sentiment")
        with open_zip("Movielens", self.data_file) as archive:
            self._read_films(self._rows(archive, "movies", 3))
            users = self._rows(archive, "users", 5)
            self.user_info = {int(row[0]): UserInfo(*row[:4]) for row in users}
            self._read_ratings(self._rows(archive, "ratings", 4))

    def _rows(self, archive, name, columns):
        try:
            lines = contents(archive, f"ml-1m/{name}.dat", self.data_file).read().decode("latin1").splitlines()
        except KeyError:
            raise _C.located(ValueError(f"Movielens: {self.data_file} has no ml-1m/{name}.dat")) from None
        rows = [line.strip().split("::") for line in lines if line.strip()]
        for row in rows:
            if len(row) != columns:
                raise _C.located(
                    ValueError(f"Movielens: a row of {name}.dat has {len(row)} columns: {'::'.join(row)!r}")
                )
        return rows

    def _read_films(self, rows):
        self.movie_info = {}
        for index, title, kinds in rows:
            found = re.match(r"^(.*)\((\d+)\)$", title)
            self.movie_info[int(index)] = MovieInfo(index, kinds.split("|"), found[1] if found else title)
        films = self.movie_info.values()
        words = sorted({word.lower() for film in films for word in film.title.split()})
        kinds = sorted({kind for film in films for kind in film.categories})
        self.movie_title_dict = {word: number for number, word in enumerate(words)}
        self.categories_dict = {kind: number for number, kind in enumerate(kinds)}

    def _read_ratings(self, rows):
        drawn = np.random.RandomState(self.rand_seed).random_sample(len(rows))
        self.data = []
        for (user, film, rating, _), number in zip(rows, drawn):
            if (number < self.test_ratio) == (self.mode == "test"):
                film = self.movie_info[int(film)].value(self.categories_dict, self.movie_title_dict)
                self.data.append(self.user_info[int(user)].value() + film + [[float(rating) * 2 - 5.0]])

    def __getitem__(self, idx):
        return tuple(np.array(part) for part in self.data[idx])

    def __len__(self):
        return len(self.data)
