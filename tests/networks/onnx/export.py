#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Export a network of torch, torchvision or transformers with PyTorch's exporter, and inputs for it.

usage: export.py OUT_DIR NETWORK     (without arguments: list them)

OUT_DIR/NETWORK/model.onnx    fp32, weights inside, inputs input0, ... and outputs output0, ...
                in<i>.npy     the inputs

The weights are those that the library starts from, with noise on what starts as one number (biases, scales),
and the statistics of batch normalizations are those of one random batch: values stay near 1 as in a trained network.
Needs torch 1.13, torchvision and transformers. Everything is seeded.
"""

import sys
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np
import torch
import torchvision
import transformers

OPSET = 17


class Network(NamedTuple):
    model: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    outputs: int
    open: dict[int, str]  # dimensions of the inputs and outputs that the model leaves open


def roughen(model: torch.nn.Module) -> None:
    for p in model.parameters():
        if p.numel() > 1 and p.min() == p.max():
            p.data += 0.1 * torch.randn_like(p)


def settle(model: torch.nn.Module, batch: torch.Tensor) -> None:
    """Running statistics of a batch"""
    for part in model.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = 1.0
    model.train()
    with torch.no_grad():
        model(batch)


class Called(torch.nn.Module):
    """A model, called otherwise than with its inputs for its results"""

    def __init__(self, model: torch.nn.Module, call: Callable[..., Any]) -> None:
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.call(self.model, *inputs)


def image_network(make: Callable[..., torch.nn.Module], batch_open: bool) -> Network:
    model = make(weights=None)
    roughen(model)
    settle(model, torch.randn(2, 3, 224, 224))
    return Network(model, (torch.randn(1, 3, 224, 224),), 1, {0: "batch"} if batch_open else {})


def resnet50() -> Network:
    return image_network(torchvision.models.resnet50, False)


def mobilenet_v2() -> Network:
    return image_network(torchvision.models.mobilenet_v2, True)


def bert_base() -> Network:
    """Token ids and their mask, as a tokenizer gives them: int64"""
    config = transformers.BertConfig(return_dict=False)
    model = transformers.BertModel(config)
    roughen(model)
    mask = torch.ones(1, 128, dtype=torch.int64)
    mask[:, 96:] = 0
    return Network(model, (torch.randint(0, config.vocab_size, (1, 128)), mask), 2, {0: "batch", 1: "sequence"})


def seen(model: torch.nn.Module, size: int, outputs: int) -> Network:
    """A network of one image of that size"""
    roughen(model)
    settle(model, torch.randn(4, 3, size, size))
    return Network(model, (torch.randn(1, 3, size, size),), outputs, {})


def classifier(name: str, size: int = 224, **options: Any) -> Callable[[], Network]:
    return lambda: seen(getattr(torchvision.models, name)(weights=None, **options), size, 1)


def maxvit() -> Network:
    """As maxvit_t, with fewer channels and blocks: attention in windows of 7 x 7 and over grids of them"""
    model = torchvision.models.MaxVit(input_size=(112, 112), stem_channels=32, partition_size=7, head_dim=32,
                                      block_channels=[32, 64], block_layers=[2, 2], stochastic_depth_prob=0.2)
    return seen(model, 112, 1)


def segmenter(name: str, size: int) -> Network:
    model = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None)
    return seen(Called(model, lambda model, image: model(image)["out"]), size, 1)


def dense(detector: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What a detector computes of an image before it chooses boxes"""
    found = detector.head(list(detector.backbone(image).values()))
    return found["cls_logits"], found["bbox_regression"]


def ssdlite() -> Network:
    make = torchvision.models.detection.ssdlite320_mobilenet_v3_large
    return seen(Called(make(weights=None, weights_backbone=None, num_classes=21), dense), 192, 2)


def retinanet() -> Network:
    backbone = torchvision.models.detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, norm_layer=torch.nn.BatchNorm2d, trainable_layers=5)
    return seen(Called(torchvision.models.detection.RetinaNet(backbone, num_classes=21), dense), 128, 2)


def ids(vocabulary: int, length: int) -> torch.Tensor:
    return torch.randint(3, vocabulary, (1, length))


def of_text(model: torch.nn.Module, *inputs: torch.Tensor, outputs: int = 1) -> Network:
    roughen(model)
    return Network(model, inputs, outputs, {})


def distilbert() -> Network:
    config = transformers.DistilBertConfig(n_layers=3, vocab_size=8000, return_dict=False)
    mask = torch.ones(1, 64, dtype=torch.int64)
    mask[:, 50:] = 0
    return of_text(transformers.DistilBertModel(config), ids(8000, 64), mask)


def bert_tiny() -> Network:
    config = transformers.BertConfig(hidden_size=128, num_hidden_layers=2, num_attention_heads=2, vocab_size=8000,
                                     intermediate_size=512, return_dict=False)
    return of_text(transformers.BertModel(config), ids(8000, 128), outputs=2)


def gpt2() -> Network:
    config = transformers.GPT2Config(n_layer=3, vocab_size=4000, n_positions=128, use_cache=False, return_dict=False)
    return of_text(transformers.GPT2LMHeadModel(config), ids(4000, 64))


def llama_config() -> transformers.LlamaConfig:
    return transformers.LlamaConfig(vocab_size=4000, hidden_size=512, intermediate_size=1376, num_hidden_layers=4,
                                    num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=256,
                                    return_dict=False, attn_implementation="eager")


