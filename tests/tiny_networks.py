"""Tiny networks of every family, made by transformers' own classes; every parameter random, biases and norms too.

`tiny(name)` makes one of KINDS; `parts(model)` finds in each layer the module that makes queries, keys and values, and
the one that writes.
"""

import numpy as np

SMALL = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24, "vocab_size": 40,
    "max_position_embeddings": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
IMAGE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
IMAGE |= {"image_size": 8, "patch_size": 2}  # 16 patches
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}  # fmt: skip
GEMMA = {"num_key_value_heads": 2, "head_dim": 8, "query_pre_attn_scalar": 6, "sliding_window": 5}
EXPERTS = {"num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2}
YARN = {
    "rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "beta_fast": 8.0, "beta_slow": 0.5, "truncate": False,
    "original_max_position_embeddings": 8,
}  # fmt: skip
LONGROPE = {
    "rope_type": "longrope", "rope_theta": 500.0, "short_factor": [1.5, 3.0], "long_factor": [4.0, 8.0],
    "original_max_position_embeddings": 20, "factor": 2.0,
}  # fmt: skip
ALL_TURN = {"rope_type": "default", "rope_theta": 300.0, "partial_rotary_factor": 1.0}
#: name -> (classes of the model and its configuration, what to change)
KINDS = {
    "albert": ("AlbertForMaskedLM", "AlbertConfig", {"embedding_size": 8, "num_hidden_layers": 3}),
    "albert-groups": (
        "AlbertModel",
        "AlbertConfig",
        {"embedding_size": 8, "num_hidden_layers": 4, "num_hidden_groups": 2},
    ),
    "bert": ("BertForMaskedLM", "BertConfig", {}),
    "bert-decoder": ("BertLMHeadModel", "BertConfig", {"is_decoder": True}),
    "electra": ("ElectraModel", "ElectraConfig", {"embedding_size": 8}),
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {"pad_token_id": 1}),
    "distilbert": (
        "DistilBertModel",
        "DistilBertConfig",
        {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24},
    ),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32}),
    "gpt2-scaled": (
        "GPT2Model",
        "GPT2Config",
        {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32, "scale_attn_by_inverse_layer_idx": True},
    ),
    "neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", {"num_attention_heads": 2}),  # heads of 8: 2 numbers turn
    "neox-serial": ("GPTNeoXModel", "GPTNeoXConfig", {"num_attention_heads": 2, "use_parallel_residual": False}),
    "opt": ("OPTForCausalLM", "OPTConfig", {"ffn_dim": 24}),
    "opt-post": ("OPTModel", "OPTConfig", {"ffn_dim": 24, "do_layer_norm_before": False, "word_embed_proj_dim": 8}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {"num_key_value_heads": 2, "rms_norm_eps": 1e-5}),
    "llama3": ("LlamaModel", "LlamaConfig", {"num_key_value_heads": 1, "rope_parameters": LLAMA3, "head_dim": 8}),
    "mistral": ("MistralModel", "MistralConfig", {"num_key_value_heads": 2, "sliding_window": 5}),
    "qwen2": ("Qwen2Model", "Qwen2Config", {"num_key_value_heads": 2}),
    "qwen3": ("Qwen3Model", "Qwen3Config", {"num_key_value_heads": 2, "head_dim": 8}),
    "smollm3": ("SmolLM3Model", "SmolLM3Config", {"num_key_value_heads": 2, "no_rope_layers": [1, 0]}),
    "gemma": ("GemmaModel", "GemmaConfig", {"num_key_value_heads": 2, "head_dim": 8}),
    "gemma2": ("Gemma2ForCausalLM", "Gemma2Config", {**GEMMA, "attn_logit_softcapping": 3.0}),
    "gemma3": ("Gemma3TextModel", "Gemma3TextConfig", {**GEMMA, "num_hidden_layers": 3, "sliding_window_pattern": 2}),
    "gptoss": ("GptOssModel", "GptOssConfig", {**EXPERTS, "head_dim": 8, "sliding_window": 5, "rope_parameters": YARN}),
    "mixtral": ("MixtralForCausalLM", "MixtralConfig", {**EXPERTS, "sliding_window": 6}),
    "qwen3moe": (
        "Qwen3MoeModel",
        "Qwen3MoeConfig",
        {**EXPERTS, "num_experts": 4, "head_dim": 8, "moe_intermediate_size": 12, "mlp_only_layers": [1]},
    ),
    "qwen3moe-normed": (
        "Qwen3MoeModel",
        "Qwen3MoeConfig",
        {**EXPERTS, "num_experts": 4, "head_dim": 8, "moe_intermediate_size": 12, "norm_topk_prob": True},
    ),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {"num_key_value_heads": 2, "sliding_window": 6}),
    "phi3-long": ("Phi3Model", "Phi3Config", {"num_key_value_heads": 2, "rope_parameters": LONGROPE}),
    "neox-all": (
        "GPTNeoXModel",
        "GPTNeoXConfig",
        {"num_attention_heads": 2, "attention_bias": False, "rope_parameters": ALL_TURN},
    ),
    "vit": ("ViTForImageClassification", "ViTConfig", IMAGE),
    "deit": ("DeiTModel", "DeiTConfig", IMAGE),
}
#: module that makes queries, keys and values -> the one beside or below it that writes; names as in a module's path
WRITERS = {
    "attention.self": "attention.output.dense",  # BERT; the path is cut at the first name and continued
    "self_attn": "self_attn.o_proj|self_attn.out_proj",
    "attn": "attn.c_proj",
    "attention": "attention.dense|attention.out_lin|attention.output.dense|attention.o_proj",
}


def tiny(name, seed=0, spread=0.5, **sizes):
    """A network in evaluation mode, with eager attention so that it hands out its weights."""
    import torch
    import transformers

    model_class, config_class, changed = KINDS[name]
    given = changed if changed is IMAGE else {**SMALL, **changed}
    config = getattr(transformers, config_class)(**{**given, **sizes})
    config._attn_implementation = "eager"
    model = getattr(transformers, model_class)(config).eval()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")  # the others know no float64
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, spread, generator=generator)
    return model


def inputs(model, n_tokens, seed=0):
    """Keywords for a run with so many tokens: words, or an image whose patches and first tokens are as many."""
    import torch

    rng = np.random.default_rng(seed)
    if hasattr(model.config, "image_size"):
        return {"pixel_values": torch.tensor(rng.standard_normal((1, 3, 8, 8)), dtype=torch.float32)}
    return {"input_ids": torch.tensor(rng.integers(3, 40, (1, n_tokens)))}


def parts(model):
    """[(module that is given the tokens, module that writes)], one pair a set of weights, in the order of layers."""
    modules = dict(model.named_modules())
    found = []
    for path, module in modules.items():
        for reads, writes in WRITERS.items():
            if path.endswith(f".{reads}") and (reads != "attention" or f"{path}.self" not in modules):
                stem = path.removesuffix(reads)
                writer = next((modules[stem + w] for w in writes.split("|") if stem + w in modules), None)
                if writer is not None:
                    found.append((module, writer))
    return found
