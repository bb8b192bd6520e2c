# SPDX-License-Identifier: MIT
"""What pytorch.py measures, in an environment with torch 2.15, for traces with torch_xla's: prints lines "NAME SECONDS".

usage: torch_measures.py add | step neuron|inductor | generate | trace
"""

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

warnings.simplefilter("ignore")
torch.set_num_threads(1)
SECONDS = 4


def least(call: Callable[[], object], seconds: float = SECONDS, clock: Callable[[], float] = time.perf_counter) -> float:
    call()
    found, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = clock()
        call()
        found = min(found, clock() - start)
    return found


def add() -> None:
    for place in ("neuron", "cpu"):
        a, b = (torch.ones(1024, device=place) for _ in range(2))

        def many(a: Tensor = a, b: Tensor = b) -> None:
            for _ in range(100):
                a + b

        print(place, least(many) / 100)


class Transformer(nn.Module):
    """Four layers of 128, as the group frameworks has"""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(1000, 128), nn.Linear(128, 1000)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True) for _ in range(4))

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words)
        for layer in self.layers:
            x = layer(x)
        return nn.functional.cross_entropy(self.out(x).flatten(0, 1), words.flatten())


def step(backend: str) -> None:
    place = "neuron" if backend == "neuron" else "cpu"
    torch.manual_seed(0)
    model = Transformer().to(place)
    words = torch.randint(0, 1000, (8, 64)).to(place)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    warm = torch.compile(lambda x: x + 1, backend=backend)  # what is begun once a process
    warm(torch.ones(3, device=place))
    call = torch.compile(model, backend=backend)
    start = time.perf_counter()
    call(words).backward()
    print("compile", time.perf_counter() - start)

    def once() -> float:
        optimizer.zero_grad()
        loss = call(words)
        loss.backward()
        optimizer.step()
        return loss.item()

    print("step", least(once))
    if backend == "neuron":
        executed(once)


def executed(once: Callable) -> None:
    """The same programs on the same tensors by the runtime alone, one after the other"""
    from torch_neuronx import memory

    run, seen = memory.Program.run, []
    memory.Program.run = lambda self, tensors, sizes: seen.append((self, list(tensors), sizes)) or run(self, tensors, sizes)
    once()
    memory.Program.run = run
    calls = [(program.program, program.where(tensors, sizes)) for program, tensors, sizes in seen]
    execute = memory.library().nt_program_run
    print("executions", least(lambda: [execute(*call) for call in calls]))


def generate() -> None:
    """Words by transformers' Llama of that size, greedily. On the device with the static cache, whose step transformers compiles there, and by operators"""
    import transformers

    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=1000, hidden_size=128, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=256,
        bos_token_id=None, eos_token_id=None, pad_token_id=0)).eval()
    prompt, drawn = torch.randint(1000, (1, 16)), []

    def token(place: str, **how: str) -> float:
        def words(count: int) -> Tensor:
            return on.generate(given, attention_mask=torch.ones_like(given), max_new_tokens=count, min_new_tokens=count, do_sample=False, **how)

        on, given = model.to(place), prompt.to(place)
        drawn.append(words(65).cpu())
        return (least(lambda: words(65), clock=time.process_time) - least(lambda: words(1), clock=time.process_time)) / 64

    print("cpu", token("cpu"))
    print("static", token("neuron", cache_implementation="static"))
    print("operators", token("neuron"))
    if not all(words.equal(drawn[0]) for words in drawn):
        sys.exit("generate: the words differ")


def trace() -> None:
    """BERT-base of one sequence of 128, traced, and as PyTorch exports it by onnxruntime"""
    import onnxruntime
    import torch_neuronx
    import transformers

    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig(attn_implementation="eager")).eval()
    words = torch.randint(30000, (1, 128))
    given = (words, torch.ones_like(words))
    with tempfile.TemporaryDirectory() as work, torch.no_grad():
        torch.onnx.export(model, given, f"{work}/bert.onnx", input_names=["words", "mask"], output_names=["hidden", "pooled"], dynamo=False, opset_version=17)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(f"{work}/bert.onnx", options, providers=["CPUExecutionProvider"])
    feed = {value.name: array.numpy() for value, array in zip(session.get_inputs(), given, strict=True)}
    traced = torch_neuronx.trace(model, given)
    difference = abs(traced(*given)["last_hidden_state"].numpy() - session.run(None, feed)[0]).max()
    if difference > 1e-4:
        sys.exit(f"trace: {difference} from onnxruntime")
    print("onnxruntime", least(lambda: session.run(None, feed), clock=time.process_time))
    print("neuron", least(lambda: traced(*given), clock=time.process_time))


if __name__ == "__main__":
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    {"add": add, "step": step, "generate": generate, "trace": trace}[sys.argv[1]](*sys.argv[2:])
