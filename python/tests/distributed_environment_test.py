"""What launchers write into the environment, read by one place; contradictions are errors."""

import os

import pytest

import proa.distributed as dist
from proa.distributed.environment import first_host, job

_BEGINNINGS = ("PADDLE_", "SLURM_", "OMPI_", "PMI", "MPI_", "MASTER_", "JOB_COMPLETION", "GROUP_", "LOCAL_")


@pytest.fixture
def environment(monkeypatch):
    """Sets the job's variables; what the test was started with is out of the way."""
    for name in list(os.environ):
        if name.startswith(_BEGINNINGS) or name in ("RANK", "WORLD_SIZE"):
            monkeypatch.delenv(name)
    return lambda **values: [monkeypatch.setenv(name, str(value)) for name, value in values.items()]


ONE_ADDRESS = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": 29500}


@pytest.mark.parametrize(
    "values, want",
    [
        ({}, (0, 1, 0, 1, 0, 1, None, "nobody")),
        ({"PADDLE_TRAINERS_NUM": 1}, (0, 1, 0, 1, 0, 1, None, "paddle.distributed.launch")),
        (
            {"PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ID": 1, "PADDLE_TRAINER_ENDPOINTS": "a:6170,b:6170"},
            (1, 2, 0, 1, 1, 2, ("a", 6170), "paddle.distributed.launch"),
        ),
        (
            {"PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ID": 1, "PADDLE_MASTER": "[::1]:77", "PADDLE_RANK_IN_NODE": 1},
            (1, 2, 1, 2, 0, 1, ("::1", 77), "paddle.distributed.launch"),
        ),
        (
            {"WORLD_SIZE": 4, "RANK": 3, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 1, **ONE_ADDRESS},
            (3, 4, 1, 2, 1, 2, ("10.0.0.1", 29500), "torchrun"),
        ),
        (
            {"SLURM_STEP_NUM_TASKS": 5, "SLURM_PROCID": 4, "SLURM_LOCALID": 0, "SLURM_NODEID": 2,
             "SLURM_STEP_NUM_NODES": 3, "SLURM_STEP_TASKS_PER_NODE": "2(x2),1", "SLURM_STEP_NODELIST": "n[07-09]",
             "MASTER_PORT": 5},
            (4, 5, 0, 1, 2, 3, ("n07", 5), "Slurm"),
        ),
        ({"SLURM_NTASKS": 5, "SLURM_PROCID": 0}, (0, 1, 0, 1, 0, 1, None, "nobody")),  # a batch script
        (
            {"OMPI_COMM_WORLD_SIZE": 4, "OMPI_COMM_WORLD_RANK": 2, "OMPI_COMM_WORLD_LOCAL_RANK": 0,
             "OMPI_COMM_WORLD_LOCAL_SIZE": 2, **ONE_ADDRESS},
            (2, 4, 0, 2, 1, 2, ("10.0.0.1", 29500), "Open MPI"),
        ),
        ({"PMI_SIZE": 2, "PMI_RANK": 1, **ONE_ADDRESS}, (1, 2, 1, 2, 0, 1, ("10.0.0.1", 29500), "MPI (PMI)")),
        (
            {"JOB_COMPLETIONS": 3, "JOB_COMPLETION_INDEX": 2, **ONE_ADDRESS},
            (2, 3, 0, 1, 2, 3, ("10.0.0.1", 29500), "Kubernetes"),
        ),
        ({"JOB_COMPLETION_INDEX": 2}, (0, 1, 0, 1, 0, 1, None, "nobody")),  # work that is divided otherwise
        # Started by the launcher inside of a Slurm job: the launcher's words count.
        (
            {"SLURM_STEP_NUM_TASKS": 8, "SLURM_PROCID": 7, "PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ID": 0,
             "PADDLE_MASTER": "a:1"},
            (0, 2, 0, 2, 0, 1, ("a", 1), "paddle.distributed.launch"),
        ),
    ],
)  # fmt: skip
def test_launchers(environment, values, want):
    environment(**values)
    found = job()
    assert (*found[:7], found.source) == want
    assert (dist.get_rank(), dist.get_world_size()) == want[:2]


def test_port_without_one(environment):
    """All processes of a Slurm step or an MPI job find the same port from the job's name."""
    environment(SLURM_STEP_NUM_TASKS=2, SLURM_PROCID=0, SLURM_JOB_ID=77, SLURM_STEP_NODELIST="a,b", SLURM_STEP_ID=0)
    first = job().master
    environment(SLURM_PROCID=1)
    assert job().master == first and first[0] == "a" and 15000 <= first[1] < 25000
    environment(SLURM_JOB_ID=78)
    assert job().master != first


@pytest.mark.parametrize(
    "hosts, want",
    [("n1", "n1"), ("n1,n2", "n1"), ("n[03-07,9],x", "n03"), ("r2n[1,5]", "r2n1"), ("a[1-2]-ib,b", "a1-ib")],
)
def test_first_host(hosts, want):
    assert first_host(hosts) == want


@pytest.mark.parametrize(
    "values, says",
    [
        ({"PADDLE_TRAINERS_NUM": "two"}, "PADDLE_TRAINERS_NUM='two'; it must be an integer"),
        ({"PADDLE_TRAINERS_NUM": 0}, "must be at least 1"),
        ({"PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ID": -1}, "must be at least 0"),
        ({"PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ID": 2}, "numbers go from 0 to 1"),
        ({"PADDLE_TRAINER_ID": 2}, "not how many processes there are"),
        ({"PADDLE_TRAINERS_NUM": 2, "WORLD_SIZE": 3}, "contradict each other"),
        ({"PADDLE_TRAINERS_NUM": 2, "WORLD_SIZE": 2, "PADDLE_TRAINER_ID": 1, "RANK": 0}, "PADDLE_TRAINER_ID=1 and RANK=0"),
        ({"PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ENDPOINTS": "a:1"}, "with 1 addresses"),
        ({"PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ENDPOINTS": "a:1,a:1"}, "twice"),
        ({"PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ENDPOINTS": "a:1,b"}, "must be address:port"),
        (
            {"PADDLE_TRAINERS_NUM": 2, "PADDLE_TRAINER_ENDPOINTS": "a:1,b:2", "PADDLE_CURRENT_ENDPOINT": "b:2"},
            "PADDLE_CURRENT_ENDPOINT=b:2",
        ),
        ({"PADDLE_TRAINERS_NUM": 2}, "not where they meet: set MASTER_ADDR and MASTER_PORT"),
        ({"WORLD_SIZE": 2, "RANK": 0, "MASTER_ADDR": "a"}, "set MASTER_PORT"),
        ({"WORLD_SIZE": 2, "RANK": 0, "MASTER_ADDR": "a", "MASTER_PORT": 70000}, "1 to 65535"),
        ({"WORLD_SIZE": 2, "LOCAL_RANK": 2, "LOCAL_WORLD_SIZE": 2, **ONE_ADDRESS}, "LOCAL_RANK=2 and LOCAL_WORLD_SIZE=2"),
        ({"WORLD_SIZE": 2, "GROUP_RANK": 1, "GROUP_WORLD_SIZE": 1, **ONE_ADDRESS}, "GROUP_RANK=1"),
        ({"JOB_COMPLETIONS": 2, "JOB_COMPLETION_INDEX": 2}, "JOB_COMPLETION_INDEX=2"),
    ],
)  # fmt: skip
def test_nonsense_is_an_error(environment, values, says):
    environment(**values)
    with pytest.raises(ValueError, match=says):
        job()
