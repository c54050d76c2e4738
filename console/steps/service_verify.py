"""`service.verify`: prove that the setting is really served."""

from __future__ import annotations

from typing import ClassVar, Literal

from console.engines.base import Engine, Reply
from console.errors import NotServedError, RestartedByOthersError, UnreachableError
from console.facts.collect import collect
from console.remote.systemd import unit_state
from console.schema.events import FactsRead, FindingMade, StepProgress, Verified
from console.schema.facts import PRIVATE, Facts
from console.schema.hosts import Target
from console.schema.plan import OnAbort
from console.schema.serving import Serving
from console.settings.levels import NOT_GIVEN, Levels
from console.steps import parts, ranks
from console.steps.base import Step, StepIO, StepResult
from console.steps.levels import event_of, levels_of, same
from console.steps.service_wait_ready import load_time

# Beyond the old limit by more than the few tokens an engine adds or reserves on its own.
PAST_OLD_MARGIN_TOKENS = 64
SHORT_PROBE_TOKENS = 64
OUTPUT_TOKENS = 8
FULL_PROBE_LIMIT_S = 300.0
# How long a lost connection is waited for, before and under the probe.
PATIENCE_S = 60.0
# A router looks for its servers about once a minute, and leaves out for as long what failed it (sglang#31206).
ROUTER_PATIENCE_S = 180.0
ROUTER_PAUSE_S = 5.0

Probe = Literal["auto", "full", "past-old", "short"]


