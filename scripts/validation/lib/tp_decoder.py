"""A decoder of Llama's kind in plain PyTorch, one rank of a tensor-parallel group, for scripts/validation/serve-with-tp.

It is split as Megatron-LM splits it (Shoeybi et al., https://arxiv.org/abs/1909.08053): queries, keys, values, gate and
up by their columns, the projections behind them by their rows, so that attention and feed-forward each end in one
all-reduce. Embedding and head are split by the vocabulary: one more all-reduce, and an all-gather of the logits.
"""

import datetime
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

HEAD_SIZE = 128
ROPE_BASE = 500000.0
UNCOUNTED = 2  # repetitions, in which clocks rise and libraries choose


class Decoder:
    """Every rank draws the same whole matrices and keeps its part: what is decoded does not depend on the number of ranks."""

    def __init__(self, shape, rank, ranks, device):
        self.shape, self.rank, self.ranks, self.device = shape, rank, ranks, device
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.generator = torch.Generator(device).manual_seed(1)
        queries, keys = shape.heads * HEAD_SIZE, shape.kv_heads * HEAD_SIZE
        self.embedding = self.part(self.drawn((shape.vocabulary, shape.hidden)), 0)
        self.head = self.columns(shape.hidden, shape.vocabulary)
        self.layers = [{"qkv": self.columns(shape.hidden, queries, keys, keys), "out": self.rows(queries, shape.hidden),
                        "gate_up": self.columns(shape.hidden, shape.ffn, shape.ffn), "down": self.rows(shape.ffn, shape.hidden)}
                       for _ in range(shape.layers)]

    def drawn(self, size, deviation=1.0):
        whole = torch.empty(size, dtype=self.dtype, device=self.device)
        return whole.normal_(0.0, deviation, generator=self.generator)

    def part(self, whole, dimension):
        return whole.chunk(self.ranks, dimension)[self.rank].clone(memory_format=torch.contiguous_format)

    def columns(self, inputs, *outputs):
        """This rank's outputs of each matrix, one below the other as F.linear takes them."""
        return torch.cat([self.part(self.drawn((each, inputs), inputs**-0.5), 0) for each in outputs])

    def rows(self, inputs, outputs):
        return self.part(self.drawn((outputs, inputs), inputs**-0.5), 1)

    def cache(self, sequences, positions):
        """Keys and values of each layer: sequences x heads x positions x 128, as drawn, until a step writes its own."""
        size = (2, sequences, self.shape.kv_heads, positions, HEAD_SIZE)
        return [self.part(self.drawn(size), 2) for _ in range(self.shape.layers)]

    def rotation(self, positions):
        """Of each position's pairs, as complex numbers: Su et al., https://arxiv.org/abs/2104.09864."""
        powers = torch.arange(0, HEAD_SIZE, 2, dtype=torch.float32, device=self.device) / HEAD_SIZE
        angles = torch.outer(positions.float(), ROPE_BASE**-powers)
        return torch.polar(torch.ones_like(angles), angles)[:, None]

    def next_tokens(self, tokens, cache, rotation):
        """Of sequences x new tokens, which stand last in the cache: the likeliest token behind each sequence."""
        sequences, new = tokens.shape
        x = self.embed(tokens.flatten())
        for layer, (keys, values) in zip(self.layers, cache):
            qkv = F.linear(self.norm(x), layer["qkv"]).view(sequences, new, -1, HEAD_SIZE)
            x = self.add_sum(x, F.linear(self.attention(qkv, keys, values, rotation), layer["out"]))
            gate, up = F.linear(self.norm(x), layer["gate_up"]).chunk(2, dim=-1)
            x = self.add_sum(x, F.linear(F.silu(gate) * up, layer["down"]))
        last = x.view(sequences, new, -1)[:, -1]
        return self.likeliest(F.linear(self.norm(last), self.head))

    def embed(self, tokens):
        own = tokens - self.rank * len(self.embedding)
        is_own = (own >= 0) & (own < len(self.embedding))
        x = F.embedding(own * is_own, self.embedding).mul_(is_own[:, None])
        dist.all_reduce(x)
        return x

    def norm(self, x):
        return F.rms_norm(x, x.shape[-1:], eps=1e-5)

    def add_sum(self, x, part):
        dist.all_reduce(part)
        return x.add_(part)

    def attention(self, qkv, keys, values, rotation):
        """Writes the new keys and values behind the cache's others. A single query has no later keys to be kept from."""
        sequences, new, _, _ = qkv.shape
        kv_heads = keys.shape[1]
        rotated, v = qkv.split([qkv.shape[2] - kv_heads, kv_heads], dim=2)
        pairs = torch.view_as_complex(rotated.float().unflatten(-1, (-1, 2)).contiguous())
        q, k = torch.view_as_real(pairs * rotation).flatten(-2).to(qkv.dtype).split(
            [rotated.shape[2] - kv_heads, kv_heads], dim=2)
        keys[:, :, -new:] = k.transpose(1, 2)
        values[:, :, -new:] = v.transpose(1, 2)
        if new == 1:  # heads that share keys stand as queries of one head: each key is read once
            mixed = F.scaled_dot_product_attention(q.reshape(sequences, kv_heads, -1, HEAD_SIZE), keys, values)
            return mixed.reshape(sequences, -1)
        mixed = F.scaled_dot_product_attention(q.transpose(1, 2), keys, values, is_causal=True, enable_gqa=True)
        return mixed.transpose(1, 2).reshape(sequences * new, -1)

    def likeliest(self, logits):
        sequences, own = logits.shape
        every = torch.empty(self.ranks * sequences, own, dtype=logits.dtype, device=self.device)
        dist.all_gather_into_tensor(every, logits)
        return every.view(-1, sequences, own).transpose(0, 1).reshape(sequences, -1).argmax(dim=-1, keepdim=True)


