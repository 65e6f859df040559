// @module-tag slow
/** Starts, ends, kills and crashes in any order: every end is reported once, and no session outlives a kill. */

import type { SessionId } from "@aegis/contract/ids.ts";
import type { SubagentRow } from "@aegis/store/store.ts";
import { eventsOfType } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Forest, forest } from "./forest.ts";

const config = "subagents: { max_spawn_depth: 3, max_children: 3 }\n";

type Step = { do: "spawn" | "finish" | "fail" | "kill" | "kill by a person" | "close" | "crash"; pick: number };

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.oneof(
    { weight: 6, arbitrary: fc.constant("spawn" as const) },
    { weight: 4, arbitrary: fc.constant("finish" as const) },
    { weight: 1, arbitrary: fc.constantFrom("fail", "kill", "kill by a person", "close", "crash") },
  ),
  pick: fc.nat(100),
});

class Play {
  f: Forest;
  readonly root: SessionId;
  #labels = 0;
  readonly #killedByParent = new Set<string>();

  constructor(f: Forest, root: SessionId) {
    this.f = f;
    this.root = root;
  }

  async perform({ do: action, pick }: Step): Promise<void> {
    const running = await this.f.runtime.store.read.subagents.running();
    const row = running[pick % Math.max(1, running.length)];
    if (action === "crash") return this.#crash();
    if (action === "spawn") return this.#spawn(pick, running);
    if (row === undefined) return;
    if (action === "finish") return this.#end(row, "completed");
    if (action === "fail") return this.#end(row, "failed");
    if (action === "close") {
      await this.f.runtime.sessions.close(row.session, "by a person").catch(() => {});
      await this.f.ended(row.run_id);
    } else if (action === "kill") {
      // A parent between two turns has no call to make.
      await this.f.turnOf(row.parent).catch(() => {});
      const outcome = await this.f.call(row.parent, "sessions_kill", { run_id: row.run_id });
      if (outcome.output.includes('"killed":0')) return;
      this.#killedByParent.add(row.run_id);
    } else await this.f.runtime.subagents.killRun(row.run_id);
    await this.#nobodyOutlives(row);
  }

  /** Lets everybody finish, from the leaves up. */
  async settle(): Promise<void> {
    await waitUntil(
      "everybody has finished",
      async () => {
        for (const { id } of await this.f.runtime.store.read.sessions.list({ closed: false })) {
          if (this.f.isWorking(id)) await this.f.say(id, "fine");
        }
        const { read } = this.f.runtime.store;
        const idle = (await read.messages.waiting()).length === 0 && (await read.turns.open()).length === 0;
        return idle && (await read.subagents.running()).length === 0 && (await read.subagents.unheard()).length === 0;
      },
      20_000,
    );
  }

  async check(): Promise<void> {
    const { read } = this.f.runtime.store;
    const rows = await read.subagents.below(this.root);
    const ends = await eventsOfType(this.f.runtime.store, "subagent.ended");
    expect(ends.map((event) => event.data.run_id).toSorted()).toEqual(rows.map((row) => row.run_id).toSorted());
    const sessions = await read.sessions.list();
    const messages = (await Promise.all(sessions.map(({ id }) => read.messages.list(id)))).flat();
    for (const row of rows) {
      const told = messages.filter((one) => one.body.startsWith(`[Subagent Complete] "${row.label}" `));
      const heard = told.filter((one) => one.status === "done").length;
      const endedAlong = row.error?.startsWith("ended together with") ?? false;
      const expected = endedAlong || this.#killedByParent.has(row.run_id) ? 0 : 1;
      expect(`${row.label} (${row.status}) was heard of ${heard} times`).toBe(
        `${row.label} (${row.status}) was heard of ${expected} times`,
      );
    }
  }

  async #spawn(pick: number, running: readonly SubagentRow[]): Promise<void> {
    const parents = [this.root, ...running.map((row) => row.session)].filter((session) => this.f.isWorking(session));
    const parent = parents[pick % Math.max(1, parents.length)];
    if (parent === undefined) return;
    const label = `n${this.#labels++}`;
    const outcome = await this.f.call(parent, "sessions_spawn", { task: label, label });
    if (outcome.is_error) return;
    const run = (await this.f.runtime.store.read.subagents.below(this.root)).find((row) => row.label === label);
    if (run) await this.f.turnOf(run.session);
  }

  async #end(row: SubagentRow, reason: "completed" | "failed"): Promise<void> {
    if (!this.f.isWorking(row.session)) return;
    const error = reason === "failed" ? { code: "model", message: "no" } : null;
    await this.f.end(row.session, { type: "turn.ended", reason, error, usage: null });
  }

  async #crash(): Promise<void> {
    await this.f.runtime.stop();
    this.f = await forest({ dir: this.f.dir });
    expect(await this.f.runtime.store.read.subagents.running()).toEqual([]);
    await this.f.runtime.sessions.wakeAll();
  }

  async #nobodyOutlives(row: SubagentRow): Promise<void> {
    const { read } = this.f.runtime.store;
    for (const one of [await this.f.row(row.run_id), ...(await read.subagents.below(row.session))]) {
      expect(one.status).not.toBe("running");
      if (one.status === "killed") expect((await read.sessions.get(one.session))?.closed_at).not.toBeNull();
    }
  }
}

it("tells every end once and leaves no subagent alive after a kill", { timeout: scaled(120_000) }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
      const f = await forest({ config });
      const play = new Play(f, await f.root());
      for (const one of steps) await play.perform(one);
      await play.settle();
      await play.check();
      await play.f.runtime.stop();
    }),
    { numRuns: 15, endOnFailure: true },
  );
});
