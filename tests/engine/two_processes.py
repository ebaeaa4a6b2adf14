"""Run by torchrun: a target spread over the processes writes what it generates, one file for each of them."""

import json
import sys
from pathlib import Path

import torch
from torch import distributed
from transformers import AutoModelForCausalLM

from univer.engine import generate

PROMPTS = [[3, 14, 15, 9, 26, 5, 35, 8, 9], [7], [21, 22, 23]]
REQUESTS = [
    {"temperature": 0, "tree": "2x3"},
    {"temperature": 0, "tree": "grow:nodes=9,depth=3"},
    {"temperature": 1, "tree": "3x2", "seed": 5},
]


def texts(target, draft):
    """What the target makes of all requests."""
    return [
        generate(target, draft, PROMPTS, max_new_tokens=12, eos_token_id=None, **request).texts for request in REQUESTS
    ]


def refused(target):
    """What is said to a request without a seed."""
    try:
        generate(target, "lookup", PROMPTS[:1], max_new_tokens=2)
    except ValueError as error:
        return str(error)
    return ""


def main(directory):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    target = AutoModelForCausalLM.from_pretrained(directory / "target", tp_plan="auto").eval()
    draft = AutoModelForCausalLM.from_pretrained(directory / "draft").eval()
    weight = target.model.layers[0].self_attn.q_proj.weight
    own = weight.to_local() if hasattr(weight, "to_local") else weight
    found = {
        "texts": [texts(target, draft), texts(target, "first=2")],
        "shape": list(own.shape),
        "refused": refused(target),
    }
    (directory / f"rank-{distributed.get_rank()}.json").write_text(json.dumps(found))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
