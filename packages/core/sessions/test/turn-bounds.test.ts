import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import { OverflowFiles } from "@aegis/lib/overflow.ts";
import { buildRedactor, RedactedStream } from "@aegis/lib/redact.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { TurnBounds } from "../src/turn-output.ts";

const limits = { event: 100, text: 300, toolResult: 50, items: 1_000, small: 20 };
const secret = "sesame-open-up";

async function setUp() {
  const dir = join(await tempDir(), "overflow");
  const redactor = buildRedactor([secret]);
  const bounds = new TurnBounds({
    turn: "trn",
    redact: redactor.redact,
    redactedStream: () => new RedactedStream(() => redactor),
    overflow: new OverflowFiles({ dir, shownAs: dir, log: silentLogger }),
    limits,
  });
  return { bounds, dir };
}

const kept = async (text: string) => readFile(/is in (\S+)\]$/.exec(text)?.[1] ?? "", "utf8");

it("shows the beginning of a stream, stores the same, and keeps the whole", async () => {
  const { bounds } = await setUp();
  let shown = "";
  for (let n = 0; n < 50; n++) {
    const piece = await bounds.delta("text", "m", "0123456789");
    if (piece.text !== "") expect(piece.offset).toBe(shown.length);
    shown += piece.text;
  }
  // The driver holds only a part of it.
  const stored = (await bounds.whole("text", "m", "0123456789".repeat(15), true)) ?? "";
  expect(shown).toHaveLength(100);
  expect(stored.startsWith(shown)).toBe(true);
  expect(stored).toContain("[400 more characters were cut; the whole text is in ");
  expect(await kept(stored)).toBe("0123456789".repeat(50));
});

it("leaves no part of a secret at the edge of what is cut", async () => {
  const { bounds } = await setUp();
  const text = `${"x".repeat(95)}${secret}${"y".repeat(200)}`;
  const stored = (await bounds.whole("text", "m", text, true)) ?? "";
  expect(stored).not.toContain("sesam");
  expect(await kept(stored)).not.toContain("sesam");
  const result = await bounds.toolResult(`${"x".repeat(45)}${secret}${"y".repeat(2_000)}`);
  expect(result).not.toContain("sesam");
  expect(await kept(result)).not.toContain("sesam");
});

it("stores less of each text once the turn has used its limit, then nothing", async () => {
  const { bounds } = await setUp();
  const sizes: (number | null)[] = [];
  for (let n = 0; n < 40; n++)
    sizes.push((await bounds.whole("text", `m${n}`, "z".repeat(100), false))?.length ?? null);
  expect(sizes.slice(0, 3)).toEqual([100, 100, 100]);
  expect(sizes[3]).toBeLessThan(100);
  expect(sizes.at(-1)).toBeNull();
  // What is thought does not take the room of what is said.
  expect(await bounds.whole("thinking", "t", "z".repeat(100), false)).toHaveLength(100);
});

it("keeps no file of text that a plugin may withhold", async () => {
  const { bounds, dir } = await setUp();
  bounds.count("text", "m", "w".repeat(5_000));
  expect(await bounds.whole("text", "m", "w".repeat(200), false)).toContain("[4900 more characters were cut]");
  await expect(readFile(dir)).rejects.toMatchObject({ code: "ENOENT" });
});

it("cuts large items and keeps their shape", async () => {
  const { bounds } = await setUp();
  const entries = Array.from({ length: 5_000 }, () => ({ text: "e".repeat(500), status: "pending" as const }));
  const plan = bounds.item({ type: "plan", entries });
  expect(plan.type).toBe("plan");
  expect(plan.entries.length).toBeLessThanOrEqual(1_000);
  expect(plan.entries[0]?.status).toBe("pending");
  const call = bounds.item({
    type: "tool_call" as const,
    call: "c1",
    name: "write",
    kind: "edit" as const,
    title: "t",
    parent: null,
    input: { body: "b".repeat(10_000) },
    locations: [],
    diff: { path: "a", before: null, after: "c".repeat(9_000) },
  });
  expect(call).toMatchObject({ call: "c1", name: "write", diff: { path: "a", before: null } });
  expect(JSON.stringify(call).length).toBeLessThan(1_000);
  const memory = { type: "memory" as const, value: "m".repeat(10_000) };
  expect(bounds.item(memory)).toBe(memory);
});
