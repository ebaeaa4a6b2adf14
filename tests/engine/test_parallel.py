"""A target whose weights are spread over two processes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import distributed
from transformers import LlamaConfig, LlamaForCausalLM

from engine.families import DECODER, noisy, tiny
from engine.two_processes import texts
from univer.runtime.checks import check_shared_seed

SCRIPT = Path(__file__).parent / "two_processes.py"


@pytest.mark.slow
@pytest.mark.skipif(
    not distributed.is_available() or not distributed.is_gloo_available(), reason="this torch has no gloo"
)
def test_two_processes_write_what_one_does(tmp_path):
    # Both ends of the supported range split vocabularies that the number of processes divides.
    with torch.random.fork_rng():
        torch.manual_seed(0)
        target = LlamaForCausalLM(LlamaConfig(**DECODER | {"vocab_size": 62})).eval()
    draft = noisy(target, 0.2)
    target.save_pretrained(tmp_path / "target")
    draft.save_pretrained(tmp_path / "draft")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    finished = subprocess.run(
        [*launch, str(SCRIPT), str(tmp_path)], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    ranks = [json.loads((tmp_path / f"rank-{rank}.json").read_text()) for rank in range(2)]
    assert ranks[0] == ranks[1]
    assert ranks[0]["shape"] == [8, 16], "each process holds half of the heads"
    assert ranks[0]["refused"].startswith("the target LlamaForCausalLM is spread over 2 processes")
    assert ranks[0]["texts"] == [texts(target, draft), texts(target, "first=2")]


def test_sampling_over_several_processes_needs_a_seed():
    spread = SimpleNamespace(tp_size=2)
    check_shared_seed(spread, seeded=True)
    check_shared_seed(tiny("llama"), seeded=False)
    with pytest.raises(ValueError, match="pass seed, the same in all of them"):
        check_shared_seed(spread, seeded=False)
