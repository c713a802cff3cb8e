#!/usr/bin/python3
"""A language model that is tiny and knows nothing, for tests of real servers: tiny_llama.py FOLDER [TEXT...]

Saves a Llama of some 3 million random parameters with a byte-level BPE tokenizer, trained on the given texts, and a chat template, as
`transformers serve FOLDER` takes them. Needs transformers, tokenizers and torch; downloads nothing.
"""
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")

CHAT = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:"


def make(folder, texts):
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=2048, special_tokens=["<s>", "</s>", "<pad>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    fast.chat_template = CHAT
    torch.manual_seed(7)
    config = LlamaConfig(vocab_size=len(fast), hidden_size=192, intermediate_size=512, num_hidden_layers=6, num_attention_heads=6,
                         num_key_value_heads=6, max_position_embeddings=2048, bos_token_id=0, eos_token_id=1, pad_token_id=2)
    model = LlamaForCausalLM(config)
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    print(f"{folder}: {sum(p.numel() for p in model.parameters()):,} parameters, {len(fast)} tokens")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    make(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    os._exit(0)  # all is saved; the libraries' threads need not be waited for
