"""A model of random weights, small enough to run anywhere: ``python tiny_gguf.py FILE`` (needs the package `gguf`).

It speaks nonsense, but its server is a real one: it templates, tokenizes, counts, streams and refuses as it does for
any model. The same seed gives the same file. One token is a byte, so that prompts can be counted by hand; what it says
are printable characters, without an end.
"""

from __future__ import annotations

import sys

import numpy
from gguf import GGUFWriter, TokenType

WIDTH, INNER, HEADS, LAYERS, TRAINED = 64, 128, 4, 2, 8192
FIRST_BYTE = 4
"""The token of the byte 0."""
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tokens() -> list[tuple[str, float, TokenType]]:
    """Three special ones, a blank, then every byte."""
    special = [("<unk>", TokenType.UNKNOWN), ("<s>", TokenType.CONTROL), ("</s>", TokenType.CONTROL)]
    return [
        *((text, 0.0, kind) for text, kind in special),
        ("\u2581", -1.0, TokenType.NORMAL),
        *((f"<0x{byte:02X}>", -2.0, TokenType.BYTE) for byte in range(256)),
    ]


def write(path: str) -> None:
    """Write the model to `path`."""
    rng, vocabulary = numpy.random.default_rng(5), tokens()
    file = GGUFWriter(path, "llama")
    file.add_name("tiny")
    file.add_context_length(TRAINED)
    file.add_embedding_length(WIDTH)
    file.add_feed_forward_length(INNER)
    file.add_block_count(LAYERS)
    file.add_head_count(HEADS)
    file.add_head_count_kv(HEADS)
    file.add_rope_dimension_count(WIDTH // HEADS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_vocab_size(len(vocabulary))
    file.add_tokenizer_model("llama")
    file.add_token_list([text for text, _, _ in vocabulary])
    file.add_token_scores([score for _, score, _ in vocabulary])
    file.add_token_types([kind for _, _, kind in vocabulary])
    file.add_unk_token_id(0)
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)
    file.add_add_bos_token(True)
    file.add_add_space_prefix(False)
    file.add_chat_template(TEMPLATE)

    def weights(name: str, *shape: int) -> None:
        file.add_tensor(name, (rng.standard_normal(shape) / 8).astype(numpy.float32))

    def ones(name: str) -> None:
        file.add_tensor(name, numpy.ones(WIDTH, numpy.float32))

    # The first number of every vector is the same and large: by it the output tells what may be said from the rest.
    known = (rng.standard_normal((len(vocabulary), WIDTH)) / 8).astype(numpy.float32)
    known[:, 0] = 4.0
    file.add_tensor("token_embd.weight", known)
    for layer in range(LAYERS):
        at = f"blk.{layer}"
        ones(f"{at}.attn_norm.weight")
        ones(f"{at}.ffn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"{at}.{part}.weight", WIDTH, WIDTH)
        weights(f"{at}.ffn_gate.weight", INNER, WIDTH)
        weights(f"{at}.ffn_up.weight", INNER, WIDTH)
        weights(f"{at}.ffn_down.weight", WIDTH, INNER)
    ones("output_norm.weight")
    said = (rng.standard_normal((len(vocabulary), WIDTH)) / 8).astype(numpy.float32)
    said[:, 0] = [0.0 if 0x20 <= number - FIRST_BYTE < 0x7F else -9.0 for number in range(len(vocabulary))]
    file.add_tensor("output.weight", said)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


if __name__ == "__main__":
    write(sys.argv[1])
