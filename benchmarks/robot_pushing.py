"""CPU time of an evaluation of the robot pushing task, and the rewards of uniform points.

The script prints the spread of the rewards beside that which is known of another sample of 600 uniform
points (mean -0.34, best 3.83, 36 % about 0), and what the noise of the velocities changes.

Measured, CPU ms an evaluation, one thread: 1.3 to 1.5; of 6,000 uniform points the
mean was -0.244 ± 0.018, 38.8 % exactly 0, and the best of 600 between 4.3 and 6.5.
"""

# ruff: noqa: E402  (the threads are set before the imports)
from __future__ import annotations

import os

# Before NumPy is loaded: runs take one thread.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time

import numpy as np

from replibo.problems.robot_pushing import RobotPushing, trajectory
from replibo.streams import RunStreams, generator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=600, help="uniform points (600)")
    points = parser.parse_args().points

    problem = RobotPushing()
    rng = generator("benchmark", "robot_pushing")
    X = problem.to_native(rng.uniform(size=(points, problem.dim)))
    problem.evaluate_true(X[:1])  # imports Box2D
    start = time.process_time()
    f = problem.evaluate_true(X)
    seconds = time.process_time() - start
    print(f"{points} uniform points, one thread")
    print(f"an evaluation  {1e3 * seconds / points:.2f} CPU ms")
    start = time.process_time()
    for x in X[:100]:
        trajectory(x)
    print(f"a trajectory   {1e3 * (time.process_time() - start) / len(X[:100]):.2f} CPU ms")
    print(
        f"rewards        mean {f.mean():.3f} ± {f.std(ddof=1) / np.sqrt(points):.3f} (standard error), "
        f"best {f.max():.2f}, {np.mean(f == 0):.1%} exactly 0, {np.mean(np.abs(f) < 0.01):.1%} below 0.01"
    )
    streams = RunStreams("benchmark", "robot_pushing", "none", 0)
    noisy = np.array([problem.observe(x, streams, query).f for query, x in enumerate(X)])
    change = np.abs(noisy - f)[f != 0]
    quantiles = np.quantile(change, [0.5, 0.9, 1.0])
    print("noise changes  {:.4f} (median), {:.3f} (90 %), {:.2f} (largest)".format(*quantiles))


if __name__ == "__main__":
    main()
