/** Replies, failures, closings and reads in any order: each group gets each member's own reply once. */

import type { DriverEvent } from "@aegis/drivers/driver.ts";
import { eventsOfType, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ask, gather, human, team, waitAll } from "./team.ts";

const failed: DriverEvent = {
  type: "turn.ended",
  reason: "failed",
  error: { code: "model", message: "no" },
  usage: null,
};

const step = fc.record({
  member: fc.nat(3),
  act: fc.constantFrom("say", "say", "fail", "close", "look", "other work"),
});

it("every member is settled once, with its own reply or the reason why there is none", {
  tags: "slow",
  timeout: scaled(60_000),
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.boolean(), async (steps, rightFirst) => {
      const runtime = await team();
      const groups = ["left", "right"];
      const members = (await Promise.all(groups.map((group) => gather(runtime, group, 2)))).flat();
      for (const group of groups) await ask(runtime, group, { objective: `for ${group}` });
      const expected = new Map<string, "ok" | "error">();
      const order: string[] = [];
      let turns = 0;
      const settle = async (handle: string, act: "say" | "fail" | "close") => {
        if (expected.has(handle)) return;
        const turn = await runtime.stage.turnOf(handle);
        if (act === "say") await runtime.stage.say(handle, `${handle} answers`);
        if (act === "fail") await runtime.stage.end(handle, failed);
        if (act === "close") await runtime.sessions.close(turn.session, "a test");
        turns += 1;
        await turnsEnded(runtime, turns);
        expected.set(handle, act === "say" ? "ok" : "error");
        if (act === "say") order.push(handle);
      };
      for (const { member, act } of steps) {
        const handle = members[member] ?? "";
        const group = groups[member < 2 ? 0 : 1] ?? "";
        if (act === "look") {
          const out = members.filter((one, index) => index < 2 === member < 2 && !expected.has(one));
          expect((await waitAll(runtime, group, 0)).timeouts).toEqual(out.sort());
        } else if (act === "other work") {
          // A turn of its own once the reply is given; before that it waits for the next turn.
          const session = await runtime.sessions.resolve(handle);
          if (session.closed_at !== null || !expected.has(handle)) continue;
          await runtime.inbox.admit({ session: session.id, sender: human, body: "something else" });
          await runtime.stage.say(handle, "not a reply");
          turns += 1;
          await turnsEnded(runtime, turns);
        } else await settle(handle, act);
      }
      for (const handle of members) await settle(handle, "say");
      for (const [index, group] of (rightFirst ? groups.toReversed() : groups).entries()) {
        const own = members.slice(...(rightFirst === (index === 0) ? [2, 4] : [0, 2]));
        const result = await waitAll(runtime, group);
        expect(result.timeouts).toEqual([]);
        expect(Object.keys(result.by_member).sort()).toEqual([...own].sort());
        for (const handle of own) {
          expect(result.by_member[handle]?.status).toBe(expected.get(handle));
          if (expected.get(handle) === "ok") expect(result.by_member[handle]?.text).toBe(`${handle} answers`);
          else expect(result.errors[handle]).toMatch(/failed|closed/);
        }
        const arrived = order.filter((handle) => own.includes(handle));
        expect(result.combined).toBe(arrived.map((handle) => `---\n${handle}: ${handle} answers`).join("\n\n"));
      }
      expect(await eventsOfType(runtime.store, "group.replied")).toHaveLength(4);
      expect(await eventsOfType(runtime.store, "group.settled")).toHaveLength(2);
      await runtime.stop();
    }),
    { numRuns: 25 },
  );
});
