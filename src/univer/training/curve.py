"""A plot of a training run: loss, and acceptance of every drafting step."""

from __future__ import annotations

import json
from pathlib import Path


def draw_curve(metrics: Path, image: Path) -> bool:
    """Plot the figures of a run.

    Args:
        metrics: file with one JSON object a line: `step` with `loss`, or with the `acceptance` of a validation.
        image: the PNG file to write.

    Returns:
        Whether it was drawn; False if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    lines = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    steps = [line for line in lines if "loss" in line]
    checks = [line for line in lines if "acceptance" in line]
    # Without pyplot, so that no window opens and the caller's settings of it do not matter.
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([line["step"] for line in steps], [line["loss"] for line in steps], linewidth=0.8)
    left.set(xlabel="step", ylabel="loss (nats)", yscale="log")
    for place in range(len(checks[0]["acceptance"])):
        values = [line["acceptance"][place] for line in checks]
        right.plot([line["step"] for line in checks], values, marker=".", label=f"drafting step {place + 1}")
    right.set(xlabel="step", ylabel="acceptance on validation texts", ylim=(0, 1))
    right.legend(loc="lower right", fontsize="small")
    figure.savefig(image, dpi=120)
    return True