class ServiceVerify(Step):
    """Four levels agree, the pool holds one full-length request, and a real generation goes past the old limit.

    `require = "start"` accepts a window the pool cannot hold in one request, and says the largest that is served.
    `probe`: full (the largest request served), past-old (just past the old limit), short, or auto, see `probe_size`.
    """

    uses: ClassVar[str] = "service.verify"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "prove that it is served"

    probe: Probe = "auto"
    require: Literal["serve", "start"] = "serve"

    def title(self, target: Target) -> str:
        return "prove that the setting is served"

    async def run(self, io: StepIO) -> StepResult:
        facts = await collect(io.reader, io.engine, patience_s=PATIENCE_S)
        shown = facts.model_dump(mode="json", exclude=PRIVATE)
        io.emit(FactsRead(target=facts.target, when="after", facts=shown))
        self._same_process(io, facts)
        ranks.run_it(io, facts)
        beside = self._parts(io, facts)
        serving = facts.serving or Serving()
        levels = [levels_of(facts, io.engine, name) for name in io.expected]
        for level in levels:
            io.emit(event_of(facts.target, level))
        self._levels_agree(io, levels, facts)
        if not io.restarted and not io.plan.nothing_to_do and io.plan.settings and facts.load_times_s:
            # Gone on with: the restart was an earlier run's, and how long it took only the journal knows.
            io.emit(load_time(io, facts.load_times_s[0], "start to ready, as logged"))
        said = self._pool_holds(io, serving, facts.target) + beside
        if io.plan.nothing_to_do:
            return StepResult("ok", f"already so on disk, loaded, running and serving{said}")
        await self._generate(io, facts, serving)
        message = "; ".join(f"{name} {value}" for name, value in io.expected.items()) + said
        io.emit(Verified(target=facts.target, invocation_id=facts.unit.invocation_id, message=message))
        return StepResult("ok", f"served: {message}" if io.expected else "it serves")

    def _parts(self, io: StepIO, facts: Facts) -> str:
        """Prove of the other parts of a pair all but the generation, which goes through them; returns what to add."""
        said = ""
        for part in parts.parts_of(io):
            seen = next(each for each in facts.nodes if each.target == part.plan.target.name)
            with parts.named(part, io):
                self._same_process(part, seen)
                levels = [levels_of(seen, io.engine, name) for name in io.expected]
                for level in levels:
                    io.emit(event_of(facts.target, level).model_copy(update={"part": seen.target}))
                self._levels_agree(part, levels, seen)
                pool = self._pool_holds(part, seen.serving or Serving(), seen.target)
            said += f"; {seen.target} as well{pool}"
        return said

    def _same_process(self, io: StepIO, facts: Facts) -> None:
        if facts.unit.active_state != "active":
            raise NotServedError(f"{facts.unit.id} is {facts.unit.active_state}", where=facts.target)
        if io.invocation and facts.unit.invocation_id != io.invocation:
            raise RestartedByOthersError(
                f"the service was started again (invocation {facts.unit.invocation_id})", where=facts.target
            )
        if io.restarted:
            self._our_start(io, facts)
        if facts.process.foreign_pid:
            raise NotServedError(
                f"port {io.plan.target.service.port} is answered by process {facts.process.foreign_pid}, "
                f"which is not of {facts.unit.id}",
                where=facts.target,
            )

    def _our_start(self, io: StepIO, facts: Facts) -> None:
        """A restart of ours, with or without a wait for it: another start than before, of the files as they are."""
        if facts.host.boot_id and io.before.host.boot_id and facts.host.boot_id != io.before.host.boot_id:
            raise RestartedByOthersError("the host was rebooted meanwhile", where=facts.target)
        if facts.unit.invocation_id == io.invocation_before:
            raise NotServedError(
                f"the restart has not come about: {facts.unit.id} is still the start from before it "
                f"(invocation {facts.unit.invocation_id[:8] or 'none'})",
                where=facts.target,
                hint="service.wait_ready before service.verify waits for it",
            )
        if facts.unit.need_daemon_reload:
            raise NotServedError(
                f"files of {facts.unit.id} changed since systemd read them",
                where=facts.target,
                hint=f"systemctl cat {facts.unit.id}; another daemon-reload and restart would make them live",
            )

    def _levels_agree(self, io: StepIO, levels: list[Levels], facts: Facts) -> None:
        for level in levels:
            wanted = io.expected[level.setting]
            seen = {
                "disk": level.disk,
                "loaded": level.loaded,
                "running": level.running,
                "serving": level.serving,
            }
            for name, value in seen.items():
                if value.value is None:
                    if name == "serving" and level.setting == "context_length":
                        raise NotServedError(
                            f"what context_length is served cannot be seen: {value.reason}", where=facts.target
                        )
                    if value.reason == NOT_GIVEN and not self._absent_is_right(io, level, name):
                        raise NotServedError(
                            f"{level.setting} is {wanted} in the unit and not given {PLACES[name]}",
                            where=facts.target,
                            hint="the first level that differs is the diagnosis",
                        )
                    continue
                slots = facts.serving.slots if facts.serving else 1
                served = name == "serving" and io.engine.agrees(level.setting, wanted, value.value, slots)
                if not served and not same(io.engine, level.setting, value.value, wanted):
                    raise NotServedError(
                        f"{level.setting} is {wanted} in the unit and {value.value} {PLACES[name]}",
                        where=facts.target,
                        hint="the first level that differs is the diagnosis",
                    )

    def _absent_is_right(self, io: StepIO, level: Levels, name: str) -> bool:
        """Whether a command line without the flag can still be what is wanted."""
        wanted = io.expected[level.setting]
        spelling = io.engine.spellings.get(level.setting)
        if spelling is not None and spelling.kind == "flag":
            return same(io.engine, level.setting, "false", wanted)
        # A process that took another name has no argv left; what the engine itself reports is proof enough.
        served = level.serving.value
        return name == "running" and served is not None and same(io.engine, level.setting, served, wanted)

    def _pool_holds(self, io: StepIO, serving: Serving, where: str) -> str:
        """Judge the KV pool against the window; returns what to add to the message."""
        context, pool = serving.context_length, serving.pool_tokens
        shared = self._shared(io, serving, where)
        if pool is None or context is None:
            return shared or ("" if serving.pool_follows_window else ", pool not seen")
        for finding in against_prediction(io, pool, where):
            io.emit(finding)
        if pool >= context:
            return shared or f", pool {pool}"
        served = serving.largest_request_tokens or largest(io.engine, serving, 0)
        sentence = (
            f"context_length {context} is accepted but cannot be served: the KV pool holds {pool} tokens, "
            f"the largest request served is {served}"
        )
        if self.require == "serve":
            raise NotServedError(
                sentence,
                where=where,
                hint="raise mem_fraction, lower the window, or accept it with --set require=start",
            )
        return f", pool {pool}: the largest request served is {served} tokens"

    def _shared(self, io: StepIO, serving: Serving, where: str) -> str:
        """Judge the window against the slots that share it; what to add to the message where they do."""
        wanted, context = io.expected.get("context_length", ""), serving.context_length
        if context is None or not wanted.isdigit() or context >= int(wanted):
            return ""
        sentence = (
            f"context_length {wanted} is shared by {serving.slots} slots: the largest request served is "
            f"{serving.largest_request_tokens or context}"
        )
        if self.require == "serve":
            raise NotServedError(
                sentence, where=where, hint="fewer slots, a larger window, or accept it with --set require=start"
            )
        return f", {sentence}"

    async def _generate(self, io: StepIO, facts: Facts, serving: Serving) -> None:
        old = io.old_limit_tokens
        tokens, kind = probe_size(
            self.probe,
            io.engine,
            serving,
            old_limit_tokens=old,
            window_set="context_length" in io.expected,
            quiet=facts.foreign_requests_60s == 0,
            prefill_tok_s=facts.prefill_tok_s,
        )
        io.emit(
            StepProgress(
                target=facts.target,
                step=io.step.id,
                phase="generation",
                message=f"{tokens} tokens in, {OUTPUT_TOKENS} out ({kind})",
                eta_s=tokens / facts.prefill_tok_s if facts.prefill_tok_s else None,
            )
        )
        reply = await self._ask(io, facts, tokens)
        generation = io.engine.read_generation(reply)
        if generation.error or generation.prompt_tokens is None:
            raise NotServedError(
                f"a request of {tokens} tokens was not served: {generation.error or 'no token count in the reply'}",
                where=facts.target,
            )
        if old is not None and tokens > old >= generation.prompt_tokens:
            raise NotServedError(
                f"the server counted {generation.prompt_tokens} prompt tokens, not more than the old limit {old}",
                where=facts.target,
            )
        if old is None and kind == "full" and generation.prompt_tokens < tokens:
            raise NotServedError(
                f"the server counted {generation.prompt_tokens} prompt tokens of {tokens}: it cuts long requests",
                where=facts.target,
            )
        if not generation.completion_tokens:
            raise NotServedError("the server generated nothing", where=facts.target)
        common = {"target": facts.target, "method": f"probe {kind}", "source": "engine", "n": 1}
        io.emit(FindingMade(name="prompt_tokens", value=generation.prompt_tokens, **common))
        io.emit(FindingMade(name="completion_tokens", value=generation.completion_tokens, **common))
        time_s = generation.server_time_s or reply.duration_s
        io.emit(FindingMade(name="probe_time", value=round(time_s, 3), unit="s", **common))

    async def _ask(self, io: StepIO, facts: Facts, tokens: int) -> Reply:
        """The probe's reply. When the connection dies under it, it is asked once more over a new one.

        Under another id: the engine may still be at the first one, and refuses an id that is in flight. A router that
        has not found its servers again is asked until it has.
        """
        if io.plan.target.service.router:
            return await self._through_router(io, tokens)
        try:
            return await io.reader.fetch(io.engine.probe(tokens, OUTPUT_TOKENS, io.request_id))
        except UnreachableError:
            state = await unit_state(io.reader, facts.unit.id, patience_s=PATIENCE_S)
        if io.regained is not None:
            await io.regained()
        if state.invocation_id != facts.unit.invocation_id:
            raise RestartedByOthersError(
                f"the service was started again under the probe (invocation {state.invocation_id})", where=facts.target
            )
        return await io.reader.fetch(io.engine.probe(tokens, OUTPUT_TOKENS, f"{io.request_id}-2"))

    async def _through_router(self, io: StepIO, tokens: int) -> Reply:
        begun, tries = io.clock.monotonic(), 0
        while True:
            tries += 1
            reply = await io.reader.fetch(
                io.engine.probe(tokens, OUTPUT_TOKENS, f"{io.request_id}-{tries}"), patience_s=PATIENCE_S
            )
            if 0 < reply.status < 500 or io.clock.monotonic() - begun >= ROUTER_PATIENCE_S:
                return reply
            said = f"HTTP {reply.status}" if reply.status else reply.error
            message = f"the router {io.plan.target.service.router} does not find its servers yet: {said}"
            io.emit(StepProgress(target=io.plan.target.name, step=io.step.id, phase="generation", message=message))
            await io.clock.sleep(ROUTER_PAUSE_S)


