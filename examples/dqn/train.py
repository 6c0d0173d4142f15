"""Learns its way through a maze with a deep Q network: replay, a target network, steps at random that become fewer.

    python train.py [--quick] [--out FOLDER]

Writes dqn.png: the maze with what each place is worth and where the network would go, and how long the games were. Ends with
status 1 unless the learned way from the start is the shortest.
"""

import argparse
import collections
import os
import sys

import matplotlib
import numpy as np

import proa as paddle

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

MAZE = np.array(
    [[c == "#" for c in row] for row in ("......#", ".####.#", ".#....#", ".#.##..", "...#.#.", ".#...#.", "##.#...")]
)
SIDE = len(MAZE)
START, GOAL = (0, 0), (6, 6)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))


def step(place, move):
    """(next place, reward, whether the game is over); who walks into a wall stays."""
    i, j = place[0] + MOVES[move][0], place[1] + MOVES[move][1]
    if not (0 <= i < SIDE and 0 <= j < SIDE) or MAZE[i, j]:
        return place, -0.1, False
    return (i, j), (1.0 if (i, j) == GOAL else -0.02), (i, j) == GOAL


def shortest():
    """The number of moves from the start to the goal."""
    seen, edge, count = {START}, [START], 0
    while GOAL not in seen:
        edge = [n for place in edge for n in (step(place, m)[0] for m in range(4)) if n not in seen]
        seen.update(edge)
        count += 1
    return count


def seen_as(places):
    """Places as the network sees them: [N, SIDE * SIDE], a one where one stands."""
    x = np.zeros([len(places), SIDE * SIDE], "float32")
    x[range(len(places)), [i * SIDE + j for i, j in places]] = 1
    return paddle.to_tensor(x)


def learn(net, target, optimizer, batch, discount=0.95):
    """One step on moves that were made: Q(place, move) towards reward + discount * max Q'(next)."""
    places, moves, rewards, following, over = zip(*batch)
    with paddle.no_grad():
        best = target(seen_as(following)).max(-1)
        goal = paddle.to_tensor(rewards) + discount * best * paddle.to_tensor([0.0 if o else 1.0 for o in over])
    chosen = paddle.take_along_axis(net(seen_as(places)), paddle.to_tensor(moves).reshape([-1, 1]), 1).flatten()
    loss = paddle.nn.functional.smooth_l1_loss(chosen, goal)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer games, for tests")
    parser.add_argument("--out", default=".", help="where the picture goes")
    options = parser.parse_args(arguments)
    os.makedirs(options.out, exist_ok=True)
    paddle.seed(0)
    random = np.random.default_rng(0)
    nn = paddle.nn
    net, target = (nn.Sequential(nn.Linear(SIDE * SIDE, 64), nn.ReLU(), nn.Linear(64, 4)) for _ in range(2))
    target.set_state_dict(net.state_dict())
    optimizer = paddle.optimizer.Adam(3e-3, parameters=net.parameters())
    memory: collections.deque[tuple] = collections.deque(maxlen=3000)
    lengths, made = [], 0
    free = [(i, j) for i, j in np.ndindex(SIDE, SIDE) if not MAZE[i, j] and (i, j) != GOAL]
    games = 120 if options.quick else 300
    for game in range(games):
        place, moves = (START if game % 2 else free[random.integers(len(free))]), 0
        chance = max(0.1, 1 - game / (0.5 * games))
        while moves < 80:
            if random.random() < chance:
                move = int(random.integers(4))
            else:
                with paddle.no_grad():
                    move = int(net(seen_as([place])).argmax(-1))
            following, reward, over = step(place, move)
            memory.append((place, move, reward, following, over))
            place, moves, made = following, moves + 1, made + 1
            if len(memory) >= 64:
                learn(net, target, optimizer, [memory[i] for i in random.integers(0, len(memory), 64)])
            if made % 100 == 0:
                target.set_state_dict(net.state_dict())
            if over:
                break
        lengths.append(moves)
    with paddle.no_grad():
        values = net(seen_as(list(np.ndindex(SIDE, SIDE)))).numpy().reshape(SIDE, SIDE, 4)
    place, way = START, [START]
    while place != GOAL and len(way) < 100:
        place = step(place, int(values[place].argmax()))[0]
        way.append(place)
    print(f"the learned way has {len(way) - 1} moves, the shortest {shortest()}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
    left.imshow(np.where(MAZE, np.nan, values.max(-1)), cmap="viridis")
    for i, j in free:
        di, dj = MOVES[values[i, j].argmax()]
        left.arrow(j - 0.2 * dj, i - 0.2 * di, 0.3 * dj, 0.3 * di, head_width=0.18, color="white")
    left.plot(GOAL[1], GOAL[0], "*", color="gold", markersize=22)
    left.plot(*np.array(way).T[::-1], color="tomato", linewidth=3, alpha=0.6)
    left.set(xticks=[], yticks=[], title="worth of each place, and where to go", facecolor="black")
    right.plot(lengths, ".")
    right.set(title="moves of each game", xlabel="game")
    figure.tight_layout()
    figure.savefig(os.path.join(options.out, "dqn.png"), dpi=110)
    plt.close(figure)
    return 0 if len(way) - 1 == shortest() else 1


if __name__ == "__main__":
    sys.exit(main())