def llama() -> Network:
    config = llama_config()
    config.use_cache = False
    return of_text(transformers.LlamaForCausalLM(config), ids(4000, 64))


def step(model: torch.nn.Module, token: torch.Tensor, place: torch.Tensor, *past: torch.Tensor) \
        -> tuple[torch.Tensor, ...]:
    """One token after those whose keys and values are given, in pairs of a layer"""
    pairs = tuple(zip(past[::2], past[1::2]))
    logits, after = model(token, position_ids=place, past_key_values=pairs, use_cache=True)
    return logits, *(x for pair in after for x in pair)


def llama_step() -> Network:
    config = llama_config()
    past = [torch.randn(1, 4, 96, 64) for _ in range(2 * config.num_hidden_layers)]
    return of_text(Called(transformers.LlamaForCausalLM(config), step), ids(4000, 1), torch.tensor([[96]]), *past,
                   outputs=1 + len(past))


def t5() -> Network:
    config = transformers.T5Config(vocab_size=4000, num_layers=3, num_decoder_layers=3, use_cache=False,
                                   return_dict=False)

    def call(model: torch.nn.Module, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return model(input_ids=source, decoder_input_ids=target)[0]

    return of_text(Called(transformers.T5ForConditionalGeneration(config), call), ids(4000, 48), ids(4000, 16))


def clip() -> Network:
    text = {"vocab_size": 4000, "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4,
            "num_attention_heads": 4, "max_position_embeddings": 32, "eos_token_id": 3999, "bos_token_id": 1}
    vision = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 4, "num_attention_heads": 6,
              "image_size": 224, "patch_size": 32}
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision, return_dict=False))
    words = ids(3999, 24)
    words[0, 20] = 3999
    image = torch.randn(1, 3, 224, 224)
    return of_text(Called(model, lambda model, *inputs: model(*inputs)[:4]), words, image, outputs=4)


def whisper() -> Network:
    """The encoder of ten seconds of sound"""
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6,
                                        encoder_ffn_dim=1536, max_source_positions=500, return_dict=False)
    encoder = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)
    return of_text(Called(encoder, lambda encoder, sound: encoder(sound)[0]), torch.randn(1, 80, 1000))


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(1000, 64)
        self.lstm = torch.nn.LSTM(64, 96, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = torch.nn.GRU(192, 128, batch_first=True)
        self.head = torch.nn.Linear(128, 50)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.gru(self.lstm(self.embedding(words))[0])[0])


NETWORKS: dict[str, Callable[[], Network]] = {
    "onnx_resnet50": resnet50, "onnx_mobilenet_v2": mobilenet_v2, "onnx_bert_base": bert_base,
    "onnx_squeezenet": classifier("squeezenet1_1"),
    "onnx_googlenet": classifier("googlenet", aux_logits=False, init_weights=False),
    "onnx_regnet": classifier("regnet_y_400mf"),
    "onnx_densenet121": classifier("densenet121", 160),
    "onnx_shufflenet": classifier("shufflenet_v2_x1_0"),
    "onnx_mobilenet_v3_small": classifier("mobilenet_v3_small"),
    "onnx_mobilenet_v3_large": classifier("mobilenet_v3_large"),
    "onnx_mnasnet": classifier("mnasnet1_0"),
    "onnx_efficientnet_b0": classifier("efficientnet_b0"),
    "onnx_convnext_tiny": classifier("convnext_tiny", 160),
    "onnx_swin_t": classifier("swin_t", 160), "onnx_maxvit": maxvit,
    "onnx_deeplabv3": lambda: segmenter("deeplabv3_mobilenet_v3_large", 192),
    "onnx_lraspp": lambda: segmenter("lraspp_mobilenet_v3_large", 224),
    "onnx_ssdlite": ssdlite, "onnx_retinanet": retinanet,
    "onnx_distilbert": distilbert, "onnx_bert_tiny": bert_tiny, "onnx_gpt2": gpt2, "onnx_llama": llama,
    "onnx_llama_step": llama_step, "onnx_t5": t5, "onnx_clip": clip, "onnx_whisper": whisper,
    "onnx_recurrent": lambda: of_text(Recurrent(), ids(1000, 32)),
    # quantize.py goes on with these
    "onnx_qdq_squeezenet": classifier("squeezenet1_1"),
    "onnx_qdq_mobilenet_v3": classifier("mobilenet_v3_small"),
    "onnx_dynamic_bert": bert_tiny,
}


def export(to: Path, net: Network) -> None:
    names = [f"input{i}" for i in range(len(net.inputs))], [f"output{i}" for i in range(net.outputs)]
    ranks = {name: x.dim() for name, x in zip(names[0], net.inputs)}
    axes: dict[str, Any] = {name: {d: word for d, word in net.open.items() if d < ranks.get(name, 2)}
                            for name in sum(names, [])}
    torch.onnx.export(net.model.eval(), net.inputs, str(to / "model.onnx"), opset_version=OPSET,
                      input_names=names[0], output_names=names[1], dynamic_axes=axes if net.open else None)
    for i, x in enumerate(net.inputs):
        np.save(to / f"in{i}.npy", x.numpy())


def main() -> None:
    if len(sys.argv) != 3:
        print("\n".join(NETWORKS))
        return
    torch.manual_seed(1)
    to = Path(sys.argv[1]) / sys.argv[2]
    to.mkdir(parents=True, exist_ok=True)
    export(to, NETWORKS[sys.argv[2]]())


if __name__ == "__main__":
    main()