def against_prediction(io: StepIO, pool: int, where: str) -> list[FindingMade]:
    """The pool as it is, and how far off the plan's prediction was."""
    compared = not io.plan.nothing_to_do and not io.step.id.startswith("undo-")
    judgement = io.plan.capacity if compared else None
    predicted = judgement.pool_tokens if judgement else None
    said = FindingMade(
        target=where,
        name="pool_tokens",
        value=pool,
        method="server_info",
        source="engine",
        figures={"predicted": float(predicted)} if predicted else {},
    )
    if not predicted:
        return [said]
    off = round((pool / predicted - 1) * 100, 2)
    return [said, FindingMade(target=where, name="pool_error", value=off, unit="%", method="served / predicted - 1")]


def probe_size(
    probe: Probe,
    engine: Engine,
    serving: Serving,
    *,
    old_limit_tokens: int | None,
    window_set: bool,
    quiet: bool,
    prefill_tok_s: float | None,
) -> tuple[int, str]:
    """Prompt tokens of the probe, and which kind it becomes: full, past-old or short.

    `auto` is short where the window did not rise; else full on a quiet server that is known to be quick, or just past
    the old limit. Where the window was set and no old limit is known it may have risen, and only full proves it.
    """
    context = serving.context_length
    if context is None:
        return SHORT_PROBE_TOKENS, "short"
    most = largest(engine, serving, OUTPUT_TOKENS)
    old = old_limit_tokens
    kind: str = probe
    if old is None:
        if kind in ("auto", "past-old"):
            kind = "full" if window_set else "short"
    elif kind in ("auto", "past-old"):
        quick = prefill_tok_s is not None and most / prefill_tok_s < FULL_PROBE_LIMIT_S
        if context <= old:
            kind = "short"
        elif (kind == "auto" and quiet and quick) or old + PAST_OLD_MARGIN_TOKENS > most:
            kind = "full"
        else:
            kind = "past-old"
    sizes = {"full": most, "past-old": (old or 0) + PAST_OLD_MARGIN_TOKENS, "short": min(SHORT_PROBE_TOKENS, most)}
    return sizes[kind], kind


def largest(engine: Engine, serving: Serving, output_tokens: int) -> int:
    """Prompt tokens of the largest request, as far as window, pool and draft are known."""
    pool = serving.pool_tokens if serving.pool_tokens is not None else 1 << 62
    reserved = serving.reserved_tokens or 0
    return engine.largest_request(serving.context_length or 0, pool, output_tokens, reserved_tokens=reserved)


PLACES = {
    "disk": "on disk",
    "loaded": "as systemd loaded it",
    "running": "in the running process",
    "serving": "as served",
}