class HostEvent:
    """A CUDA event's double where there is no GPU."""

    def record(self):
        self.time = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1e3 * (end.time - self.time)


def milliseconds(work, steps, repetitions, device):
    """A step's, mean of the steps of a repetition: of each repetition the slowest rank, of these the median."""
    event = (lambda: torch.cuda.Event(enable_timing=True)) if device.type == "cuda" else HostEvent
    found = []
    for _ in range(UNCOUNTED + repetitions):
        dist.barrier()
        begin, end = event(), event()
        begin.record()
        for _ in range(steps):
            work()
        end.record()
        end.synchronize()
        found.append(begin.elapsed_time(end) / steps)
    slowest = torch.tensor(found[UNCOUNTED:], dtype=torch.float64, device=device)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return statistics.median(slowest.tolist())


def captured(work):
    """A CUDA graph of the work, which runs first, so that NCCL has its connections and libraries their algorithms."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # NCCL's watchdog is another thread of PyTorch
        work()
    return graph


def decode(decoder, batch, options, say):
    cache = decoder.cache(batch, options.context)
    rotation = decoder.rotation(torch.tensor([options.context - 1], device=decoder.device))
    tokens = torch.arange(batch, device=decoder.device).view(batch, 1)

    def step():
        tokens.copy_(decoder.next_tokens(tokens, cache, rotation))

    graph = captured(step) if decoder.device.type == "cuda" else None
    time_ms = milliseconds(graph.replay if graph else step, options.steps, options.repetitions, decoder.device)
    say(f"decode_step_ms_batch_{batch}: {time_ms:.4f}")
    say(f"tokens_per_second_batch_{batch}: {batch / time_ms * 1e3:.4f}")
    say(f"last tokens: {tokens.flatten().tolist()[:8]}")
    if graph:
        graph.reset()  # NCCL's communicator does not end before its graphs


def prefill(decoder, options, say):
    cache = decoder.cache(1, options.prompt)
    rotation = decoder.rotation(torch.arange(options.prompt, device=decoder.device))
    tokens = torch.arange(options.prompt, device=decoder.device).view(1, -1) % decoder.shape.vocabulary
    following = torch.empty(1, 1, dtype=torch.long, device=decoder.device)

    def step():
        following.copy_(decoder.next_tokens(tokens, cache, rotation))

    time_ms = milliseconds(step, 1, options.repetitions, decoder.device)
    say(f"prefill_ms: {time_ms:.4f}")
    say(f"token behind the prompt: {following.item()}")


def measure(options):
    """Raises MemoryError if a GPU is missing or too small."""
    device = torch.device("cpu")
    if options.device == "cuda":
        device = torch.device("cuda", options.rank)
        if torch.cuda.device_count() < options.tp:
            raise MemoryError(f"PyTorch {torch.__version__} finds {torch.cuda.device_count()} GPUs of {options.tp}")
        torch.cuda.set_device(device)
        torch.backends.cuda.enable_cudnn_sdp(False)  # FlashAttention splits the keys of few sequences
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", f"tcp://127.0.0.1:{options.port}",
                            timeout=datetime.timedelta(minutes=2), world_size=options.tp, rank=options.rank,
                            device_id=device if device.type == "cuda" else None)

    def say(text):
        if options.rank == 0:
            print(text, flush=True)

    say(f"model: {options.model}, {options.shape.layers} of {options.published} layers, {options.tp} ranks, "
        f"PyTorch {torch.__version__}")
    try:
        with torch.inference_mode():
            decoder = Decoder(options.shape, options.rank, options.tp, device)
            if options.prompt:
                prefill(decoder, options, say)
            for batch in options.batch:
                decode(decoder, batch, options, say)
    except torch.cuda.OutOfMemoryError as error:
        raise MemoryError(f"{options.model} does not fit, --layers takes fewer of its layers: {error}") from error
    dist.destroy_process_group()
