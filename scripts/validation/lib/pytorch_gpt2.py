"""GPT-2 and its training in plain PyTorch, for scripts/validation/compare-pytorch.

Weights are those of one flat buffer, under the names of transformers' GPT2LMHeadModel and in its
shapes: projections are input x output. Precisions are fp32, tf32 (fp32 with TF32 products), bf16 (fp32
parameters, autocast) and fp64.
"""

import json
import math
import statistics
from typing import NamedTuple

import torch
import torch.nn.functional as F

NORM_EPSILON = 1e-5
# The defaults of transformers' Trainer.
LEARNING_RATE, BETAS, EPSILON, WEIGHT_DECAY, LARGEST_NORM = 5e-5, (0.9, 0.999), 1e-8, 0.0, 1.0


class Gpt2(torch.nn.Module):
    """`dimensions`: channels, layers, heads, as index.json's model; `values`: name -> tensor."""

    def __init__(self, dimensions, values, dropout=0.0):
        super().__init__()
        self.dimensions, self.dropout = dimensions, dropout
        self.names = list(values)
        self.values = torch.nn.ParameterList(torch.nn.Parameter(v.clone()) for v in values.values())

    def named(self):
        return dict(zip(self.names, self.values))

    def forward(self, rows):
        """The mean loss of rows of T + 1 tokens: of each token after the first, given those before it."""
        weights = self.named()
        inputs, targets = rows[:, :-1], rows[:, 1:]
        x = F.embedding(inputs, weights["transformer.wte.weight"])
        x = self.dropped(x + weights["transformer.wpe.weight"][: inputs.shape[1]])
        for block in range(self.dimensions["layers"]):
            x = x + self.dropped(self.attention(weights, f"transformer.h.{block}.", x))
            x = x + self.dropped(self.feed_forward(weights, f"transformer.h.{block}.", x))
        logits = F.linear(self.norm(weights, "transformer.ln_f", x), weights["transformer.wte.weight"])
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def attention(self, weights, block, x):
        heads = self.dimensions["heads"]
        qkv = self.projection(weights, block + "attn.c_attn", self.norm(weights, block + "ln_1", x))
        q, k, v = (each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in qkv.chunk(3, dim=-1))
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return self.projection(weights, block + "attn.c_proj", mixed.transpose(1, 2).flatten(2))

    def feed_forward(self, weights, block, x):
        wide = self.projection(weights, block + "mlp.c_fc", self.norm(weights, block + "ln_2", x))
        return self.projection(weights, block + "mlp.c_proj", F.gelu(wide, approximate="tanh"))

    def norm(self, weights, name, x):
        return F.layer_norm(x, x.shape[-1:], weights[name + ".weight"], weights[name + ".bias"], NORM_EPSILON)

    def projection(self, weights, name, x):
        return F.linear(x, weights[name + ".weight"].t(), weights[name + ".bias"])

    def dropped(self, x):
        return F.dropout(x, self.dropout, self.training)


def use_precision(precision):
    """For all matrix products from now on."""
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")


def autocast(precision, device):
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def element_type(precision):
    return torch.float64 if precision == "fp64" else torch.float32


def read_flat(path, dtype, device):
    """All elements of a file; its memory is the tensor's own."""
    size = torch.empty((), dtype=dtype).element_size()
    return torch.from_file(str(path), shared=False, size=path.stat().st_size // size, dtype=dtype).to(device)


def split(flat, tensors):
    """Name -> view of `flat`, by index.json's tensors."""
    views = {}
    for tensor in tensors:
        count = math.prod(tensor["shape"])
        views[tensor["name"]] = flat[tensor["offset"] : tensor["offset"] + count].view(tensor["shape"])
    return views


class Training(NamedTuple):
    losses: list
    gradients: dict  # of the first step, before clipping
    updated: dict  # parameters after the last step


def train(dimensions, values, batches, precision, by_sample=False):
    """Trains without dropout from `values`, a step for each of `batches` (steps x B x (T + 1) tokens).
    `by_sample` computes sample after sample, which needs less memory."""
    use_precision(precision)
    model = Gpt2(dimensions, {name: value.to(element_type(precision)) for name, value in values.items()})
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, betas=BETAS, eps=EPSILON, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / len(batches))
    losses, gradients = [], {}
    for batch in batches:
        optimizer.zero_grad()
        parts = batch.split(1) if by_sample else (batch,)
        losses.append(sum(backward(model, part, precision, 1.0 / len(parts)) for part in parts))
        if not gradients:
            gradients = {name: value.grad.clone() for name, value in model.named().items()}
        torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_NORM)
        optimizer.step()
        schedule.step()
    return Training(losses, gradients, {name: value.detach() for name, value in model.named().items()})


