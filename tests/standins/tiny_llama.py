#!/usr/bin/python3
"""A language model that is tiny and knows nothing, for tests of real servers: tiny_llama.py FOLDER [TEXT...]

Writes a Llama of some 3 million random parameters with a byte-level BPE tokenizer, trained on the given texts, and a chat template, as
`transformers serve FOLDER` takes them. Needs numpy and tokenizers; to load a framework for it would take a quarter of a minute. Downloads nothing.
"""
import json
import pathlib
import struct
import sys

CHAT = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:"
HIDDEN, BETWEEN, LAYERS, HEADS = 192, 512, 6, 6
SPECIAL = ["<s>", "</s>", "<pad>"]  # in this order: their ids stand in the configuration


def write_tokenizer(folder, texts):
    """Returns how many tokens there are."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=2048, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train(texts, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    beginning, end, padding = SPECIAL
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": beginning, "eos_token": end, "pad_token": padding, "chat_template": CHAT}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return tokenizer.get_vocab_size()


def shapes(words):
    """Every tensor of a Llama, by name."""
    yield "model.embed_tokens.weight", (words, HIDDEN)
    for layer in range(LAYERS):
        of_layer = f"model.layers.{layer}."
        for name in "qkvo":
            yield f"{of_layer}self_attn.{name}_proj.weight", (HIDDEN, HIDDEN)
        yield of_layer + "mlp.gate_proj.weight", (BETWEEN, HIDDEN)
        yield of_layer + "mlp.up_proj.weight", (BETWEEN, HIDDEN)
        yield of_layer + "mlp.down_proj.weight", (HIDDEN, BETWEEN)
        yield of_layer + "input_layernorm.weight", (HIDDEN,)
        yield of_layer + "post_attention_layernorm.weight", (HIDDEN,)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (words, HIDDEN)


def write_weights(folder, words):
    """As safetensors: the length of a JSON header, the header, the numbers. Returns how many there are."""
    import numpy

    chance, header, data = numpy.random.default_rng(7), {"__metadata__": {"format": "pt"}}, b""
    for name, shape in shapes(words):
        values = numpy.ones(shape) if len(shape) == 1 else chance.normal(0, 0.02, shape)
        piece = values.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    return len(data) // 4


def make(folder, texts):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    words = write_tokenizer(folder, texts)
    ids = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "float32", "vocab_size": words, "hidden_size": HIDDEN,
              "intermediate_size": BETWEEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
              "max_position_embeddings": 2048, "tie_word_embeddings": False, **ids}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps(ids))
    print(f"{folder}: {write_weights(folder, words):,} parameters, {words} tokens")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    make(sys.argv[1], sys.argv[2:])
