// @module-tag slow
/** Leases, releases, changes of agents and restarts in any order: no two callers share a session, and none gets a stale one. */

import type { SessionId } from "@aegis/contract/ids.ts";
import type { PooledAgentView } from "@aegis/contract/subagent.ts";
import type { ToolOutcome } from "@aegis/drivers/driver.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Forest, forest } from "../subagents/forest.ts";

const max = 2;
const names = ["red", "green", "blue"];

type Step = { do: "take" | "give back" | "abort" | "change" | "restart"; pick: number };

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.oneof(
    { weight: 5, arbitrary: fc.constant("take" as const) },
    { weight: 4, arbitrary: fc.constant("give back" as const) },
    { weight: 1, arbitrary: fc.constantFrom("abort", "change", "restart") },
  ),
  pick: fc.nat(100),
});

type Held = { name: string; version: number; session: SessionId; call: Promise<ToolOutcome>; abort: AbortController };

class Play {
  f: Forest;
  readonly #root: SessionId;
  readonly #versions = new Map(names.map((name) => [name, 0]));
  #held: Held[] = [];

  constructor(f: Forest, root: SessionId) {
    this.f = f;
    this.#root = root;
    this.#register();
  }

  async perform({ do: action, pick }: Step): Promise<void> {
    const name = names[pick % names.length] ?? "red";
    const held = this.#held[pick % Math.max(1, this.#held.length)];
    if (action === "take") await this.#take(name);
    else if (action === "change") this.#change(name);
    else if (action === "restart") await this.#restart();
    else if (held !== undefined) await this.#giveBack(held, action === "abort");
    await this.#check();
  }

  async finish(): Promise<void> {
    for (const held of [...this.#held]) await this.#giveBack(held, false);
    const rows = await this.#pool();
    expect(rows.filter((row) => row.state === "busy")).toEqual([]);
    expect(rows.length).toBeLessThanOrEqual(max);
    await this.f.runtime.stop();
  }

  async #take(name: string): Promise<void> {
    const before = new Set(this.#held.map((held) => held.session));
    const idle = (await this.#pool()).filter((row) => row.slug === name && row.state === "idle" && !row.stale);
    const abort = new AbortController();
    const call = this.f.call(this.#root, "agent", { agent_name: name, task_prompt: "x" }, undefined, abort.signal);
    let session: SessionId | undefined;
    await waitUntil("a session is taken", async () => {
      session = (await this.#pool()).find((row) => row.lease !== null && !before.has(row.session))?.session;
      return session !== undefined && this.f.isWorking(session);
    });
    if (session === undefined) throw new Error("unreachable: the wait ends with a session");
    if (idle.length > 0) expect(idle.map((row) => row.session)).toContain(session);
    const version = this.#versions.get(name) ?? 0;
    expect((await this.f.turnOf(session)).spec.agent).toMatchObject({ slug: name, prompt: `version ${version}` });
    this.#held.push({ name, version, session, call, abort });
  }

  async #giveBack(held: Held, abort: boolean): Promise<void> {
    if (abort) held.abort.abort();
    else await this.f.say(held.session, `by ${held.session}`);
    const outcome = await held.call;
    expect(outcome.is_error).toBe(abort);
    if (!abort) expect(JSON.parse(outcome.output)).toEqual({ result: `by ${held.session}`, agent_id: held.session });
    this.#held = this.#held.filter((one) => one !== held);
  }

  #change(name: string): void {
    this.#versions.set(name, (this.#versions.get(name) ?? 0) + 1);
    this.#register();
  }

  async #restart(): Promise<void> {
    await this.f.runtime.stop();
    this.#held = [];
    this.f = await forest({ dir: this.f.dir });
    this.#register();
    await this.f.runtime.sessions.wakeAll();
    await waitUntil("what was cut has finished", async () => {
      for (const row of await this.#pool()) if (this.f.isWorking(row.session)) await this.f.say(row.session, "late");
      return this.f.isWorking(this.#root) && (await this.#pool()).every((row) => row.state === "idle");
    });
  }

  #register(): void {
    const agents = names.map((slug) => ({ ...offlineAgent, slug, prompt: `version ${this.#versions.get(slug)}` }));
    this.f.runtime.agents.replace([offlineAgent, ...agents], { slug: offlineAgent.slug, why: "a test" });
  }

  async #check(): Promise<void> {
    const rows = await this.#pool();
    const busy = rows.filter((row) => row.lease !== null).map((row) => row.session);
    expect(busy.toSorted()).toEqual(this.#held.map((held) => held.session).toSorted());
    expect(new Set(busy).size).toBe(busy.length);
    await waitUntil("no more are kept than the cap, but those at work", async () => {
      const kept = await this.#pool();
      return kept.length <= max || kept.every((row) => row.state === "busy");
    });
    const open = await this.f.runtime.store.read.sessions.list({ closed: false });
    expect(open).toHaveLength((await this.#pool()).length + 1);
  }

  #pool(): Promise<PooledAgentView[]> {
    return this.f.runtime.pool.list();
  }
}

it("gives every task to a session of its own that is what it should be", { timeout: scaled(120_000) }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
      const f = await forest({
        config: `pool: { max: ${max} }\nsubagents: { max_children: 50, budget: { agents: 50 } }\n`,
      });
      const play = new Play(f, await f.root());
      for (const one of steps) await play.perform(one);
      await play.finish();
    }),
    { numRuns: 15, endOnFailure: true },
  );
});