def backward(model, rows, precision, weight):
    with autocast(precision, rows.device):
        loss = model(rows) * weight
    loss.backward()
    return loss.item()


def changes(before, after):
    """Name -> what was added to the tensor. Biases of keys are left out: they move all scores of a query
    alike, so that their gradient is 0 in exact arithmetic, and what AdamW makes of it is rounding alone."""
    added = {name: after[name].double() - before[name].double() for name in before}
    for name, change in added.items():
        if name.endswith("attn.c_attn.bias"):
            queries, _, values = change.chunk(3)
            added[name] = torch.cat((queries, values))
    return added


def write_answers(options, truth, start):
    """What PyTorch computed from `start` in float64, so that a test can hold linkgain's reference to it without
    PyTorch."""
    change = changes(start, truth.updated)
    document = {
        "made_by": f"PyTorch {torch.__version__}: scripts/validation/compare-pytorch --model {options.model} --precision fp64 "
                   f"--batch {options.batch} --length {options.length} --steps {options.steps} "
                   f"--deviation {options.deviation} --answers FILE",
        "model": options.model, "samples": options.batch, "length": options.length,
        "deviation": options.deviation, "losses": truth.losses,
        "tensors": [{"name": name, "gradient_norm": truth.gradients[name].norm().item(),
                     "change_norm": change[name].norm().item()} for name in start]}
    options.answers.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def relative_difference(pairs):
    """Of (value, truth) tensors taken together: largest and root-mean-square difference and the root mean
    square of the truth, as plain numbers."""
    largest, squares, scale, count = 0.0, 0.0, 0.0, 0
    for value, truth in pairs:
        difference = value.double() - truth.double()
        highest = difference.abs().max().item()
        largest = highest if math.isnan(highest) else max(largest, highest)
        squares += difference.square().sum().item()
        scale += truth.double().square().sum().item()
        count += truth.numel()
    return largest, math.sqrt(squares / count), math.sqrt(scale / count)


def largest_at(value, truth):
    """Index of the largest difference, and what both tensors have there."""
    place = (value.double() - truth.double()).abs().argmax().item()
    index, rest = [], place
    for length in reversed(truth.shape):
        rest, at = divmod(rest, length)
        index.insert(0, at)
    return index, value.flatten()[place].item(), truth.flatten()[place].item()


def initial_values(dimensions, device):
    """Weights for timing: of GPT-2's deviation, whichever they are."""
    channels = dimensions["channels"]

    def weight(*shape):
        return torch.randn(shape, device=device) * 0.02

    values = {
        "transformer.wte.weight": weight(dimensions["vocabulary"], channels),
        "transformer.wpe.weight": weight(dimensions["positions"], channels),
    }

    def add(name, *shape):
        is_norm = name.split(".")[-1].startswith("ln_")
        values[name + ".weight"] = torch.ones(shape, device=device) if is_norm else weight(*shape)
        values[name + ".bias"] = torch.zeros(shape[-1], device=device)

    for i in range(dimensions["layers"]):
        block = f"transformer.h.{i}."
        add(block + "ln_1", channels)
        add(block + "attn.c_attn", channels, 3 * channels)
        add(block + "attn.c_proj", channels, channels)
        add(block + "ln_2", channels)
        add(block + "mlp.c_fc", channels, 4 * channels)
        add(block + "mlp.c_proj", 4 * channels, channels)
    add("transformer.ln_f", channels)
    return values


class Transformers(torch.nn.Module):
    """transformers' own GPT-2 124M with random weights, which it makes without a download."""

    def __init__(self, dropout):
        super().__init__()
        import transformers

        config = transformers.GPT2Config(
            resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, use_cache=False)
        self.model = transformers.GPT2LMHeadModel(config)

    def forward(self, rows):
        # It shifts the labels itself.
        return self.model(input_ids=rows[:, :-1], labels=rows[:, :-1]).loss


def step_milliseconds(model, vocabulary, shape, precision, steps, warm_up=5):
    """The median of `steps` training steps that are enqueued without waiting, by events between them;
    `shape` is (B, T). Tokens follow Zipf's law, as generated ones of linkgain do."""
    device = next(model.parameters()).device
    use_precision(precision)
    model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, betas=BETAS, eps=EPSILON, weight_decay=WEIGHT_DECAY, fused=True)
    likelihood = 1.0 / torch.arange(1, vocabulary + 1, device=device)
    batches = torch.multinomial(likelihood, (warm_up + steps) * shape[0] * (shape[1] + 1), replacement=True)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    for i, rows in enumerate(batches.view(warm_up + steps, shape[0], shape[1] + 1)):
        if i == warm_up:
            marks[0].record()
        optimizer.zero_grad()
        with autocast(precision, device):
            loss = model(rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_NORM)
        optimizer.step()
        if i >= warm_up:
            marks[i - warm_up + 1].record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:]))
