import { memoryApp } from "@aegis/test/helpers/memory-terminal.ts";
import { sampleModel, sampleSessions } from "@aegis/test/helpers/sample-team.ts";
import { keys } from "@aegis/test/helpers/terminal-app.ts";
import fc from "fast-check";
import { expect, it } from "vitest";

type Step =
  | { kind: "key"; data: string }
  | { kind: "size"; columns: number; rows: number }
  | { kind: "event"; text: string };

const printable = "abcdefgknopqrstxyzGKRY/?123 é日".split("");
const key = fc.constantFrom(
  ...Object.values(keys),
  ...printable,
  "\u001b1",
  "\u001b[200~pasted\ntext\u001b[201~",
  "\u007f",
  "\u001b[Z",
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: key.map((data): Step => ({ kind: "key", data })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ columns: fc.integer({ min: 1, max: 140 }), rows: fc.integer({ min: 1, max: 50 }) })
      .map((size): Step => ({ kind: "size", ...size })),
  },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 40 }).map((text): Step => ({ kind: "event", text })) },
);

it("never crashes, and shows what a fresh start would draw, for 200 random sequences of keys", {
  tags: "slow",
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const memory = memoryApp(sampleModel());
      memory.app.openSession(sampleSessions.lucid);
      let seq = 1_000;
      for (const one of steps) {
        if (one.kind === "key") memory.app.handleInput(one.data);
        else if (one.kind === "size") memory.resize(one.columns, one.rows);
        else {
          seq += 1;
          const data = {
            message: { id: `msg_${seq}`, session: sampleSessions.lucid, body: one.text, sender: { kind: "human" } },
          };
          const event = { seq, at: 1, type: "message.admitted", session: sampleSessions.lucid, data };
          memory.app.store.take({ kind: "event", event: event as never });
        }
      }
      const shown = await memory.shown();
      expect(shown).toBe(memory.drawn());
    }),
    { numRuns: 200 },
  );
});
