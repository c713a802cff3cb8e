"""A model server's work, planned before it begins: who asks when, each step's begin, end and joules, and so what each request costs. Played in
real time it follows the plan whatever the machine does: the meter shows the plan's energy at the moment that it is looked at, and an
answer's tokens are sent at their planned times or, on a machine that has no time, later; the energy never waits for them.

    engine = PlannedEngine(Costs(), arrivals)     # [Arrival(seconds, path, tokens_in, tokens_out)], by time
    with ModelServer(root, engine=engine):
        engine.start()                            # moment 0 of the plan is now
        engine.sleep_until(job.arrives)           # then job is asked for, with "user": job.id
        engine.sleep_until(engine.length)         # until all is done
"""
import bisect
import dataclasses
import itertools
import threading
import time

from model_server import MODEL, Job, vllm_page


@dataclasses.dataclass
class Arrival:
    seconds: float
    path: str
    tokens_in: int
    tokens_out: int


class Pieces:
    """Stands for a queue whose pieces come at planned times."""

    def __init__(self, engine, seconds):
        self.engine, self.seconds = engine, iter(seconds)

    def get(self):
        at = next(self.seconds, None)
        if at is None:
            return None
        self.engine.sleep_until(at)
        return "a "


class PlannedEngine:
    def __init__(self, costs, arrivals, counted_before=(0, 0, 0)):
        self.costs, self.counted_before, self.begun_at = costs, counted_before, None
        self.jobs, self.steps, self.ended = [], [], []  # steps: (begin, end, joules)
        self.truth = {}
        self.prompt_ends, self.token_ends, self.request_ends = [], [], []
        self.started, self.stopping = threading.Event(), False
        self.plan(arrivals)
        self.begins = [begin for begin, _, _ in self.steps]
        self.before = [0.0, *itertools.accumulate(joules for _, _, joules in self.steps)]

    def plan(self, arrivals):
        for number, one in enumerate(arrivals, 1):
            job = Job(number, one.path, MODEL, one.tokens_in, one.tokens_out)
            job.arrives, job.ends = one.seconds, []
            self.jobs.append(job)
            self.truth[job.id] = 0.0
        waiting, batch, now = list(self.jobs), [], 0.0
        while waiting or batch:
            while waiting and len(batch) < self.costs.most_batch and waiting[0].arrives <= now:
                batch.append(waiting.pop(0))
            now = self.step(batch, now) if batch else waiting[0].arrives

    def step(self, batch, begin):
        end, shares = begin + self.costs.length(batch), self.costs.shares(batch)
        self.steps.append((begin, end, sum(shares)))
        for job, joules in zip(list(batch), shares):
            self.truth[job.id] += joules
            if job.left_in > 0:
                self.prompt_ends.append((end, job.left_in))
                job.left_in = 0
            job.left_out -= 1
            job.ends.append(end)
            self.token_ends.append(end)
            if job.left_out == 0:
                self.request_ends.append(end)
                self.ended.append(job)
                batch.remove(job)
        return end

    def start(self):
        self.begun_at, wall = time.monotonic(), time.time()
        for job in self.jobs:
            job.start, job.first, job.end = (wall + seconds for seconds in (job.arrives, job.ends[0], job.ends[-1]))
            job.pieces = Pieces(self, job.ends)
        self.started.set()

    def seconds(self):
        return time.monotonic() - self.begun_at if self.begun_at else 0.0

    def sleep_until(self, seconds):
        time.sleep(max(0.0, seconds - self.seconds()))

    @property
    def length(self):
        return self.steps[-1][1]

    # What ModelServer asks of an engine.

    def play(self):
        self.started.wait()

    def submit(self, _path, _model, tokens_in, tokens_out, name=None):
        job = next(job for job in self.jobs if job.id == name)
        assert (job.tokens_in, job.tokens_out) == (tokens_in, tokens_out)
        return job

    def dynamic_joules(self):
        now = self.seconds()
        at = bisect.bisect_right(self.begins, now) - 1
        if at < 0:
            return 0.0
        begin, end, joules = self.steps[at]
        return self.before[at] + joules * min(1.0, (now - begin) / (end - begin))

    def metrics(self):
        now = self.seconds()
        prompt, generation, requests = self.counted_before
        prompt += sum(tokens for end, tokens in self.prompt_ends if end <= now)
        generation += bisect.bisect_right(self.token_ends, now)
        ended = bisect.bisect_right(self.request_ends, now)
        running = bisect.bisect_right([job.arrives for job in self.jobs], now) - ended
        return vllm_page(running, {MODEL: {"prompt": prompt, "generation": generation, "requests": requests + ended}})
